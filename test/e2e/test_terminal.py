# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""In a real terminal: approvals, interrupts, what is on the screen."""
import json
import os
import re
import shlex
import signal
import subprocess
import uuid

import pytest

from conftest import AGENT6, call, finish, missing, script, turn
from test_run import fix_bug, project


NEXT = "next (/exit to finish)"


class Screen:
    """A tmux of its own with one shell command in it."""

    def __init__(self, lab, command, width=80, height=30):
        if subprocess.run(["tmux", "-V"], capture_output=True).returncode:
            missing("tmux")
        self.lab = lab
        self.name = "agent6-" + uuid.uuid4().hex[:8]
        self.done = os.path.join(lab.folder, self.name)
        line = f"trap : INT; stty -a > {shlex.quote(self.done)}.modes; {command}; echo $? > {shlex.quote(self.done)}; while :; do read wait; done"
        env = [f"{k}={v}" for k, v in lab.env.items() if k != "CI"]  # somebody sits here
        subprocess.run(["env", "-i", *env, "tmux", "-L", self.name, "-f", "/dev/null", "new-session", "-d", "-x", str(width),
                        "-y", str(height), "sh", "-c", line], cwd=lab.ws, check=True)
        self.open = True

    def tmux(self, *args):
        r = subprocess.run(["tmux", "-L", self.name, *args], capture_output=True, text=True)
        if r.returncode:
            raise RuntimeError(f"tmux {shlex.join(args)}: {r.stderr.strip()}")
        return r.stdout

    def text(self):
        return self.tmux("capture-pane", "-p", "-S", "-200")

    def until(self, word):
        try:
            return self.lab.wait_for(lambda: (lambda t: t if word in t else None)(self.text()))
        except AssertionError:
            raise AssertionError(f"{word!r} never came; the screen:\n{self.text()}") from None

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def ended(self):
        try:
            with open(self.done, encoding="ascii") as f:
                return f.read().strip()
        except FileNotFoundError:
            return None

    def status(self):
        """Its exit status; a run that asks what comes next is told that this was all."""
        asked = set()

        def ended():
            text = self.text()
            # The question that stands last: an older one was answered, and what is typed while the run works is said to the run.
            if re.fullmatch(re.escape(NEXT) + r"( \[.*\])?:", " ".join(text[text.rfind(NEXT):].split())) and text.count(NEXT) not in asked:
                asked.add(text.count(NEXT))
                self.keys("/exit", "Enter")
            return self.ended()
        return int(self.lab.wait_for(ended))

    def modes_before(self):
        with open(self.done + ".modes", encoding="ascii") as f:
            return f.read()

    def modes(self):
        """The terminal's settings, as it stands."""
        tty = self.tmux("display-message", "-p", "#{pane_tty}").strip()
        return subprocess.run(["stty", "-F", tty, "-a"], capture_output=True, text=True, check=True).stdout

    def close(self):
        """What stood on the screen at last is shown where the test failed."""
        if self.open:
            self.open = False
            print(f"the screen of {self.name}:\n{self.text()}")
            self.tmux("kill-server")


@pytest.fixture
def screen(lab):
    opened = []

    def open_one(*args, **kw):
        s = Screen(lab, " ".join(shlex.quote(a) for a in (AGENT6, *args)), **kw)
        opened.append(s)
        return s
    yield open_one
    for s in opened:
        s.close()


def two_commands():
    return script(turn(call("run_command", argv=["touch", "first"])), turn(call("run_command", argv=["touch", "second"])), finish())


@pytest.mark.parametrize("key,first,second", [("a", True, True), ("N", False, False)])
def test_a_standing_answer_covers_the_rest_of_the_run(lab, screen, key, first, second):
    project(lab)
    lab.mock(two_commands())
    s = screen("run", "do it")
    assert "touch first" in s.until("y once / a all commands of this run / n no / N never:")
    s.keys(key, "Enter")
    s.status()
    said = [(e["id"], e["approved"], e["source"]) for e in lab.events("approval.answer")]
    assert said == [("approval-1", first, "frontend"), ("approval-1", second, "standing")], said
    # Behind the call, or on a line of its own where the monitor's word came to the record after the call's end.
    assert ("(a: allowed)" in s.text() or "allowed (as you said of all)" in s.text()) is second, s.text()
    assert ("the operator refuses commands in this run" in s.text()) is not second, s.text()
    assert os.path.exists(os.path.join(lab.ws, "first")) is first
    assert os.path.exists(os.path.join(lab.ws, "second")) is second
    assert len(lab.events("approval.prompt")) == 1


