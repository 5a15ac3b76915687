# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""ask as a conversation on a terminal, and what it leaves."""
import glob
import os
import re

import pytest

from conftest import call, script, turn
from test_terminal import screen  # noqa: F401 (a fixture)

PROMPT = "ask>"


def asks(lab):
    return glob.glob(os.path.join(lab.home, ".local", "state", "agent6", "*", "asks", "*"))


def at_prompt(lab, s):
    lab.wait_for(lambda: s.text().rstrip().endswith(PROMPT))


@pytest.mark.parametrize("where", ["repository", "outside"])
def test_a_conversation_is_one_session_until_it_is_reset(lab, screen, where):
    if where == "repository":
        lab.repo(**{"a.txt": "the answer is 42\n"})
    else:
        lab.write("a.txt", "the answer is 42\n")
    mock = lab.mock(script(turn(call("read_file", path="a.txt")), turn(text="It says 42."), turn(text="Because of the file."),
                           turn(text="A new start.")))
    s = screen("ask", "-i", "what does a.txt say?", width=120)
    s.until("It says 42.")
    at_prompt(lab, s)
    s.keys("/rest", "Enter")
    s.until("/rest is no command here; nothing was sent")
    at_prompt(lab, s)
    s.keys("why?", "Enter")
    s.until("Because of the file.")
    at_prompt(lab, s)
    s.keys("/cost", "Enter")
    s.until("2 legs" if "2 legs" in s.text() else "usage")
    at_prompt(lab, s)
    s.keys("/reset", "Enter")
    s.until("a new conversation")
    at_prompt(lab, s)
    s.keys("again?", "Enter")
    s.until("A new start.")
    at_prompt(lab, s)
    s.keys("/quit", "Enter")
    assert s.status() == 0
    assert "resume with: agent6 resume" in s.text()
    sent = [q["body"]["messages"] for q in mock.model_requests()]
    assert len(sent) == 4
    assert "It says 42." in str(sent[2]) and "why?" in str(sent[2])
    assert "why?" not in str(sent[3]) and "again?" in str(sent[3])
    assert len(asks(lab)) == 2
    listed = lab.agent6("ask", "list").out.splitlines()
    assert len(listed) == 2 and listed[0].endswith("  again?") and listed[1].endswith("  what does a.txt say?")
    assert all(re.fullmatch(r"\S+  .+", l) for l in listed)
    assert s.modes() == s.modes_before()


def test_an_answer_that_is_given_up_goes_back_to_the_prompt(lab, screen):
    lab.repo(**{"a.txt": "one\n"})
    lab.mock(script({"text": "slow", "delay_ms": 600000}, turn(text="Fast.")))
    s = screen("ask", width=120)
    at_prompt(lab, s)
    s.keys("slow?", "Enter")
    lab.wait_for(lambda: any('"role.call"' in open(os.path.join(a, "record", "logs.jsonl"), encoding="utf-8").read()
                             for a in asks(lab) if os.path.exists(os.path.join(a, "record", "logs.jsonl"))))
    s.keys("C-c")
    s.until("pausing")
    s.keys("C-c")
    s.until("pausing now")
    s.keys("C-c")
    at_prompt(lab, s)
    s.keys("fast?", "Enter")
    s.until("Fast.")
    at_prompt(lab, s)
    s.keys("C-d")
    assert s.status() == 0
    assert len(asks(lab)) == 1
    assert s.modes() == s.modes_before()


def test_without_a_terminal_or_a_question_there_is_no_conversation(lab):
    lab.repo(**{"a.txt": "one\n"})
    lab.mock(script(turn(text="Hm.")))
    for words, says in ((("ask",), "the question is missing"), (("ask", "-i"), "needs a terminal"),
                        (("ask", "-i", "--json", "x"), "exclude each other"), (("ask", ""), "must not be empty"),
                        (("ask", "--auto-approve", "--no-commands", "x"), "exclude each other")):
        r = lab.agent6(*words)
        assert r.returncode == 2 and says in r.both, (words, r.both)
    assert lab.agent6("ask", "list").out == "No asks yet.\n"
    assert lab.agent6("ask", "lint").returncode == 0, "one word may be a question"
    assert asks(lab)


def test_a_question_says_truly_why_no_command_runs_and_has_no_gate_that_changes(lab):
    lab.repo(**{"a": "b\n"})
    ls = turn(call("run_command", argv=["ls"]))
    lab.mock(script(ls, {"text": "it is so"}, ls, {"text": "and so"}, {"text": "yes"}), extra='[workflow]\nverify_command = ["true"]\n')
    r = lab.agent6("ask", "what is it")
    assert 'run_command is refused: sandbox.run_commands is "ask" and nobody can answer here: --auto-approve' in r.err, r.both
    one = os.path.basename(asks(lab)[0])
    r = lab.agent6("resume", one, "--no-commands", "--steer", "and now?")
    assert "run_command is refused: --no-commands was given" in r.err, r.both
    r = lab.agent6("resume", one, "--auto-approve", "--steer", "and now?")
    assert r.returncode == 0 and "gate changed" not in r.err, r.both
    assert lab.agent6("replay", one).returncode == 0
