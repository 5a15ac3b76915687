# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Replay: a record gives the same run again, and what was changed in it is found where it stands."""
import glob
import hashlib
import json
import os
import re

import pytest

from conftest import call, finish, script, turn
from test_consent import IMPLEMENT, planned
from test_terminal import screen  # noqa: F401 (a fixture)


def recorded(lab, api="openai"):
    lab.repo(a_DOT_txt="one\n", b_DOT_txt="bee\n")
    lab.mock(script(turn(call("read_file", path="a.txt")),
                    turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}])),
                    turn(call("run_command", argv=["cat", "a.txt"]), call("list_dir", path=".")), finish()), api=api)
    r = lab.run("make one two")
    assert r.returncode == 0, r.both
    return os.path.join(lab.run_dirs()[-1], "record")


def replay(lab):
    r = lab.agent6("replay", "--json")
    return r.returncode, json.loads(r.out)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_run_is_made_again_from_its_record(lab, api):
    recorded(lab, api)
    code, rep = replay(lab)
    assert code == 0 and rep["same"], rep
    assert (rep["requests"], rep["answers"], rep["calls"]) == (4, 4, 5)
    assert "the same again: 4 requests" in lab.agent6("replay").out


def transcripts(record):
    found = {}
    for path in sorted(glob.glob(os.path.join(record, "transcripts", "*.json"))):
        with open(path, encoding="utf-8") as f:
            found[path] = f.read()
    return found


def seat(text):
    return json.loads(text)["seat"]


def tamper(path, old, new):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    assert old in text, (old, text)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new, 1))


def nth(record, n):
    return [p for p, t in transcripts(record).items() if seat(t) == "worker"][n]


def seq_of(record, kind, n):
    with open(os.path.join(record, "logs.jsonl"), encoding="utf-8") as f:
        return [e["seq"] for e in map(json.loads, f) if e["type"] == kind][n]


def test_a_changed_answer_is_found_at_its_event(lab):
    record = recorded(lab)
    tamper(nth(record, 1), "apply_edit", "apply_edix")
    code, rep = replay(lab)
    assert code == 1 and rep["turn"] == 2 and rep["seq"] == seq_of(record, "role.result", 1), rep
    assert "answer" in rep["what"], rep
    assert "apply_edi" in rep["was"] and "apply_edix" in rep["now"], rep


def test_a_changed_request_is_found_at_its_event(lab):
    record = recorded(lab)
    tamper(nth(record, 2), "two", "owt")
    code, rep = replay(lab)
    assert code == 1 and rep["turn"] == 3 and rep["seq"] == seq_of(record, "role.result", 2), rep
    assert "request" in rep["what"], rep


def test_a_changed_result_is_found_in_the_request_that_held_it(lab):
    record = recorded(lab)
    tamper(os.path.join(record, "messages.jsonl"), r'\"content\":\"one', r'\"content\":\"ten')
    code, rep = replay(lab)
    assert code == 1 and rep["turn"] == 2 and "request" in rep["what"], rep
    assert "one" in rep["was"] and "ten" in rep["now"], rep


def test_a_changed_prompt_is_called_so(lab):
    record = recorded(lab)
    path = next(p for p, t in transcripts(record).items() if seat(t) == "prompt")
    tamper(path, "You are", "You were")
    code, rep = replay(lab)
    assert code == 1 and rep["type"] == "loop.prompt" and "prompt was changed" in rep["what"], rep


def test_a_changed_journal_is_found_before_anything_else(lab):
    record = recorded(lab)
    tamper(os.path.join(record, "logs.jsonl"), "apply_edit", "apply_exit")
    code, rep = replay(lab)
    assert code == 1 and rep["type"] == "journal" and "line" in rep["what"], rep


def rehash(record):
    """The chain made anew over a changed journal, and what the conversation has seen of it: only what follows from the
    transcripts can tell."""
    path, prev, out, heads = os.path.join(record, "logs.jsonl"), b"0" * 64, [], {}
    with open(path, "rb") as f:
        for line in f.read().splitlines():
            if b',"h":"' in line:
                body = line[:line.rindex(b',"h":"')]
                prev = hashlib.sha256(prev + body + b"}").hexdigest().encode()
                line = body + b',"h":"' + prev + b'"}'
                heads[int(re.search(rb'"seq":(\d+)', line).group(1))] = prev
            out.append(line)
    with open(path, "wb") as f:
        f.write(b"\n".join(out) + b"\n")
    path = os.path.join(record, "messages.jsonl")
    with open(path, "rb") as f:
        text = f.read()
    with open(path, "wb") as f:
        def anew(m):
            n = min(int(m.group(1)), max(heads))
            return b'{"journal":%d,"h":"%s"}' % (n, heads[n])
        f.write(re.sub(rb'(?m)^\{"journal":(\d+),"h":"\w{64}"\}$', anew, text))


