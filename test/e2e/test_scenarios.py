# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The scripted model's own scenarios as whole runs. They name tools as examples; where ours are called otherwise, or a
reply without a call would end the run, the copy made here says what was changed."""
import concurrent.futures
import json
import os

import pytest

from conftest import call, finish, new_lab, shared
from test_run import FIXED, project

WIRES = ["openai", "anthropic", "responses"]


def scenario(name):
    with open(shared("mockllm", "scenarios", name + ".json"), encoding="utf-8") as f:
        return json.load(f)


def answers(lab, kind="role.result"):
    return [e for e in lab.events(kind) if e.get("ok", True)]


@pytest.mark.parametrize("api", WIRES)
def test_fix_bug(lab, api):
    project(lab)
    s = scenario("fix-bug")
    edit = s["turns"][1]["tool_calls"][0]["args"]
    s["turns"][1]["tool_calls"][0]["args"] = {"path": edit.pop("path"), "edits": [edit]}
    if api != "anthropic":  # marks of a cache are that wire's, and Chat's names lie a level deeper
        deeper = {"at": "/tools/*/function/name"} if api == "openai" else {}
        s["turns"][0]["expect"] = [dict(e, **(deeper if e.get("at") == "/tools/*/name" else {}))
                                   for e in s["turns"][0]["expect"] if "cache_control" not in e.get("at", "")]
    m = lab.mock(s, api=api)
    r = lab.run("please fix the bug")
    status, complaints = m.stop()
    assert status == 0, complaints
    assert lab.read("calc.py") == FIXED
    # The model ran the check with run_command and never called the gate, so the end says that nothing was verified.
    assert r.returncode == 4, r.both
    assert lab.events("run.end")[-1]["verified"] == "unverified"


def flaky(api):
    with new_lab() as lab:
        lab.repo(a_DOT_txt="a\n")
        m = lab.mock(scenario("flaky-provider"), api=api)
        r = lab.run("look around", timeout=300)
        status, complaints = m.stop()
        retries = [(e.get("status_code"), e["wait_ms"], e["error"]) for e in lab.events("loop.provider.retry")]
        return r.returncode, r.both, status, complaints, retries, lab.events("run.end")[-1]["reason"], len(answers(lab)), len(m.model_requests())


def test_flaky_provider():
    """Every failure once; all wires at the same time, since most of it is waiting as long as a server asks for."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for code, said, status, complaints, retries, reason, good, asked in pool.map(flaky, WIRES):
            assert status == 0, complaints
            assert code == 0 and reason == "silent_finish", said
            # A kept connection that closes without a byte is tried again by the transport itself, unseen by us.
            assert good == 7 and asked == 15 and len(retries) in (7, 8), (good, asked, retries)
            assert [s for s, _, _ in retries[:4]] == [429, 429, 529, 500]
            assert all(ms >= 1000 for _, ms, _ in retries[:2])  # as Retry-After says


@pytest.mark.parametrize("api", WIRES)
def test_hard_streams(lab, api):
    """Every spelling reads as the same text, and as the same call, which is added here to keep the run going."""
    lab.repo(a_DOT_txt="a\n")
    s = scenario("hard-streams")
    for n, t in enumerate(s["turns"]):
        t["tool_calls"] = [call("grep", pattern=f"Grüße{n}")]
    m = lab.mock(s, api=api)
    r = lab.run("greet")
    assert r.returncode == 0, r.both
    said = [e["text"] for e in answers(lab)]
    assert said[:8] == ["Grüße 🌍 done"] * 8, said
    assert [e["args"]["pattern"] for e in lab.events("tool.call")] == [f"Grüße{n}" for n in range(8)]
    assert m.stop()[0] == 0