def test_a_single_yes_asks_again(lab, screen):
    project(lab)
    lab.mock(two_commands())
    s = screen("run", "do it")
    s.until("N never:")  # what is typed before the question stands is thrown away
    s.keys("y", "Enter")
    lab.wait_for(lambda: s.text().count("N never:") == 2)
    s.keys("n", "Enter")
    s.status()
    assert os.path.exists(os.path.join(lab.ws, "first"))
    assert not os.path.exists(os.path.join(lab.ws, "second"))


def test_the_gate_is_asked_about_as_the_gate(lab, screen):
    project(lab)
    lab.mock(script(turn(call("run_command", argv=["touch", "first"])), turn(call("run_verify_command")), finish()),
             extra='[workflow]\nverify_command = ["sh", "verify.sh"]\n')
    s = screen("run", "do it", width=120)
    assert "Allow run_command: touch first" in s.until("N never:")
    s.keys("perhaps", "Enter")
    s.until("not understood: y, a, n or N")
    assert "n refuses it" in s.until("Ctrl-C pauses after the step")
    lab.wait_for(lambda: s.text().rstrip().endswith("N never:"))
    s.keys("y", "Enter")
    s.until("Allow the gate (workflow.verify_command): sh verify.sh")
    lab.wait_for(lambda: s.text().rstrip().endswith("N never:"))
    s.keys("N", "Enter")
    assert s.status() == 4  # it finished over a gate that never ran
    assert os.path.exists(os.path.join(lab.ws, "first"))
    assert "\u2713 gate" not in s.text() and "unverified: the gate did not run" in s.text(), s.text()
    assert lab.events("verify.start") and not lab.events("verify.end")
    assert lab.events("run.end")[0]["verified"] == "unverified"
    assert lab.agent6("replay").returncode == 0


def test_a_gate_that_a_model_named_is_asked_about_like_any_other_command(lab, screen):
    """The agent may say what the gate is, not that it may run: the monitor shows the command, and that it is the agent who calls it so."""
    lab.repo(**{"a.txt": "one\n", "CMakeLists.txt": "add_test(NAME all)\n"})
    lab.mock(script({"text": json.dumps({"command": ["sh", "-c", "touch ran"]})}, turn(call("run_verify_command")), finish()),
             extra='[models.reviewer]\nmodel = "mock-model"\n')
    s = screen("run", "do it", width=120)
    assert "gate (named by the reviewer's model): sh -c" in s.until("Allow run_command, which the agent calls the gate: sh -c 'touch ran'")
    lab.wait_for(lambda: s.text().rstrip().endswith("N never:"))
    s.keys("N", "Enter")
    s.status()
    assert not os.path.exists(os.path.join(lab.ws, "ran"))


def busy():
    """A first turn that lasts until the file `go` is there, and a second one."""
    return script(turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done; touch ended"])),
                  turn(call("run_command", argv=["touch", "later"])), finish())


