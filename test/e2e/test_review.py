# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""A panel of reviewers, several asked at the same time."""
import contextlib
import glob
import json
import os
import subprocess
import threading

import pytest

from conftest import AGENT6, call, finish, script, turn, whole_lines
from netlab import Server, answer

PASS = json.dumps({"verdict": "pass", "findings": []})
SEATS = ("security", "correctness", "tests", "edge-cases", "over-engineering")


def block(title="bad"):
    return json.dumps({"verdict": "block", "findings": [
        {"category": "security", "severity": "block", "path": "a.txt", "quote": "two", "title": title}]})


def seat(eye, **more):
    """The answer of the seat whose instructions hold that."""
    return dict({"match": {"system": eye}, "text": PASS}, **more)


def changed(lab):
    lab.repo(**{"a.txt": "one\n"})
    lab.write("a.txt", "two\n")


def seats(n):
    return [w for name in SEATS[:n] for w in ("--seat", name)]


def reviews(lab):
    found = glob.glob(os.path.join(lab.home, ".local", "state", "agent6", "*", "reviews", "*", "record", "logs.jsonl"))
    if not found:
        return []
    return whole_lines(found[-1])


def test_four_seats_are_asked_at_once_and_the_fifth_when_one_is_done(lab):
    changed(lab)
    four, lock, seen = threading.Barrier(4), threading.Lock(), {"asked": 0, "answered": 0, "most": 0}
    said = [{"choices": [{"index": 0, "delta": {"content": PASS}}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    text = "".join(f"data: {json.dumps(dict(s, id='x', object='chat.completion.chunk', created=1, model='mock-model'))}\n\n" for s in said)

    def serve(c, _head, _body):
        """The first four are answered when all four have asked."""
        with lock:
            seen["asked"] += 1
            mine = seen["asked"]
            seen["most"] = max(seen["most"], mine - seen["answered"])
        if mine <= 4:
            four.wait(300)
        with lock:
            seen["answered"] += 1
        c.sendall(answer(text + "data: [DONE]\n\n", kind="text/event-stream"))
        return True

    with Server(serve) as s:
        mock = lab.mock(script(finish()))
        path = os.path.join(lab.home, ".config", "agent6", "config.toml")
        with open(path, encoding="utf-8") as f:
            lab.config(f.read().replace(mock.url, f"http://127.0.0.1:{s.port}"))
        r = lab.agent6("review", *seats(5))
    assert r.returncode == 0, r.both
    assert seen == {"asked": 5, "answered": 5, "most": 4}
    order = [e["persona"] for e in reviews(lab) if e["type"] == "loop.review.seat"]
    assert order == list(SEATS), "what goes on record does so in the order of the seats"
    assert lab.agent6("runs", "verify").returncode == 0
    assert lab.agent6("replay").returncode == 0


# What is typed for --range, which of the commits' lines the diff has to add.
RANGES = [
    ("main..HEAD", {"two", "three"}), ("HEAD~1..", {"three"}), ("HEAD^..HEAD", {"three"}), ("v1..HEAD", {"two", "three"}),
    ("v1^0..HEAD~1", {"two"}), ("main...HEAD", {"two", "three"}), ("other...HEAD", {"two", "three"}), ("HEAD^!", {"three"}),
    ("v1^!", {"one"}), ("@{u}..", {"two", "three"}), ("@~2..@", {"two", "three"}), ("topic@{1}..topic", {"three"}),
    ("HEAD^{/second}..HEAD", {"three"}), ("refs/tags/v1..refs/heads/topic", {"two", "three"}), ("HEAD..HEAD~2", set()),
]


def branches(lab):
    lab.repo(**{"a.txt": "one\n"})
    lab.git("tag", "-am", "the first", "v1")
    lab.git("checkout", "-qb", "other")
    lab.write("o.txt", "other\n")
    lab.git("add", "-A")
    lab.git("commit", "-qm", "beside")
    lab.git("checkout", "-qb", "topic", "main")
    lab.git("branch", "-q", "--set-upstream-to=main")
    for text, subject in (("two", "second"), ("three", "third")):
        lab.write("a.txt", lab.read("a.txt") + text + "\n")
        lab.git("commit", "-qam", subject)


def test_a_range_is_what_git_takes_for_one(lab):
    branches(lab)
    for typed, lines in RANGES:
        mock = lab.mock(script(*[{"text": PASS}] * 2))
        r = lab.agent6("review", "--seat", "security", "--range", typed)
        assert r.returncode == 0, (typed, r.both)
        asked = [json.dumps(q["body"]) for q in mock.model_requests()]
        if not lines:
            assert asked or "nothing to review" in r.both, (typed, r.both)
            continue
        assert len(asked) == 1, (typed, r.both)
        assert {w for w in ("one", "two", "three", "other") if f"\\n+{w}" in asked[0]} == lines, (typed, asked)
    mock = lab.mock(script({"text": PASS}))
    r = lab.agent6("review", "--seat", "security", "--base", "v1", "--head", "HEAD~1")
    assert r.returncode == 0 and "\\n+two" in json.dumps(mock.model_requests()[0]["body"]), r.both


def test_a_range_that_git_is_never_asked_or_does_not_know_is_refused_as_it_was_written(lab):
    branches(lab)
    lab.git("checkout", "-q", "--orphan", "alone")
    lab.git("commit", "-qm", "alone")
    marker = os.path.join(lab.home, "written")
    lab.mock(script({"text": PASS}))
    for typed, says in ((f"--output={marker}..HEAD", "it begins with \"-\""), ("HEAD..--all", "\"--all\" is no revision"), ("main", "\"main\" is not FROM..TO"),
                        ("HEAD:a.txt..HEAD", "it names a file"), ("a\x1b[31mb..HEAD", "control character"), ("a b..HEAD", "it has a blank"),
                        ("^main..HEAD", "it begins with \"^\""), ("a" * 251 + "..", "longer than 250 bytes")):
        r = lab.agent6("review", "--seat", "security", "--range=" + typed)
        assert r.returncode == 2 and says in r.err and "\x1b" not in r.err, (typed, r.both)
        assert reviews(lab) == [] and not os.path.exists(marker), typed
    for typed, says in (("nowhere..HEAD", "\"nowhere\" is no commit here"), ("HEAD~99..", "\"HEAD~99\" is no commit here"),
                        ("main@{u}..", "\"main@{u}\" is no commit here"), ("topic...HEAD", "\"topic\" and \"HEAD\" have no commit in common")):
        r = lab.agent6("review", "--seat", "security", "--range", typed)
        assert r.returncode != 0 and says in r.both, (typed, r.both)


@pytest.mark.parametrize("planted", ["tag", "file", "run"])
def test_a_name_that_is_two_commits_is_no_base(lab, planted):
    """What an earlier run left under the name of a branch is not what a person reviews against."""
    branches(lab)
    name, whole = "other", "refs/heads/other"
    if planted == "tag":
        lab.git("tag", name, "HEAD")
    elif planted == "file":
        with open(os.path.join(lab.ws, ".git", name), "w", encoding="ascii") as f:
            f.write(lab.git("rev-parse", "HEAD"))
    else:
        name, whole = "calm-fox-ABC123", "refs/agent6/calm-fox-ABC123/head"
        lab.git("update-ref", whole, "other")
        lab.git("tag", name, "HEAD")
    lab.mock(script(*[{"text": PASS}] * 3))
    for flags in (["--range", f"{name}~0..HEAD"], ["--base", name], ["--base", "HEAD", "--head", name]):
        r = lab.agent6("review", "--seat", "security", *flags)
        assert r.returncode != 0 and f'"{name}" is more than one commit here: {whole} is' in r.both, (flags, r.both)
    r = lab.agent6("review", "--seat", "security", "--range", f"{whole}..HEAD")
    assert r.returncode == 0, r.both


def test_a_busy_seat_is_asked_again_and_a_refused_one_abstains(lab):
    changed(lab)
    lab.mock(script(
        seat("could use", text=block(), fault={"status": 429, "attempts": 1, "retry_after": 0}),
        seat("does not do", fault={"status": 403}, loop="forever"),
        seat("not tested")))
    r = lab.agent6("review", "--decision", "veto", *seats(3))
    assert r.returncode == 2, r.both
    got = {e["persona"]: e["verdict"] for e in reviews(lab) if e["type"] == "loop.review.seat"}
    assert got == {"security": "block", "correctness": "abstain", "tests": "pass"}
    assert "## correctness: abstains" in r.out
    assert '"verdict"' not in r.both, "nobody reads JSON"
    assert "Verdict: Block" in r.out


def test_all_must_answer_and_be_most_to_block_by_all(lab):
    changed(lab)
    refused = {"fault": {"status": 403}, "loop": "forever"}
    lab.mock(script(seat("could use", text=block()), seat("does not do", **refused), seat("not tested", **refused)))
    r = lab.agent6("review", "--decision", "all", *seats(3))
    assert r.returncode == 0, r.both
    assert "Verdict: Needs changes" in r.out


def test_an_interrupt_gives_up_all_seats_at_once(lab):
    changed(lab)
    mock = lab.mock(script(*[{"text": PASS, "delay_ms": 600000}] * 3))
    p = subprocess.Popen([AGENT6, "review", *seats(3)], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    lab.wait_for(lambda: len([e for e in reviews(lab) if e["type"] == "role.call"]) == 3)
    os.killpg(p.pid, 2)
    lab.wait_for(lambda: p.poll() is not None or any(e["type"] == "run.stop_requested" for e in reviews(lab)))
    with contextlib.suppress(ProcessLookupError):  # one was enough
        os.killpg(p.pid, 2)
    out, _ = p.communicate(timeout=300)
    assert p.returncode == 130, out
    assert [e["reason"] for e in reviews(lab) if e["type"] == "run.end"] == ["interrupted"]
    assert mock.proc.poll() is None


def test_a_budget_that_ends_in_a_panel_ends_the_run_by_that_name(lab):
    lab.repo(**{"a.txt": "one\n"})
    usage = {"input": 10, "output": 500}
    lab.mock(script(turn(call("apply_edit", path="a.txt", edits=[{"old_string": "one", "new_string": "two"}]), usage=usage),
                    dict(finish(), usage=usage)),
             extra='[budget]\nmax_output_tokens = 900\n[review]\ntrigger = "before_finish"\nbudget_fraction = 0.0\n'
                   'seats = ["security", "tests"]\nconcurrency = 2\n')
    r = lab.run()
    assert r.returncode == 3, r.both
    assert lab.events("run.end")[0]["reason"] == "budget_exhausted"
    assert lab.agent6("replay").returncode == 0


def test_a_commit_at_the_edge_of_a_shallow_clone_is_not_judged_as_all_its_files(lab):
    lab.repo(**{"a.txt": "one\n"})
    lab.write("a.txt", "two\n")
    lab.git("commit", "-q", "-a", "-m", "second")
    whole = lab.ws + "-whole"
    os.rename(lab.ws, whole)
    subprocess.run(["git", "clone", "-q", "--depth", "1", "file://" + whole, lab.ws], env=lab.env, check=True)
    mock = lab.mock(script({"text": PASS}, {"text": PASS}))
    r = lab.agent6("review", "--range", "HEAD^!")
    assert r.returncode == 2 and "is not in this shallow clone" in r.both and mock.model_requests() == [], r.both
    lab.git("fetch", "-q", "--unshallow")
    r = lab.agent6("review", "--range", "HEAD^!")
    assert r.returncode == 0 and "+two" in json.dumps(mock.model_requests()[-1]["body"]), r.both
    r = lab.agent6("review", "--range", "HEAD~1^!")  # the first commit there is: nothing came before it
    assert r.returncode == 0, r.both
