# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""In a real terminal: approvals, interrupts, what is on the screen."""
import os
import shlex
import subprocess
import uuid

import pytest

from conftest import AGENT6, call, finish, missing, script, turn
from test_run import fix_bug, project


class Screen:
    """A tmux of its own with one shell command in it."""

    def __init__(self, lab, command, width=80, height=30):
        if subprocess.run(["tmux", "-V"], capture_output=True).returncode:
            missing("tmux")
        self.lab = lab
        self.name = "agent6-" + uuid.uuid4().hex[:8]
        self.done = os.path.join(lab.folder, self.name)
        line = f"trap : INT; {command}; echo $? > {shlex.quote(self.done)}; read wait"
        env = [f"{k}={v}" for k, v in lab.env.items()]
        subprocess.run(["env", "-i", *env, "tmux", "-L", self.name, "-f", "/dev/null", "new-session", "-d", "-x", str(width),
                        "-y", str(height), "sh", "-c", line], cwd=lab.ws, check=True)

    def tmux(self, *args):
        return subprocess.run(["tmux", "-L", self.name, *args], capture_output=True, text=True).stdout

    def text(self):
        return self.tmux("capture-pane", "-p", "-S", "-200")

    def until(self, word):
        return self.lab.wait_for(lambda: (lambda t: t if word in t else None)(self.text()))

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def status(self):
        def ended():
            try:
                with open(self.done, encoding="ascii") as f:
                    return f.read().strip()
            except FileNotFoundError:
                return None
        return int(self.lab.wait_for(ended))

    def close(self):
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
    assert "touch first" in s.until("N never:")
    s.keys(key, "Enter")
    s.status()
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


def test_ctrl_c_once_stops_after_the_step(lab, screen):
    project(lab)
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while [ ! -e go ]; do :; done; touch ended"])),
                    turn(call("run_command", argv=["touch", "later"])), finish()))
    s = screen("run", "--auto-approve", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("C-c")
    lab.wait_for(lambda: lab.events("run.stop_requested"))
    lab.write("go", "")
    assert s.status() == 130
    assert os.path.exists(os.path.join(lab.ws, "ended"))
    assert not os.path.exists(os.path.join(lab.ws, "later"))


def test_ctrl_c_twice_stops_now(lab, screen):
    project(lab)
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; while :; do :; done"])), finish()))
    s = screen("run", "--auto-approve", "do it")
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    s.keys("C-c")
    lab.wait_for(lambda: lab.events("run.stop_requested"))
    s.keys("C-c")
    assert s.status() == 130
    assert subprocess.run(["pgrep", "-f", lab.ws], capture_output=True, text=True).stdout.strip() == ""


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