def paused(lab, screen, *args):
    """A run that waits at the pause, after its first step."""
    lab.repo()
    lab.mock(busy())
    s = screen("run", "--auto-approve", *args, "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("C-c")
    s.until("pausing after the step")
    lab.write("go", "")
    s.until("paused. Enter goes on")
    assert os.path.exists(os.path.join(lab.ws, "ended"))
    assert not os.path.exists(os.path.join(lab.ws, "later"))
    return s


@pytest.mark.parametrize("typed", [["q", "Enter"], ["C-c"], ["/stop", "Enter"]])
def test_ctrl_c_pauses_after_the_step_and_the_pause_can_end_the_run(lab, screen, typed):
    s = paused(lab, screen)
    s.keys(*typed)
    assert s.status() == 130
    assert not os.path.exists(os.path.join(lab.ws, "later"))
    assert NEXT not in s.text()
    assert lab.agent6("resume", "--auto-approve").returncode == 0
    assert os.path.exists(os.path.join(lab.ws, "later"))


def test_enter_at_the_pause_goes_on(lab, screen):
    s = paused(lab, screen)
    s.keys("Enter")
    assert s.status() == 0
    assert os.path.exists(os.path.join(lab.ws, "later"))


def test_words_at_the_pause_reach_the_model_and_the_record(lab, screen):
    s = paused(lab, screen)
    s.keys("use tabs", "Enter")
    assert s.status() == 0
    assert "use tabs" in json.dumps(lab.mocks[0].model_requests()[1]["body"])
    assert lab.events("run.steer_requested")[0]["text"] == "use tabs"


def test_commands_at_the_pause_leave_it_open(lab, screen):
    s = paused(lab, screen)
    for typed, shown in (("/status", "waiting: paused, 1 call"), ("/restate", "since then: 1 call,"), ("/help", "/detach [wait|deny"),
                         ("/shells", "nothing runs in the background"),
                         ("/nothing", "no such command"), ("/skill", "needs words"), ("/pin keep the API", "pinned: keep the API"), ("/pin", "  keep the API"),
                         ("/compact", "nothing to set aside")):
        s.keys(typed, "Enter")
        lab.wait_for(lambda shown=shown: shown in s.text() and s.text().rstrip().endswith("\u276f"))
    s.keys("/continue", "Enter")
    assert s.status() == 0
    assert "keep the API" in json.dumps(lab.mocks[0].model_requests()[1]["body"])


def test_words_typed_while_the_run_works_steer_it(lab, screen):
    lab.repo()
    lab.mock(busy())
    s = screen("run", "--auto-approve", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("prefer spaces", "Enter")
    lab.wait_for(lambda: lab.events("run.steer_requested"))
    lab.write("go", "")
    assert s.status() == 0
    assert "prefer spaces" in json.dumps(lab.mocks[0].model_requests()[1]["body"])


def test_words_typed_before_the_pause_are_kept_and_the_pause_holds(lab, screen):
    lab.repo()
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done"])), finish()))
    s = screen("run", "--auto-approve", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("C-c")
    s.until("pausing after the step")
    s.keys("please use tabs", "Enter")
    lab.wait_for(lambda: lab.events("run.steer_requested"))
    lab.write("go", "")
    s.until("paused. Enter goes on")
    assert len(lab.mocks[0].model_requests()) == 1
    s.keys("Enter")
    assert s.status() == 0
    assert "please use tabs" in json.dumps(lab.mocks[0].model_requests()[1]["body"])
    assert [e["text"] for e in lab.events("run.steer_requested")] == ["please use tabs"]


def test_ctrl_c_again_gives_up_what_is_in_flight_and_once_more_stops(lab, screen):
    lab.repo()
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while :; do :; done"])),
                    turn(call("run_command", argv=["sh", "-c", "touch again; while :; do :; done"])), finish()))
    s = screen("run", "--auto-approve", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("C-c")
    s.until("pausing after the step")
    s.keys("C-c")
    s.until("paused. Enter goes on")
    s.keys("Enter")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "again")))
    for n in (1, 2):
        s.keys("C-c")
        lab.wait_for(lambda n=n: len(lab.events("run.pause_requested")) == 2 + n)
        if n == 2:
            break
    s.until("paused. Enter goes on")
    s.keys("C-c")
    assert s.status() == 130
    assert subprocess.run(["pgrep", "-f", lab.ws], capture_output=True, text=True).stdout.strip() == ""


def test_an_open_question_is_taken_back_with_its_command(lab, screen):
    lab.repo()
    lab.mock(two_commands())
    s = screen("run", "do it")
    s.until("N never:")
    s.keys("C-c")
    s.until("pausing after the step")
    s.keys("C-c")
    s.until("paused. Enter goes on")
    s.keys("never mind that one", "Enter")
    lab.wait_for(lambda: s.text().rstrip().endswith("N never:") and "touch second" in s.text().split("never mind")[-1])
    s.keys("y", "Enter")
    assert s.status() == 0
    assert not os.path.exists(os.path.join(lab.ws, "first"))
    assert os.path.exists(os.path.join(lab.ws, "second"))


def test_without_a_menu_ctrl_c_stops_after_the_step_and_twice_now(lab, screen):
    lab.repo()
    lab.mock(busy())
    s = screen("run", "--auto-approve", "--unattended", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("C-c")
    lab.wait_for(lambda: lab.events("run.stop_requested"))
    s.keys("C-c")
    assert s.status() == 130
    assert not os.path.exists(os.path.join(lab.ws, "ended"))


def test_the_end_of_a_run_asks_what_comes_next(lab, screen):
    lab.repo()
    lab.mock(script(turn(call("run_command", argv=["touch", "first"])), finish(), turn(call("run_command", argv=["touch", "second"])),
                    finish()))
    s = screen("run", "--auto-approve", "do it")
    s.until(NEXT)
    s.keys("and now the second", "Enter")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "second")))
    lab.wait_for(lambda: s.text().count(NEXT) == 2)
    s.keys("C-d")
    lab.wait_for(s.ended)
    assert s.ended() == "0"
    assert "and now the second" in json.dumps(lab.mocks[0].model_requests()[2]["body"])
    assert len(lab.run_dirs()) == 1
    assert "resume with: agent6 resume" in s.text()