def test_a_changed_call_is_found_though_the_chain_was_made_anew(lab):
    record = recorded(lab)
    tamper(os.path.join(record, "logs.jsonl"), '"argv":["cat","a.txt"]', '"argv":["rm","a.txt"]')
    rehash(record)
    assert lab.agent6("runs", "verify").returncode == 0
    code, rep = replay(lab)
    assert code == 1 and rep["type"] == "tool.call" and rep["turn"] == 3, rep
    assert "rm" in rep["was"] and "cat" in rep["now"], rep


@pytest.mark.parametrize("bytes_", [b"", b"{", b'{"seat":"worker"}', b"\xff" * 5000, b"[" * 100000])
def test_hostile_transcripts_are_differences_and_no_crash(lab, bytes_):
    record = recorded(lab)
    with open(nth(record, 1), "wb") as f:
        f.write(bytes_)
    r = lab.agent6("replay", "--json")
    assert r.returncode == 1 and json.loads(r.out)["turn"] == 2, r.both


def test_a_checkpoint_that_was_taken_out_is_missed_at_its_turn(lab):
    record = recorded(lab)
    path = os.path.join(record, "messages.jsonl")
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines(keepends=True)
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(l for l in lines if not l.startswith('{"turn":3,'))
    code, rep = replay(lab)
    assert code == 1 and rep["turn"] == 3 and "no checkpoint of this turn" in rep["what"], rep


# ---- what the loop decided ----

def nudged(lab):
    """A run with a nudge over a repeated error, one over a repeated call, and a gate that is red, then green."""
    lab.repo(a_DOT_txt="one\n")
    wrong = [turn(call("apply_edit", path="a.txt", edits=[{"old_string": f"no such words {n}", "new_string": "x"}])) for n in range(3)]
    same = [turn(call("list_dir", path="."))] * 3
    lab.mock(script(*wrong, *same, turn(call("run_verify_command")),
                    turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}])),
                    turn(call("run_verify_command")), finish()),
             extra='[workflow]\nverify_command = ["sh", "-c", "grep -q two a.txt"]\n')
    r = lab.run("make one two")
    assert r.returncode == 0, r.both
    assert {"loop.tool_error.nudge", "loop.loop_guard.triggered"} <= {e["type"] for e in lab.journal()}
    return os.path.join(lab.run_dirs()[-1], "record")


def rewrite(record, change):
    """The journal with its events changed, numbered and chained anew."""
    path = os.path.join(record, "logs.jsonl")
    with open(path, encoding="utf-8") as f:
        lines = [change(l) for l in f.read().splitlines()]
    numbers = iter(range(1, len(lines) + 1))
    lines = [re.sub(r'(?<=Z",)"seq":\d+', lambda m: f'"seq":{next(numbers)}', l, count=1) for l in lines if l is not None]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    rehash(record)


def only(kind, old, new, nth=0):
    count = iter(range(10000))
    return lambda l: l.replace(old, new, 1) if f'"type":"{kind}"' in l and next(count) == nth else l


DECISIONS = [
    ("a nudge's count", only("loop.tool_error.nudge", '"streak":3', '"streak":4'), "loop.tool_error.nudge", "counted otherwise"),
    ("a nudge's level", only("loop.tool_error.nudge", '"level":1', '"level":2'), "loop.tool_error.nudge", "another level"),
    ("a nudge that was taken out", lambda l: None if '"type":"loop.tool_error.nudge"' in l else l, "loop.budget", "due after the turn is not said"),
    ("a repeated call's count", only("loop.loop_guard.triggered", '"streak":3', '"streak":5'), "loop.loop_guard.triggered", "counted otherwise"),
    ("a red gate called green", only("verify.end", '"exit_code":1', '"exit_code":0'), "verify.end", "the gate was green"),
    ("a green gate called red", only("verify.end", '"exit_code":0', '"exit_code":1', 1), "verify.end", "the gate was red"),
    ("the verdict", only("run.end", '"verified":"passed"', '"verified":"failed"'), "run.end", "the gate said something else"),
    ("whether all passed", only("run.end", '"all_passed":true', '"all_passed":false'), "run.end", "all passed"),
    ("the exit status", only("run.end", '"exit_code":0', '"exit_code":4'), "run.end", "another exit status"),
    ("the reason, to one that counts", only("run.end", '"reason":"finish_run"', '"reason":"tool_error_stuck"'), "run.end", "no reason to stop yet"),
    ("the reason, to one without a call", only("run.end", '"reason":"finish_run"', '"reason":"silent_finish"'), "run.end", "called something"),
    ("the reason, to none there is", only("run.end", '"reason":"finish_run"', '"reason":"bored"'), "run.end", "no run ends for this reason"),
]


