# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""P8 at a terminal: what a taken-over agent asks, floods and writes down, and what the person sees and does of it.

The agent is test_evil.py's; so is how it is judged.
"""
import contextlib
import fcntl
import glob
import os
import pty
import re
import subprocess
import termios
import threading
import unicodedata

import conftest
from test_evil import DENIED, EVIL, evil, evil_of_each_profile, run_attended  # noqa: F401, F811  two fixtures


def test_questions_that_are_taken_back_run_nothing_and_look_like_no_other(evil_of_each_profile):
    """What is typed at once for the one in another's place is taken for none, where the machine is quick enough: how early is too early
    is tried where time stands still (a_question_in_the_place_of_another_...)."""
    evil, ws = evil_of_each_profile, evil_of_each_profile.lab.ws
    lines = run_attended(evil, "swap", (b"Allow run_command: true", lambda _: open(os.path.join(ws, "seen"), "w", encoding="utf-8").close()),
                         (b"Allow run_command: touch without-approval", b""), (b"N never: ", b"n\n"), (b"N never: ", b"n\n"), spare=1)
    assert [l for l in lines if l.startswith("swapped")] == [f"swapped command: why {DENIED} code 0 the operator said no"], lines
    assert not os.path.exists(os.path.join(ws, "without-approval"))
    prompts = [p["prompt"].removeprefix("Allow run_command: touch ") for p in evil.lab.events("approval.prompt")]
    assert prompts == [r"$'a\nb'", r"'a\nb'", r"$'a\u200b'", r"$'\u202eb'", r"$'\033]52;c;eA==\007'", r"$'\377'", r"$'\u009b2J'",
                       "Allow run_command: true", "without-approval"], prompts
    answers = [(a["approved"], a["source"]) for a in evil.lab.events("approval.answer")]
    assert answers == [(False, "withdrawn")] * 8 + [(False, "frontend")], answers


def resident_kb(top):
    """Of a process and all below it."""
    parents, total = {}, 0
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/status", encoding="utf-8", errors="replace") as f:
                status = f.read()
        except OSError:
            continue
        rss = re.search(r"VmRSS:\s+(\d+)", status)
        parents[int(p)] = (int(re.search(r"PPid:\s+(\d+)", status)[1]), int(rss[1]) if rss else 0)
    for p, (_, rss) in parents.items():
        at = p
        while at in parents and at != top:
            at = parents[at][0]
        total += rss if at == top else 0
    return total


def test_whoever_floods_every_channel_is_stopped_by_ctrl_c_and_takes_no_memory(evil_of_each_profile):
    evil, lab = evil_of_each_profile, evil_of_each_profile.lab
    leader, follower = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    p = subprocess.Popen([EVIL, "run", "evil flood"], cwd=lab.ws, env=lab.env, stdin=follower, stdout=follower, stderr=follower,
                         preexec_fn=take_terminal)
    os.close(follower)
    shown = []

    def read():
        with contextlib.suppress(OSError):
            while piece := os.read(leader, 65536):
                shown.append(len(piece))

    reader = threading.Thread(target=read)
    reader.start()

    def journal():
        return sum(os.path.getsize(f) for f in glob.glob(os.path.join(lab.home, ".local/state/agent6/*/runs/*/record/logs.jsonl")))

    lab.wait_for(lambda: journal() > 10 << 20)
    used = resident_kb(p.pid)
    log = os.open(glob.glob(os.path.join(lab.home, ".local/state/agent6/*/runs/*/record/logs.jsonl"))[0], os.O_RDONLY)
    heard, tail = 0, b""

    def told():
        nonlocal tail
        tail += os.read(log, 1 << 24)
        return p.poll() is not None or len(re.findall(rb'"type":"run.(?:pause|stop)_requested"', tail)) > heard

    os.lseek(log, journal(), os.SEEK_SET)
    while p.poll() is None and heard < 4:  # to pause after the step, now, to end, and not to wait for it
        os.write(leader, b"\x03")
        lab.wait_for(told)
        heard += 1
    p.wait(timeout=300)
    reader.join()
    os.close(leader)
    os.close(log)
    assert p.returncode == 130 and heard >= 3, (p.returncode, heard)
    assert used < 150_000, used
    evil.result = subprocess.CompletedProcess(p.args, p.returncode, b"", b"")
    assert evil.judge(os.path.join(lab.ws, "evil.report")) == ["flood"]
    ok, said = evil.verified()
    assert ok, said


# What may be on a terminal beside text: colours, and how a terminal ends a line.
OURS = re.compile(rb"\x1b\[[0-9;]*m|\r(?=\n)")


def steers(out):
    """What of these bytes is no text that stays where it was put."""
    try:
        text = OURS.sub(b"", out).decode()
    except UnicodeDecodeError as why:
        return [str(why)]
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cn")]


def on_terminal(lab, words):
    leader, follower = pty.openpty()
    p = subprocess.Popen(words, cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, start_new_session=True)
    os.close(follower)
    out = b""
    with contextlib.suppress(OSError):
        while piece := os.read(leader, 65536):
            out += piece
    os.close(leader)
    p.wait(timeout=300)
    return p.returncode, out


def test_whatever_shows_a_record_of_a_taken_over_agent_shows_text(evil):
    """Every event, member, file, name and message that it may write is one that would steer a terminal."""
    lab = evil.lab
    code, out = on_terminal(lab, [EVIL, "run", "--auto-approve", "--run-id", "owned", "evil words"])
    with open(os.path.join(lab.ws, "evil.report"), encoding="utf-8") as f:
        assert [l for l in f if l.startswith("FAIL")] == [] and os.path.getsize(f.name) > 0, out
    shown = {"run": (code, out)}
    for words in ("runs list", "runs list --json", "runs show owned", "runs show owned --json", "runs diff owned", "runs diff owned --stat",
                  "runs commits owned", "runs transcript owned", "runs graph owned", "runs verify owned", "watch owned", "replay owned",
                  "history search owned", "memory list", "memory show m-00000001", "prompt show", "runs merge owned", "runs rm owned"):
        shown[words] = on_terminal(lab, [conftest.AGENT6, *words.split()])
    assert {w: steers(o) for w, (_, o) in shown.items() if steers(o)} == {}
    # It was there to be shown, and said to be what it is; what the person said is not the agent's to say.
    assert {w: (c, o) for w, (c, o) in shown.items() if b"owned" not in o or c not in (0, 1 if w.startswith("replay") else 0)} == {}, shown
    assert b"evil words" in shown["runs list"][1] and b"Allow owned" in shown["watch owned"][1] and b"x1b[2J" in shown["runs commits owned"][1]