def test_a_preset_is_shown_and_chosen_for_the_next_leg(lab, screen):
    lab.repo()
    go = turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done; rm go started"]))
    lab.mock(script(go, finish(), go, finish()))
    s = screen("run", "--auto-approve", "--preset", "quick", "do it", width=160)
    for leg, preset in enumerate(("quick", "standard")):
        lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
        s.keys("/status", "Enter")
        s.until(f"preset {preset}")
        lab.write("go", "")
        lab.wait_for(lambda leg=leg: s.text().count(NEXT) >= 1 + 4 * leg)
        if leg == 1:
            break
        for n, (typed, shown) in enumerate((("/preset", "preset quick; there are: "), ("/preset nonsense", "the preset stays as it is"),
                                            ("/preset standard", "the next leg has preset standard")), 2):
            s.keys(typed, "Enter")
            lab.wait_for(lambda n=n, shown=shown: shown in s.text() and s.text().count(NEXT) == n)
        s.keys("again", "Enter")
    s.keys("/exit", "Enter")
    lab.wait_for(s.ended)
    assert s.ended() == "0"
    assert lab.events("run.start")[0]["preset"] == "quick" and lab.events("loop.resume.start")[0]["preset"] == "standard"


def test_what_begins_with_a_slash_is_never_the_next_instruction(lab, screen):
    lab.repo()
    mock = lab.mock(script(turn(call("run_command", argv=["touch", "first"])), finish(), finish()))
    s = screen("run", "--auto-approve", "do it", width=200)
    s.until(NEXT)
    before = len(mock.model_requests())
    for n, (typed, shown) in enumerate((("/help", "/undo takes the last ones back"), ("/status", "/status is no command here"),
                                        ("/stop now", "/stop is no command here"), ("/undo it", "/undo takes no words"),
                                        ("/usr/bin is odd", "/usr/bin is no command here")), 2):
        s.keys(typed, "Enter")
        lab.wait_for(lambda n=n, shown=shown: shown in s.text() and s.text().count(NEXT) == n)
    s.keys("/exit", "Enter")
    lab.wait_for(s.ended)
    assert s.ended() == "0"
    assert len(mock.model_requests()) == before and len(lab.run_dirs()) == 1


def test_stop_with_other_words_stops_nothing(lab, screen):
    s = paused(lab, screen)
    s.keys("/stop that, and use spaces", "Enter")
    s.until("/stop takes nothing or")
    lab.wait_for(lambda: s.text().rstrip().endswith("\u276f"))
    s.keys("/continue", "Enter")
    assert s.status() == 0
    assert os.path.exists(os.path.join(lab.ws, "later"))


@pytest.mark.parametrize("typed, goes_on", [("1", True), ("2", False), ("", False)])
def test_who_is_there_is_asked_before_calls_that_were_cut_off_are_gone_on_with(lab, screen, typed, goes_on):
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "while :; do :; done"])), finish()))
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "--run-id", "mine", "work"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lab.wait_for(lambda: lab.run_dirs() and os.path.exists(os.path.join(lab.run_dirs()[-1], "record", "logs.jsonl")) and
                 lab.events("tool.call"))
    p.kill()
    p.communicate()
    mock = lab.mock(script(turn(call("run_command", argv=["touch", "after"])), finish()))
    s = screen("resume", "--auto-approve", "mine")
    s.until("cut off while these were called: run_command")
    s.until("Go on?")
    s.keys(typed, "Enter") if typed else s.keys("C-d")
    assert s.status() == (0 if goes_on else 2), s.text()
    assert os.path.exists(os.path.join(lab.ws, "after")) is goes_on
    assert bool(mock.model_requests()) is goes_on
    if not goes_on:  # nothing is lost by it, and nobody to ask is a yes with a warning, as it was
        r = lab.agent6("resume", "--auto-approve", "mine")
        assert r.returncode == 0 and "cut off while these were called: run_command" in r.err, r.both
    assert lab.agent6("replay", "mine").returncode == 0


