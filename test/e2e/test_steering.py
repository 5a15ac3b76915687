# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Every command of the composer, from another terminal and through the files that any front-end writes."""
import json
import os
import re
import subprocess

from conftest import AGENT6, call, finish, script, turn
from test_terminal import NEXT, paused, screen  # noqa: F401 (screen is a fixture)

# typed in `agent6 watch` of a run that is paused: what the watcher sees
COMMANDS = (
    ("/status", "paused"), ("/cost", "paused"), ("/shells", "nothing runs in the background"), ("/restate", "since then: 1 call,"),
    ("/skill", "needs words"), ("/btw", "needs words"), ("/btw what is it?", "btw: what is it?"), ("/pin", "nothing is pinned"),
    ("/preset", "no preset"), ("/preset quick", "a leg keeps the preset it began with"),
    ("/pin keep the API", "pinned: keep the API"), ("/compact", "nothing to set aside"), ("/pause", "paused"), ("/help", "this list"),
    # wrong ones
    ("/stats", "no such command"), ("/co", "more than one command begins so"), ("/status now", "takes no words"),
    ("/stop please", "nothing is stopped"),
    # shown elsewhere: below, and in test_terminal.py
    ("/continue", None), ("/undo", None), ("/stop", None), ("/exit", None), ("/detach", None),
)


def source(*path):
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "src", *path), encoding="utf-8") as f:
        return f.read()


def answers(lab):
    return os.path.join(lab.run_dirs()[-1], "answers")


def tell(lab, kind, text=""):
    """As a front-end does it: whole or not at all."""
    path = os.path.join(answers(lab), f"{kind}.9999999999999999-1")
    begun = os.path.join(answers(lab), ".begun")  # what begins with a kind's name is read at once
    with open(begun, "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(begun, path)
    lab.wait_for(lambda: not os.path.exists(path))


def test_no_command_is_left_out():
    names = set(re.findall(r'\{ "(/\w+)",\s+(?:NULL|")', source("ui", "cli", "composer.c").split("short_words")[0]))
    assert names == {typed.split()[0] for typed, _ in COMMANDS} - {"/stats", "/co"}


def test_every_command_works_from_another_terminal(lab, screen):
    first = paused(lab, screen)
    second = screen("watch", width=120)
    second.until("paused")
    for typed, shown in COMMANDS:
        if shown is None:
            continue
        before = second.text().count(shown)
        second.keys(typed, "Enter")
        lab.wait_for(lambda shown=shown, before=before: second.text().count(shown) > before)
    second.keys("/continue", "Enter")
    assert first.status() == 0
    assert "keep the API" in json.dumps(lab.mocks[0].model_requests()[-1]["body"])
    assert second.status() == 0
    assert second.modes() == second.modes_before()


def test_a_run_is_stopped_from_another_terminal(lab, screen):
    first = paused(lab, screen)
    second = screen("watch")
    second.until("paused")
    second.keys("/stop", "Enter")
    assert first.status() == 130
    assert NEXT not in first.text()
    assert lab.events("run.end")[0]["reason"] in ("steer_abort", "interrupted")


def test_every_kind_of_answer_file_is_heard(lab, screen):
    """Written by hand, as a front-end of somebody else would."""
    kinds = re.findall(r'X\(ANSWER_\w+, "(\w+)"', source("session", "answers.h"))
    first = paused(lab, screen)
    tell(lab, "btw", "and now?")
    first.until("btw: and now?")
    tell(lab, "compact", "the API")
    first.until("nothing to set aside")
    tell(lab, "pause")
    tell(lab, "steer", "/pin keep tabs")
    first.until("pinned: keep tabs")
    tell(lab, "steer", "use tabs")
    tell(lab, "continue")
    assert first.status() == 0
    body = json.dumps(lab.mocks[0].model_requests()[-1]["body"])
    assert "use tabs" in body and "keep tabs" in body
    assert set(kinds) == {"steer", "compact", "btw", "pause", "continue", "stop", "detach", "undo"}, "a new kind wants its line here"


def test_answer_files_end_and_leave_a_run(lab, screen):
    first = paused(lab, screen)
    tell(lab, "detach", "deny")
    assert first.status() == 0
    assert "agent6 watch" in first.text()
    lab.wait_for(lambda: lab.events("run.end"))  # who leaves a pause lets it go on
    assert lab.events("run.detached")[0]["away"] == "deny"
    assert os.path.exists(os.path.join(lab.ws, "later"))


def test_undo_as_a_file_takes_the_words_back_on_the_terminal_that_waits(lab, screen):
    first = paused(lab, screen)
    tell(lab, "undo")
    first.until(NEXT + " [do it]:")
    assert len(lab.run_dirs()) == 2 and not os.path.exists(os.path.join(lab.ws, "later"))
    assert first.status() == 0  # what was taken back is no failure


def test_undo_where_no_terminal_waits_is_refused_with_words_and_ends_nothing(lab):
    lab.repo()
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done"])), finish()))
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "do it"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    tell(lab, "undo")
    lab.write("go", "")
    out = p.communicate(timeout=300)[0]
    assert p.returncode == 0 and "undo" in out and len(lab.run_dirs()) == 1, out


def test_a_line_that_the_terminal_cut_is_not_sent(lab, screen):
    first = paused(lab, screen)
    first.keys("-l", "x" * 4000 + "y" * 1000)
    first.keys("Enter")
    first.until("nothing was sent")
    assert not lab.events("run.steer_requested")
    first.keys("-l", "z" * 4000)
    first.keys("Enter")
    assert first.status() == 0
    assert len(lab.events("run.steer_requested")[0]["text"]) == 4000


def test_a_pasted_text_of_several_lines_is_heard_line_by_line(lab, screen):
    lab.repo()
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done"])), finish(), finish()))
    s = screen("run", "--auto-approve", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    lab.write("../paste", "first line\n\n  second line\n/statu no\n")
    s.tmux("load-buffer", os.path.join(lab.ws, "..", "paste"))
    s.tmux("paste-buffer")
    lab.wait_for(lambda: len(lab.events("run.steer_requested")) == 3)
    lab.write("go", "")
    assert s.status() == 0
    assert [e["text"] for e in lab.events("run.steer_requested")] == ["first line", "second line", "/statu no"]
