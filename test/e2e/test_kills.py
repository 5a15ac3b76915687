# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""kill -9 of any process of a run at a random instant: it goes on, nothing that was recorded is lost, and nothing is done
twice without a word. AGENT6_KILLS says how often (20); AGENT6_KILLS_SEED where the dice begin (1). `./dev soak` does 200."""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from conftest import AGENT6, call, finish, script, turn
from test_faults import process

KILLS = int(os.environ.get("AGENT6_KILLS", "20"))
SEED = int(os.environ.get("AGENT6_KILLS_SEED", "1"))
WHO = ["monitor", "monitor", "recorder", "recorder", "agent", "zygote", "git zygote", "client", "broker", "spawner", "view"]
STEPS = [turn(call("run_command", argv=["sh", "-c", "echo 1 >> log"])),
         turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}])),
         turn(call("run_command", argv=["sh", "-c", "echo 2 >> log"]), call("list_dir", path=".")),
         turn(call("apply_edit", path="a.txt", edits=[{"old_string": "two", "new_string": "three"}])),
         turn(call("run_command", argv=["sh", "-c", "echo 3 >> log"])),
         finish()]


def record(lab, run_id):
    return next((os.path.join(d, "record") for d in lab.run_dirs() if os.path.basename(d) == run_id), None)


def events(lab, run_id):
    path = os.path.join(record(lab, run_id) or "", "logs.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, "rb") as f:
        return [json.loads(l) for l in f.read().split(b"\n")[:-1]]


def ended_well(lab, run_id):
    last = events(lab, run_id)[-1:]
    return bool(last) and last[0]["type"] == "run.end" and last[0]["reason"] in ("finish_run", "silent_finish")


def kill_at(p, who, instant):
    """Kills that process of the run at the instant; None when it was not there then."""
    end = time.monotonic() + instant
    while time.monotonic() < end and p.poll() is None:
        pass
    try:
        os.kill(process(p.pid, who), signal.SIGKILL)
        return who
    except (AssertionError, IndexError, OSError, KeyError):
        return None


def one(lab, run_id, who, instant):
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "--run-id", run_id, "count"], cwd=lab.ws, env=lab.env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    killed = kill_at(p, who, instant)
    out = p.communicate(timeout=300)[0].decode("utf-8", "replace")
    before = events(lab, run_id)
    said = [out]
    for _ in range(3):
        if ended_well(lab, run_id) or record(lab, run_id) is None:
            break
        r = lab.agent6("resume", "--auto-approve", run_id)
        said.append(r.both)
        if "it has no checkpoint" in r.both or "manifest.json" in r.both:
            break
    return killed, before, said


def check(lab, run_id, before, said):
    after = events(lab, run_id)
    # What stood in the record when everybody was dead stands there still.
    assert after[:len(before)] == before, said
    if not ended_well(lab, run_id):
        # Only a run that was killed before its first turn may have nothing to go on from.
        assert not [e for e in after if e["type"] in ("role.call", "tool.call")], (said, after)
        return 0
    lines = lab.read("log").split() if os.path.exists(os.path.join(lab.ws, "log")) else []
    # A call that the death kept from running was answered so: this model does not listen, a real one does.
    refused = [e["name"] for e in after if e["type"] == "tool.result" and not e["ok"]]
    with open(os.path.join(record(lab, run_id), "messages.jsonl"), encoding="utf-8") as f:
        unanswered = f.read().count("interrupted: this call did not finish")
    assert lab.read("a.txt") == "three\n" or "apply_edit" in refused or unanswered, said
    assert len({"1", "2", "3"} - set(lines)) <= refused.count("run_command") + unanswered, (lines, said)
    cut = [e for e in after if e["type"] == "run.notice" and "cut off while these were called" in e["text"]]
    assert len(lines) - len(set(lines)) <= len(cut), ("done twice without a word", lines, said)
    for words in (["runs", "verify"], ["replay"]):
        r = lab.agent6(*words, run_id)
        assert r.returncode == 0, (r.both, said)
    return 1


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_run_outlives_the_death_of_any_process_at_any_instant(lab, api):
    dice = random.Random(f"{SEED} {api}")
    lab.repo(a_DOT_txt="one\n")
    mock = lab.mock(dict(script(*STEPS), order="depth"), api=api)
    began = time.monotonic()
    killed, before, said = one(lab, "whole", "view", 99)
    assert killed is None and check(lab, "whole", before, said) == 1
    whole = time.monotonic() - began
    deaths = went_on = 0
    for i in range((KILLS + 1) // 2):
        lab.git("checkout", "-q", "-f", "--", ".")
        if os.path.exists(os.path.join(lab.ws, "log")):
            os.remove(os.path.join(lab.ws, "log"))
        run_id, who, instant = f"k{i}", dice.choice(WHO), dice.random() * whole
        killed, before, said = one(lab, run_id, who, instant)
        deaths += killed is not None
        went_on += check(lab, run_id, before, [f"{i}: {who} at {instant:.3f} s ({killed})", *said])
    assert deaths > 0 and went_on > 0, (deaths, went_on)
    status, complaint = mock.stop()
    assert status == 0, complaint  # every conversation it was sent was valid


# Which call of the recorder fails, how, and which time from the first command on. The seam of sys/fault.h fails each call of the
# same code in turn (recorder_keeps_its_promise_whichever_call_fails); here it is the kernel that says no, in a run.
DENIED = [(call_, errno, nth) for call_, errnos in
          [("write", ["ENOSPC", "EIO", "EROFS", "EDQUOT", "EINTR"]), ("fdatasync", ["EIO", "ENOSPC", "EROFS"]),
           ("openat", ["EMFILE", "ENOSPC", "EROFS", "EIO"]), ("recvmsg", ["EINTR", "ENOMEM"]), ("sendmsg", ["EINTR", "ENOBUFS"]),
           ("ppoll,poll,epoll_wait,epoll_pwait", ["EINTR", "ENOMEM"])]
          for errno in errnos for nth in ((1, 4) if KILLS > 20 else (4,))]


@pytest.mark.parametrize("call_, errno, nth", DENIED, ids=[f"{c.split(',')[0]}-{e}-{n}" for c, e, n in DENIED])
def test_a_run_whose_recorder_was_denied_a_call_is_resumed_and_lost_nothing_that_was_kept(lab, call_, errno, nth):
    if not shutil.which("strace"):
        pytest.skip("there is no strace to make a call fail")
    lab.repo(a_DOT_txt="one\n")
    wait = turn(call("run_command", argv=["sh", "-c", "while ! test -e go; do :; done; rm go"]))
    mock = lab.mock(dict(script(wait, *STEPS), order="depth"))
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "--run-id", "mine", "count"], cwd=lab.ws, env=lab.env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lab.wait_for(lambda: any(e["type"] == "tool.call" for e in events(lab, "mine")))
    s = subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(process(p.pid, "recorder")), "-e", f"trace={call_}",
                          "-e", f"inject={call_}:error={errno}:when={nth}"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = s.stderr.readline()
    if "attached" not in said:
        s.communicate()
        p.kill()
        p.communicate()
        pytest.skip("strace may not attach to the recorder here")
    lab.write("go", "")
    out = [p.communicate(timeout=300)[0].decode("utf-8", "replace")]
    s.communicate(timeout=300)
    before = events(lab, "mine")
    assert any(e["type"] == "tool.call" for e in before)
    for _ in range(2):
        if not ended_well(lab, "mine"):
            lab.write("go", "")
            out.append(lab.agent6("resume", "--auto-approve", "mine").both)
    if os.path.exists(os.path.join(lab.ws, "go")):
        os.remove(os.path.join(lab.ws, "go"))
    assert ended_well(lab, "mine"), out
    assert check(lab, "mine", before, out) == 1
    status, complaint = mock.stop()
    assert status == 0, complaint