def test_an_answer_about_uncommitted_changes_that_is_none_is_asked_for_again(lab, screen):
    lab.repo(old="1\n")
    lab.write("old", "2\n")
    lab.mock(script(turn(call("run_command", argv=["touch", "first"])), finish()))
    s = screen("run", "--auto-approve", "do it")
    s.until("your answer:")
    s.keys("yes", "Enter")
    s.until("not understood: 1, 2 or 3.")
    lab.wait_for(lambda: s.text().rstrip().endswith("your answer:"))
    s.keys("1", "Enter")
    assert s.status() == 0
    assert os.path.exists(os.path.join(lab.ws, "first"))


def test_a_run_outlives_the_terminal_it_left(lab, screen):
    lab.repo()
    lab.mock(busy())
    s = screen("run", "--auto-approve", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("/detach", "Enter")
    lab.wait_for(s.ended)
    assert s.ended() == "0"
    assert "the run goes on: agent6 watch" in s.text()
    s.close()  # the terminal is gone for good
    watch = screen("watch")
    watch.until("do it")
    watch.keys("from afar", "Enter")
    lab.wait_for(lambda: lab.events("run.steer_requested"))
    lab.write("go", "")
    assert watch.status() == 0
    lab.wait_for(lambda: lab.events("run.end"))
    assert lab.events("run.end")[0]["exit_code"] == 0
    assert "from afar" in json.dumps(lab.mocks[0].model_requests()[1]["body"])
    lab.wait_for(lambda: subprocess.run(["pgrep", "-f", lab.folder + "/home"], capture_output=True).returncode != 0)


@pytest.mark.parametrize("away,runs", [("deny", False), ("approve", True)])
def test_who_leaves_says_what_becomes_of_questions(lab, screen, away, runs):
    lab.repo()
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done"])),
                    turn(call("run_command", argv=["touch", "second"])), finish()))
    s = screen("run", "do it")
    s.until("N never:")
    s.keys("y", "Enter")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("/detach " + away, "Enter")
    lab.wait_for(s.ended)
    assert s.ended() == "0"
    lab.write("go", "")
    lab.wait_for(lambda: lab.events("run.end"))
    assert lab.events("run.detached")[0]["away"] == away
    assert os.path.exists(os.path.join(lab.ws, "second")) is runs
    assert len(lab.events("approval.prompt")) == 1  # nobody was asked again


def test_a_question_is_answered_from_another_terminal_after_the_first_was_left(lab, screen):
    lab.repo()
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done"])),
                    turn(call("run_command", argv=["touch", "asked"])), finish()))
    s = screen("run", "do it")
    s.until("N never:")
    s.keys("y", "Enter")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("/detach", "Enter")
    lab.wait_for(s.ended)
    lab.write("go", "")
    watch = screen("watch")
    watch.until("N never:")
    watch.keys("y", "Enter")
    assert watch.status() == 0
    assert os.path.exists(os.path.join(lab.ws, "asked"))


