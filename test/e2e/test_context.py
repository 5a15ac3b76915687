# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""A compaction that is cut off, on real processes and a real disk."""
import json
import os
import signal
import subprocess

import pytest

from conftest import AGENT6, call, finish, script, turn


def make(n):
    return turn(call("apply_edit", path=f"n{n}", edits=[{"kind": "create", "new_string": f"{n:04} " * 800}]))


def note(text, **more):
    return turn(text=text, match={"last": "Write the note"}, **more)


def long_run(lab, notes, last):
    """Ten turns of words; in between somebody asks for a note, whenever that is."""
    lab.repo()
    return lab.mock(script(*notes, *(make(i) for i in range(10)), *last),
                    top="[context]\nsummarise_at_chars = 30000\nkeep_recent_chars = 5000\n")


def test_a_kill_in_the_middle_of_a_summary_loses_nothing(lab):
    mock = long_run(lab, [note("NOTE of the first try", id="first", delay_ms=600000), note("NOTE of the second try"), note("NOTE of the rest")],
                    [finish()])
    run = subprocess.Popen([AGENT6, "run", "--auto-approve", "make the files"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lab.wait_for(lambda: mock.served()["first"])
    assert lab.events("loop.compact.summarise.call")
    run.send_signal(signal.SIGKILL)
    run.wait()
    r = lab.agent6("resume", "--auto-approve")
    assert r.returncode == 0, r.err
    sent = [json.dumps(q["body"]) for q in mock.model_requests()]
    tried = [i for i, q in enumerate(sent) if "Write the note" in q]
    assert sent[tried[0]] == sent[tried[1]], "the same was not asked again"
    after = sent[tried[1] + 1]
    assert "NOTE of the second try" in after and "NOTE of the first try" not in after
    assert "make the files" in after
    assert [n for n in sorted(os.listdir(lab.ws)) if n[0] == "n"] == [f"n{i}" for i in range(10)]
    assert lab.agent6("runs", "verify").returncode == 0


def test_a_run_is_resumed_from_what_a_compaction_left(lab):
    mock = long_run(lab, [note("NOTE of the model"), note("NOTE of the rest")], [finish(), finish("again")])
    assert lab.run("make the files").returncode == 0
    assert lab.agent6("resume", "--auto-approve", "--steer", "and now").returncode == 0
    first, again = (json.dumps(r["body"]) for r in mock.model_requests()[-2:])
    assert "NOTE of the" in first and "NOTE of the" in again
    assert "0000 0000" not in again and "0009 0009" in again
    assert mock.stop()[0] == 0  # it checks every request as the real server would


@pytest.mark.parametrize("api", ["anthropic", "responses"])
@pytest.mark.parametrize("keep", [0, 2])
def test_old_thoughts_go_with_old_results_when_that_is_wanted(lab, api, keep):
    """Never by themselves, never the newest, and what is left of a message stays as it was."""
    lab.repo(**{f"f{n}_DOT_txt": f"{n}" * 4000 + "\n" for n in range(12)})
    m = lab.mock({"turns": [*[turn(call("read_file", path=f"f{n}.txt"), thinking=f"thought-{n:02}.", text=f"word-{n:02}") for n in range(12)],
                            finish()]},
                 api=api, top=f"[context]\ndrop_at_chars = 20000\nkeep_thinking_turns = {keep}\n")
    r = lab.run("read")
    assert r.returncode == 0, r.both
    assert m.stop()[0] == 0
    bodies = [json.dumps(q["body"]) for q in m.model_requests()]
    events = lab.events("loop.compact.thinking_dropped")
    assert lab.events("loop.compact.dropped") and bool(events) == (keep > 0)
    last = bodies[-1]
    for n in range(12):
        assert f"word-{n:02}" in last
    if api == "anthropic" and keep:
        assert "thought-11." in last and "thought-00." not in last
        assert sum(e["turns"] for e in events) == sum(f"thought-{n:02}." not in last for n in range(12))
    if api == "anthropic" and not keep:
        assert all(f"thought-{n:02}." in last for n in range(12))
    assert lab.agent6("replay", os.path.basename(lab.run_dirs()[-1])).returncode == 0