@pytest.mark.parametrize("why, change, kind, what", DECISIONS, ids=[d[0] for d in DECISIONS])
def test_what_the_loop_decided_is_decided_again(lab, why, change, kind, what):
    record = nudged(lab)
    code, rep = replay(lab)
    assert code == 0 and rep["same"], rep
    rewrite(record, change)
    assert lab.agent6("runs", "verify").returncode == 0
    code, rep = replay(lab)
    assert code == 1 and rep["type"] == kind and what in rep["what"], rep


# What the person typed to the plan, what was done to the record, where it is found.
CONSENTS = [
    ("a no called a yes", "n", only("question.answer", '"answers":["n"]', '"answers":["y"]'), "run.end", "the person did not decline the plan"),
    ("a yes called a no", "y", only("question.answer", '"answers":["y"]', '"answers":["n"]'), "step.start", "the person did not say yes to the plan"),
    ("an answer that was taken out", "y", lambda l: None if '"type":"question.answer"' in l else l, "step.start", "the person did not say yes"),
    ("a plan of fewer steps in the question", "y", only("question.prompt", "2 steps. ", "1 step. "), "question.prompt", "asked about another plan"),
    ("another question", "y", only("question.prompt", "Proceed with this plan? (y/n)", "Which colour?"), "question.prompt", "asked about another plan"),
    ("another question to a no", "n", only("question.prompt", "Proceed with this plan? (y/n)", "Which colour?"), "question.prompt", "another plan"),
    ("a question that was taken out", "n", lambda l: None if '"type":"question.' in l else l, "run.end", "the person did not decline the plan"),
]


@pytest.mark.parametrize("why, typed, change, kind, what", CONSENTS, ids=[c[0] for c in CONSENTS])
def test_what_the_person_said_to_the_plan_is_what_the_run_went_by(lab, screen, why, typed, change, kind, what):  # noqa: F811
    lab.repo()
    lab.mock(planned(), extra=IMPLEMENT)
    s = screen("run", "--run-id", "mine", "do it")
    s.until("Proceed with this plan? (y/n)")
    s.keys(typed, "Enter")
    assert s.status() == (0 if typed == "y" else 2), s.text()
    code, rep = replay(lab)
    assert code == 0 and rep["same"], rep
    rewrite(os.path.join(lab.run_dirs()[-1], "record"), change)
    assert lab.agent6("runs", "verify").returncode == 0
    code, rep = replay(lab)
    assert code == 1 and rep["type"] == kind and what in rep["what"], rep


@pytest.mark.parametrize("old, new, what", [('"error_streak":3', '"error_streak":4', "counted otherwise"),
                                             ('"same_call_streak":3', '"same_call_streak":2', "counted otherwise"),
                                             ('"last_verify_ok":', '"last_verify_okay":', "the gate was green")])
def test_a_changed_checkpoint_is_found_by_what_follows_from_it(lab, old, new, what):
    record = nudged(lab)
    path = os.path.join(record, "messages.jsonl")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    assert old in text
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new))
    code, rep = replay(lab)
    assert code == 1 and what in rep["what"], rep


def test_a_gate_whose_runner_is_gone_tells_nothing_the_second_time_either(lab):
    """Red within moments and not of the code: what was known of it stands, and replay knows that."""
    lab.repo(a_DOT_txt="one\n", verify_DOT_sh="test ! -e broken || exec nosuchrunner\n", _DOT_gitignore="broken\n")
    lab.mock(script(turn(call("run_verify_command")), turn(call("run_command", argv=["touch", "broken"])),
                    turn(call("run_verify_command")), finish()), extra='[workflow]\nverify_command = ["sh", "verify.sh"]\n')
    r = lab.run("look")
    assert r.returncode == 0, r.both
    assert [e["exit_code"] for e in lab.events("verify.end")] == [0, 127]
    code, rep = replay(lab)
    assert code == 0 and rep["same"], rep