def test_ctrl_z_suspends_nobody_and_says_how_to_leave(lab, screen):
    lab.repo()
    lab.mock(busy())
    s = screen("run", "--auto-approve", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("C-z")
    s.until("/detach leaves the terminal")
    lab.write("go", "")
    assert s.status() == 0


def test_a_run_that_is_watched_step_by_step_waits_after_each(lab, screen):
    lab.repo()
    lab.mock(script(turn(call("apply_edit", path="a", edits=[{"kind": "create", "new_string": "x\n"}])), finish()))
    s = screen("run", "--auto-approve", "--interactive", "do it")
    s.until("paused. Enter goes on")
    assert "commit" in s.text()
    s.keys("/cost", "Enter")
    s.until("1 commit")
    s.keys("Enter")
    assert s.status() == 0
    assert "died" not in s.text()  # what showed the run went when it had shown its end
    assert lab.agent6("run", "--interactive", "do it").returncode == 2


@pytest.mark.parametrize("when", ["paused", "ended"])
def test_words_are_taken_back_and_said_again(lab, screen, when):
    lab.repo()
    mock = lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done"])),
                           turn(call("run_command", argv=["touch", "wrong"])), *[finish()] * 2, order="depth"))
    s = screen("run", "--auto-approve", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("use tabs", "Enter")
    lab.wait_for(lambda: lab.events("run.steer_requested"))
    if when == "paused":
        s.keys("C-c")
        s.until("pausing after the step")
    lab.write("go", "")
    s.until("paused. Enter goes on" if when == "paused" else NEXT)
    s.keys("/undo", "Enter")
    s.until("undone: ")
    s.until(NEXT + " [use tabs]:")
    assert "onlytheconversationistakenback:thefilesstayastheylie" in "".join(s.text().split()), s.text()
    said = "".join(s.text().split())  # a long id wraps the lines anywhere
    new, old = next((n, o) for n, o in (map(os.path.basename, d) for d in (lab.run_dirs(), lab.run_dirs()[::-1]))
                    if f"undone:{n}goeson" in said)
    assert f'of{old},beforeyousaid"usetabs"' in said and f"{old}keepsallofit,agent6resume{old}goesonthere" in said, s.text()
    s.keys("use spaces", "Enter")
    lab.wait_for(lambda: len(lab.run_dirs()) == 2)
    lab.wait_for(lambda: "use spaces" in json.dumps([r["body"] for r in mock.model_requests()]))
    s.status()
    last = json.dumps(mock.model_requests()[-1]["body"])
    assert "use spaces" in last and "use tabs" not in last


def processes(word):
    """The processes of ours whose command line holds the word, and the parent of each."""
    found = {}
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/cmdline", "rb") as f:
                words = f.read().replace(b"\0", b" ").decode("utf-8", "replace")
            with open(f"/proc/{p}/stat", encoding="utf-8", errors="replace") as f:
                above = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if word in words and os.path.basename(words.split(" ")[0]) == "agent6":
            found[int(p)] = above
    return found


def named(lab):
    """A task that no other test gives."""
    return "do it in " + os.path.basename(lab.folder)


def agents(lab):
    """What waits at the terminal, and the run's monitor, its child."""
    found = processes("--auto-approve " + named(lab))
    return sorted(found, key=lambda p: found[p] in found)


@pytest.mark.parametrize("victim,signal_", [("view", signal.SIGKILL), ("monitor", signal.SIGKILL), ("leash", signal.SIGKILL),
                                            ("monitor", signal.SIGSEGV), ("leash", signal.SIGTERM)])
def test_whatever_ends_us_the_terminal_is_as_it_was(lab, screen, victim, signal_):
    lab.repo()
    lab.mock(busy())
    s = screen("run", "--auto-approve", named(lab))
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    before = s.modes_before()
    leash, monitor = agents(lab)
    views = [p for p, above in processes("--role view").items() if above == monitor]
    assert len(views) == 1
    os.kill({"view": views[0], "monitor": monitor, "leash": leash}[victim], signal_)
    if victim == "view":  # the run does not need it, and who sits there is told what there is to do
        s.until('"agent6 watch" on another terminal')
        lab.write("go", "")
        lab.wait_for(lambda: lab.events("run.end"))
    lab.wait_for(lambda: victim == "view" or s.ended())
    lab.wait_for(lambda: victim == "view" or not agents(lab))
    assert s.modes() == before
    assert s.tmux("display-message", "-p", "#{cursor_flag} #{alternate_on} #{mouse_any_flag}").split() == ["1", "0", "0"]
    s.status()
    if victim != "view":
        assert lab.agent6("resume", "--auto-approve").returncode in (0, 2)


def test_a_terminal_that_closes_ends_the_run_and_it_can_be_resumed(lab, screen):
    lab.repo()
    lab.mock(busy())
    s = screen("run", "--auto-approve", named(lab))
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.close()
    lab.wait_for(lambda: lab.events("run.end"))
    lab.wait_for(lambda: not agents(lab))
    lab.write("go", "")
    assert lab.agent6("resume", "--auto-approve").returncode == 0
    assert os.path.exists(os.path.join(lab.ws, "later"))


def test_a_window_that_is_resized_keeps_the_run(lab, screen):
    lab.repo()
    lab.mock(busy())
    s = screen("run", "--auto-approve", "do it", width=100)
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    before = s.modes_before()
    s.tmux("resize-window", "-x", "40", "-y", "20")
    lab.write("go", "")
    s.until(NEXT)
    assert s.status() == 0
    assert "columns 40" in s.modes() and "columns 100" in before


@pytest.mark.parametrize("width", [80, 160])
def test_the_screen_shows_the_work_and_what_to_type_next(lab, screen, width):
    project(lab)
    lab.mock(fix_bug())
    s = screen("run", "--auto-approve", "make add() add", width=width, height=50)
    assert s.status() == 0
    text = s.text()
    assert "read_file" in text and "calc.py" in text
    assert "runs merge" in text and "runs diff" in text
    assert all(len(line) <= width for line in text.splitlines())