def test_openai_quirks(lab):
    """What compatible servers do. A reply that holds no call gets one, as it would end the run."""
    lab.repo(a_DOT_txt="this is a\n", b_DOT_txt="this is b\n")
    s = scenario("openai-quirks")
    for n, t in enumerate(s["turns"]):
        if t["id"] in ("openrouter", "think-tags", "no-usage"):
            t["tool_calls"] = [call("grep", pattern=f"none{n}")]
    s["turns"].append(finish())
    m = lab.mock(s, extra="[budget]\nmax_input_tokens = -1\nmax_output_tokens = -1\nmax_usd = -1\n")
    r = lab.run("read")
    assert r.returncode == 0, r.both
    assert m.stop()[0] == 0
    said = [e.get("text") for e in answers(lab)]
    # Both calls of the first reply ran; each answer went to its own call.
    pairs = m.model_requests()[1]["body"]["messages"]
    names = {c["id"]: json.loads(c["function"]["arguments"])["path"] for p in pairs for c in p.get("tool_calls") or []}
    got = {p["tool_call_id"]: json.loads(p["content"])["content"] for p in pairs if p["role"] == "tool"}
    assert {names[i]: "this is " + names[i][0] in text for i, text in got.items()} == {"a.txt": True, "b.txt": True}
    # Arguments cut in the middle are answered or mended, a call without an id and one written as text are calls.
    reads = [e for e in lab.events("tool.call") if e["name"] == "read_file"]
    assert len(reads) >= 4, reads
    assert "inline" not in " ".join(filter(None, said)) and "<think>" not in " ".join(filter(None, said)), said
    assert lab.events("budget.update")[-1]["usd_total"] >= 0.00042
    assert lab.events("loop.went_quiet.nudge"), "the reply that was cut short was not sent back"


@pytest.mark.parametrize("api", WIRES)
def test_roles(lab, api):
    """Several models behind one server: each is asked by its name, and templates find what a tool just said. The worker
    says that it is done with the tool for it; a bare "Done." would be asked about."""
    lab.repo(a_DOT_txt="a\n")
    s = scenario("roles")
    s["turns"] = [t for t in s["turns"] if t["id"] != "after-error"]  # any result may hold the word "error"
    s["turns"][-1] = finish()
    m = lab.mock(s, api=api, extra='[models.reviewer]\nmodel = "reviewer-1"\n')
    r = lab.run("start a server")
    assert r.returncode == 0, r.both
    assert m.stop()[0] == 0
    called = [e["name"] for e in lab.events("tool.call")]
    assert called == ["run_command", "read_background", "finish_run"], called
    assert all(e["ok"] for e in lab.events("tool.result")), lab.events("tool.result")


@pytest.mark.parametrize("api", WIRES)
def test_big_output(lab, api):
    """8 MB of text, 4 MB of arguments, 2 MB of thought; the file is made with the tool of ours."""
    lab.repo(a_DOT_txt="a\n")
    s = scenario("big-output")
    args = s["turns"][1]["tool_calls"][0]
    content = args["args"]["content"]
    args.update(name="apply_edit", args={"path": "big.txt", "edits": [{"kind": "create", "old_string": "", "new_string": content}]})
    m = lab.mock(s, api=api, extra="[budget]\nmax_input_tokens = -1\nmax_output_tokens = -1\n")
    r = lab.run("write a lot", timeout=300)
    assert r.returncode == 0, r.both[-3000:]
    assert os.path.getsize(os.path.join(lab.ws, "big.txt")) == 4000000
    assert lab.agent6("runs", "verify").returncode == 0
    assert len(r.both) < 20_000_000 and m.stop()[0] == 0


@pytest.mark.parametrize("api", WIRES)
def test_bench_loop_keeps_the_prefix(lab, api):
    """50 cheap turns (another file each time: the same call ten times in a row is stopped, rightly). What was sent
    once is sent again unchanged, so that a server's cache serves it."""
    lab.repo(**{f"a{n}_DOT_txt": "a\n" for n in range(1, 51)})
    s = scenario("bench-loop")
    s["turns"][0]["tool_calls"] = [call("read_file", path="a{{n}}.txt")]
    m = lab.mock(s, api=api)
    r = lab.run("read them all")
    assert r.returncode == 0, r.both
    sent = [q["body"] for q in m.model_requests()]
    assert len(sent) == 51
    said = "input" if api == "responses" else "messages"
    plain = [json.loads(json.dumps(b[said]), object_hook=lambda o: {k: v for k, v in o.items() if k != "cache_control"})
             for b in sent]
    for before, after in zip(plain, plain[1:]):
        assert after[:len(before)] == before
    assert all(b.get("tools") == sent[0].get("tools") and b.get("system") == sent[0].get("system") for b in sent)
    assert m.stop()[0] == 0

