# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What is left of a process of ours that died of a fault: a line of fixed words and numbers, and something to do."""
import contextlib
import json
import os
import re
import signal
import stat

import pytest

from conftest import AGENT6
from test_faults import Held, is_role, process, tree, words
from test_terminal import screen  # noqa: F401 (a fixture)

KEY = "dummy-key-0123456789"

# who: as what it is noted
ROLES = {
    "monitor": "monitor",
    "zygote": "zygote",
    "cell": "zygote",
    "git zygote": "git zygote",
    "git cell": "git zygote",
    "agent": "agent",
    "client": "client",
    "broker": "broker",
    "resolver": "resolver",
    "recorder": "recorder",
    "spawner": "spawner",
    "view": "view",
}


def crashes(lab):
    with open(os.path.join(lab.home, ".local", "state", "agent6", "crashes.jsonl"), encoding="ascii") as f:
        return [json.loads(line) for line in f]


@pytest.mark.parametrize("who", ROLES)
def test_a_fault_of_each_process_is_noted_and_told(lab, who):
    held = Held(lab, "command")
    name = ROLES[who]
    os.kill(process(held.p.pid, who), signal.SIGSEGV)
    if who in ("spawner", "view"):
        lab.wait_for(lambda: crashes(lab))
        held.go_on()
    out = held.ended()
    (line,) = crashes(lab)
    assert set(line) == {"time_s", "version", "run_id", "process", "signal", "name", "at"}
    assert (line["process"], line["signal"], line["name"]) == (name, signal.SIGSEGV, "SIGSEGV")
    assert line["run_id"] == os.path.basename(held.run_dir)
    assert line["version"] == lab.agent6("--version").out.split()[1]
    assert re.fullmatch("0x[0-9a-f]+", line["at"])  # 0x0: in a library, or in a system call of it
    if who == "monitor":
        assert held.p.returncode == -signal.SIGSEGV
        assert "SIGSEGV" in out and "report this line" in out and "agent6 resume" in out
    elif who in ("spawner", "view"):
        assert held.p.returncode == 0
    else:
        assert held.p.returncode == 1
        assert "SIGSEGV" in out and "crashes.jsonl" in out and "please report that line" in out.replace("\n", " "), out
        assert f"agent6 {line['version']}" in out
    mode = os.stat(os.path.join(lab.home, ".local", "state", "agent6", "crashes.jsonl")).st_mode
    assert stat.S_IMODE(mode) == 0o600
    if who not in ("view", "spawner"):
        held.next_run_works()


def test_a_kill_is_noted_as_one_and_is_no_fault_of_agent6(lab):
    held = Held(lab, "command")
    os.kill(process(held.p.pid, "client"), signal.SIGKILL)
    out = held.ended()
    lines = crashes(lab)
    assert not lines or [(x["process"], x["name"], x["at"]) for x in lines] == [("client", "SIGKILL", "0x0")]
    assert "report" not in out


def test_no_process_of_a_run_may_leave_a_core(lab):
    held = Held(lab, "command")
    for pid in tree(held.p.pid):
        if words(pid)[:1] != ["sh"]:  # the command itself is held by the jail, which gives it none either
            assert os.path.basename(words(pid)[0]).startswith("agent6") or is_role(pid, "agent"), words(pid)
        with open(f"/proc/{pid}/limits", encoding="ascii") as f:
            (core,) = [x for x in f if x.startswith("Max core file size")]
        assert core.split()[4:6] == ["0", "0"] or pid == held.p.pid and core.split()[4] == "0", (words(pid), core)
    held.go_on()
    held.ended()


def stands_in(pid, folder):
    with contextlib.suppress(OSError):  # it ended meanwhile
        return os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(folder)
    return False


def test_a_run_without_a_fault_notes_nothing_and_a_fault_at_the_terminal_gives_it_back(lab, screen):  # noqa: F811
    held = Held(lab, "command")
    held.go_on()
    held.ended()
    assert not crashes(lab)
    s = screen("init")  # asks, so it waits
    s.until("?")
    pid = [int(p) for p in filter(str.isdigit, os.listdir("/proc")) if words(int(p))[:2] == [AGENT6, "init"] and stands_in(p, lab.ws)]
    os.kill(pid[-1], signal.SIGSEGV)
    s.until("Please report this line")
    assert not crashes(lab)
