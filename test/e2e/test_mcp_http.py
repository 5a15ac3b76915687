# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""MCP servers over HTTP: the agent says method, tool and arguments; the client has the address, the session and the token."""
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess

import pytest

import pki
from conftest import BUILD, alone, call, finish, missing, script, turn
from mcp_http import McpServer
from test_mcp import npm, offered, play, results  # noqa: F401  npm: a fixture
from test_terminal import screen  # noqa: F401  a fixture


@pytest.fixture
def remote():
    opened = []

    def open_one(*how, **kw):
        opened.append(McpServer(*how, **kw))
        return opened[-1]
    yield open_one
    for s in opened:
        s.close()


def config(s, extra=""):
    if "startup_timeout_s" not in extra:
        extra = "startup_timeout_s = 120\n" + extra
    return f'[mcp.far]\nurl = "{s.url}"\n{extra}\n'


@pytest.mark.parametrize("how", [(), ("sse",), ("modern",), ("modern", "sse")])
def test_a_tool_of_a_server_over_http_is_called(lab_of_each_profile, remote, how):
    lab = lab_of_each_profile.repo(a="1\n")
    s = remote(*how)
    mock, r = play(lab, config(s), turn(call("mcp__far__echo", text="hello")), turn(call("mcp__far__fails")))
    assert r.returncode == 0, r.both
    assert offered(mock) == ["mcp__far__echo", "mcp__far__fails"]
    assert results(mock) == [{"content": "hello"}, {"error": "there is none"}], r.both
    methods = [m.get("method") for _, _, m in s.heard]
    assert methods == (["server/discover"] + ([] if "modern" in how else ["initialize", "notifications/initialized"]) +
                       ["tools/list", "tools/call", "tools/call"])
    for headers, path, m in s.heard:
        assert path == "/mcp" and "authorization" not in headers
        assert headers["accept"].replace(" ", "") in ("text/event-stream,application/json", "application/json,text/event-stream")
        if "modern" in how:
            assert headers["mcp-protocol-version"] == "2026-07-28" and headers["mcp-method"] == m["method"]
            assert headers.get("mcp-name") == (m["params"]["name"] if m["method"] == "tools/call" else None)
        elif m["method"] not in ("server/discover", "initialize"):
            assert headers["mcp-protocol-version"] == "2025-06-18" and headers["mcp-session-id"] == "s2"


def test_a_token_goes_to_its_server_and_is_seen_by_nobody_else(lab, remote):
    lab.repo(a="1\n")
    s = remote("locked")
    lab.env["FAR_TOKEN"] = "the-token"
    mock, r = play(lab, config(s, 'api_key_env = "FAR_TOKEN"'), turn(call("mcp__far__echo", text="hello")))
    assert r.returncode == 0, r.both
    assert results(mock) == [{"content": "hello"}], r.both
    for top, _, files in os.walk(lab.run_dirs()[-1]):
        for name in files:
            with open(os.path.join(top, name), "rb") as f:
                assert b"the-token" not in f.read()
    assert b"the-token" not in json.dumps(mock.requests()).encode()
    del lab.env["FAR_TOKEN"]
    r = lab.run()
    assert r.returncode == 0
    assert lab.events("mcp.server_unavailable")[0]["error"] == \
        "the server answered HTTP 401: mcp.far.api_key_env names the variable that holds a token for it"


def test_servers_and_a_provider_may_share_one_token(lab, remote):
    lab.repo(a="1\n")
    one, two = remote("locked"), remote("locked")
    lab.env["MOCK_API_KEY"] = "the-token"  # the provider's
    key = 'api_key_env = "MOCK_API_KEY"'
    mock = lab.mock(script(turn(call("mcp__far__echo", text="one")), turn(call("mcp__two__echo", text="two")), finish()),
                    extra=config(one, key) + config(two, key).replace("mcp.far", "mcp.two"))
    r = lab.run("do it")
    assert r.returncode == 0, r.both
    assert results(mock) == [{"content": "one"}, {"content": "two"}], r.both
    assert lab.events("mcp.server_unavailable") == []


@pytest.mark.parametrize("how,error", [
    ("hang", "no answer within 2 s"), ("broken", "the server answered HTTP 200 without a result"), ("big", "its answer is too long"),
    ("other-id", "the server answered HTTP 200 without a result"),
])
def test_a_call_over_http_that_goes_wrong_is_an_error_for_the_model(lab, remote, how, error):
    lab.repo(a="1\n")
    s = remote(how)
    mock, r = play(lab, config(s, f"call_timeout_s = {2 if how == 'hang' else 120}"), turn(call("mcp__far__echo", text="x")))
    assert r.returncode == 0, r.both
    assert error in results(mock)[0]["error"]
    sent = [m for _, _, m in s.heard]
    asked = [m["id"] for m in sent if m.get("method") == "tools/call"]
    told = [m["params"]["requestId"] for m in sent if m.get("method") == "notifications/cancelled"]
    assert told == (asked if how == "hang" else [])


@pytest.mark.parametrize("how,answer", [
    ("accepted", {"content": "late"}), ("tight", {"content": "tight"}),
    ("refuses", {"error": "mcp__far__echo failed: the server answers: no such note (-32602)"}),
    ("fails-well", {"error": "mcp__far__echo failed: the server answers: out of ink (-32603)"}),
])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_an_answer_counts_whatever_its_status_says(lab, remote, how, answer, era):
    lab.repo(a="1\n")
    mock, r = play(lab, config(remote(how, era)), turn(call("mcp__far__echo", text="x")))
    assert r.returncode == 0, r.both
    assert results(mock) == [answer], r.both


def test_a_refusal_of_what_was_asked_before_a_session_began_ends_none(lab, remote):
    """A slow server of the older era is greeted while the question of the newer one is still open, and refuses that afterwards."""
    lab.repo(a="1\n")
    s = remote("late-no")
    mock, r = play(lab, config(s), turn(call("mcp__far__echo", text="hello")))
    assert r.returncode == 0, r.both
    assert results(mock) == [{"content": "hello"}], r.both
    assert [m.get("method") for _, _, m in s.heard] == ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"]


def test_a_session_that_ended_is_begun_anew_with_the_next_call(lab, remote):
    lab.repo(a="1\n")
    s = remote("forget")
    mock, r = play(lab, config(s), turn(call("mcp__far__echo", text="one")), turn(call("mcp__far__echo", text="two")))
    assert r.returncode == 0, r.both
    assert "HTTP 404" in results(mock)[0]["error"] and results(mock)[1] == {"content": "two"}
    assert [m["method"] for _, _, m in s.heard].count("initialize") == 2


def test_what_a_server_says_by_itself_is_heard_and_its_session_is_ended(lab_of_each_profile, remote):
    lab = lab_of_each_profile.repo(a="1\n")
    s = remote("streams")
    mock, r = play(lab, config(s), turn(call("mcp__far__echo", text="one")), turn(call("mcp__far__echo", text="two")))
    assert r.returncode == 0, r.both
    assert results(mock) == [{"content": "one"}, {"content": "two"}], r.both
    assert len(s.streams) == 1 and len(s.removed) == 1
    for h in (s.streams[0], s.removed[0]):
        assert h["mcp-session-id"] == "s2" and h["mcp-protocol-version"] == "2025-06-18" and "content-length" not in h
    assert s.streams[0]["accept"] == "text/event-stream"
    replies = {m["id"]: m for _, _, m in s.heard if "method" not in m}
    assert replies["s1"]["result"] == {} and replies["s2"]["error"]["code"] == -32601
    assert [e["text"] for e in lab.events("mcp.note")] == ["its tools changed; the model keeps those of the start until the run is resumed"]
    assert s.sessions == set()


def test_a_stream_that_ended_is_opened_with_the_next_call_and_one_that_is_none_is_not(lab, remote):
    lab.repo(a="1\n")
    ends, none = remote("streams-end"), remote("no-end")
    mock, r = play(lab, config(ends) + config(none).replace("mcp.far", "mcp.none"), turn(call("mcp__far__echo", text="one")),
                   turn(call("mcp__none__echo", text="1")), turn(call("mcp__far__echo", text="two")), turn(call("mcp__none__echo", text="2")))
    assert r.returncode == 0, r.both
    assert [x["content"] for x in results(mock)] == ["one", "1", "two", "2"], r.both
    assert len(ends.streams) == 3 and len(none.streams) == 1
    assert len(ends.removed) == 1 and len(none.removed) == 1
    assert lab.events("mcp.ended") == [] and lab.events("mcp.server_unavailable") == []


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_tool_that_wants_headers_is_left_out_by_name_where_they_would_be_wanted(lab, remote, era):
    lab.repo(a="1\n")
    mock, r = play(lab, config(remote("headers", era)), turn(call("mcp__far__echo", text="one")))
    assert r.returncode == 0 and results(mock) == [{"content": "one"}], r.both
    left = lab.events("mcp.ready")[0].get("left_out", [])
    assert left == (["region: it wants arguments as HTTP headers, which agent6 does not send"] if era == "modern" else [])
    assert ("mcp__far__region" in offered(mock)) is (era == "legacy")


def test_a_modern_server_has_no_stream_and_no_session(lab, remote):
    lab.repo(a="1\n")
    s = remote("modern")
    mock, r = play(lab, config(s), turn(call("mcp__far__echo", text="one")))
    assert r.returncode == 0 and results(mock) == [{"content": "one"}]
    assert s.streams == [] and s.removed == []


def test_a_server_that_does_not_part_is_left_all_the_same(lab, remote):
    lab.repo(a="1\n")
    s = remote("stays")
    mock, r = play(lab, config(s), turn(call("mcp__far__echo", text="one")))
    assert r.returncode == 0 and len(s.removed) == 1 and not s.closing.is_set()  # it has still not answered


@pytest.mark.parametrize("how,limit,said", [(("works",), 2, "done"), (("works", "works-for-ever"), 1, "no answer after 1 s (call_timeout_s)")])
def test_a_call_whose_server_tells_how_far_it_is_may_take_ten_times_as_long(lab, remote, how, limit, said):
    lab.repo(a="1\n")
    mock, r = play(lab, config(remote(*how), f"call_timeout_s = {limit}"), turn(call("mcp__far__echo", text="x")))
    assert r.returncode == 0, r.both
    assert said in json.dumps(results(mock)[0])


def test_nobody_is_followed_and_a_server_that_is_not_there_is_said(lab, remote):
    lab.repo(a="1\n")
    s = remote("redirect")
    gone = remote()
    gone.close()
    mock, r = play(lab, config(s) + config(gone).replace("mcp.far", "mcp.gone"), finish())
    assert r.returncode == 0, r.both
    found = {e["server"]: e["error"] for e in lab.events("mcp.server_unavailable")}
    assert "HTTP 307" in found["far"] and "127.0.0.1" in found["gone"]
    assert offered(mock) == []


def test_eight_servers_over_http_start_at_once(lab, remote):
    lab.repo(a="1\n")
    text = "".join(config(remote()).replace("mcp.far", f"mcp.far{i}") for i in range(8))
    mock, r = play(lab, text, turn(call("mcp__far7__echo", text="hello")))
    assert r.returncode == 0, r.both
    assert lab.events("mcp.server_unavailable") == [] and results(mock) == [{"content": "hello"}]
    assert offered(mock) == sorted(f"mcp__far{i}__{tool}" for i in range(8) for tool in ("echo", "fails"))


def test_a_server_that_lets_no_exchange_end_takes_no_place_of_the_model_or_of_another_server(lab, remote):
    lab.repo(a="1\n")
    bad, good = remote("trickle"), remote()
    good.awaits = bad.alone  # its exchanges are cut while the run goes on
    mock, r = play(lab, config(bad, "startup_timeout_s = 2").replace("mcp.far", "mcp.bad") + config(good), turn(call("mcp__far__echo", text="hello")))
    assert r.returncode == 0, r.both
    assert results(mock) == [{"content": "hello"}], r.both
    assert [(e["server"], e["error"]) for e in lab.events("mcp.server_unavailable")] == [("bad", "it does not read what it is sent")]
    assert len([m for _, _, m in bad.heard if "method" not in m]) == 3


@pytest.mark.parametrize("key,works", [("y", True), ("n", False)])
def test_a_person_is_asked_before_a_call_over_http(lab, remote, screen, key, works):
    lab.repo(a="1\n")
    s = remote()
    mock = lab.mock(script(turn(call("mcp__far__echo", text="the words")), finish()), extra=config(s), top='[sandbox]\nrun_commands = "yes"\n')
    t = screen("run", "do it", width=160)
    assert 'Allow the tool "echo" of MCP server far: {"text":"the words"}' in t.until("N never:")
    assert "tools/call" not in [m["method"] for _, _, m in s.heard]
    t.keys(key, "Enter")
    t.status()
    assert results(mock, 1)[-1] == ({"content": "the words"} if works else {"error": "mcp__far__echo was refused: the operator said no"})
    assert ("tools/call" in [m["method"] for _, _, m in s.heard]) is works


def test_a_taken_over_agent_says_nothing_else_to_a_server_over_http(lab, remote):
    evil = os.path.join(BUILD, "agent6-evil")
    if not os.path.exists(evil):
        missing(f"{evil} is not built (meson option tests)")
    lab.repo(a="1\n")
    s = remote()
    mock = lab.mock(script(finish()), extra=config(s), top='[sandbox]\nrun_commands = "yes"\n')
    r = subprocess.run([evil, "run", "evil remote"], cwd=lab.ws, env=lab.env, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
    lines = lab.read("evil.report").splitlines()
    said = dict(l[5:].split(": ", 1) for l in lines if l.startswith("said "))
    assert said["call"] == 'outcome 8 its approval is "ask" and nobody can answer', (lines, r)
    assert said["two messages"] == "outcome 8 the arguments: byte 3: more than one JSON object"
    assert re.fullmatch(r"outcome 8 endpoint \d+ is no model server", said["a body of its own"])
    assert said["the model's endpoint"] == "outcome 8 endpoint 0 is no MCP server"
    assert said["no endpoint"] == "outcome 8 there is no endpoint 77"
    for name in ("a stream with words", "an end with arguments", "a modern end", "a version too far"):
        assert said[name] == "outcome 8 this says nothing, to a server of the older era", name
    assert said["the end of no session"] == "outcome 8 there is no session"
    assert said["a list"].startswith("outcome 0") and s.streams == [] and s.removed == []
    assert "client dropped" in lines
    assert [m["method"] for _, _, m in s.heard] == ["tools/list"] and mock.model_requests() == []


def test_a_taken_over_agent_calls_no_tool_over_http_that_the_operator_left_out(lab, remote):
    evil = os.path.join(BUILD, "agent6-evil")
    if not os.path.exists(evil):
        missing(f"{evil} is not built (meson option tests)")
    lab.repo(a="1\n")
    s = remote()
    lab.mock(script(finish()), extra=config(s, 'approval = "yes"\ntools = ["fails"]'), top='[sandbox]\nrun_commands = "yes"\n')
    r = subprocess.run([evil, "run", "evil remote"], cwd=lab.ws, env=lab.env, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
    lines = lab.read("evil.report").splitlines()
    assert "said call: outcome 8 mcp.far.tools does not name this tool" in lines, (lines, r)
    assert [m["method"] for _, _, m in s.heard] == ["tools/list"]


def test_what_a_taken_over_agent_asks_of_a_server_has_an_end_and_takes_nothing_of_the_models(lab, remote):
    evil = os.path.join(BUILD, "agent6-evil")
    if not os.path.exists(evil):
        missing(f"{evil} is not built (meson option tests)")
    lab.repo(a="1\n")
    s = remote()
    mock = lab.mock(script(finish()), extra=config(s), top='[sandbox]\nrun_commands = "yes"\n[workflow]\nmax_iterations = 0\n')
    subprocess.run([evil, "run", "evil remote-many"], cwd=lab.ws, env=lab.env, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
    said = [l for l in lab.read("evil.report").splitlines() if l.startswith("said ")]
    assert [l.split(": ", 1)[1] for l in said[:200]] == ["outcome 0 "] * 200, said
    assert said[200:202] == ["said one of many: outcome 8 the ceiling of 200 requests for this run is reached"] * 2
    assert said[202].startswith("said to a model: outcome 0") and len(mock.model_requests()) == 1
    assert len(s.heard) == 200


def test_a_number_of_a_call_is_used_once(lab, remote):
    """What the operator said about one call must not be taken for an answer about the next."""
    evil = os.path.join(BUILD, "agent6-evil")
    if not os.path.exists(evil):
        missing(f"{evil} is not built (meson option tests)")
    lab.repo(a="1\n")
    s = remote()
    lab.mock(script(finish()), extra=config(s), top='[sandbox]\nrun_commands = "yes"\n')
    subprocess.run([evil, "run", "evil remote-again"], cwd=lab.ws, env=lab.env, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
    lines = lab.read("evil.report").splitlines()
    assert [l for l in lines if l.startswith("said a list: outcome 0")] and "client dropped" in lines, lines
    assert [m["method"] for _, _, m in s.heard] == ["tools/list"]


def test_connect_asks_at_an_address_and_writes_it_down_only_when_it_works(lab, remote):
    lab.repo(a="1\n")
    lab.config("")
    locked, gone = remote("locked", "streams"), remote()
    gone.close()
    words = ["mcp", "connect", "far", "--url", locked.url]
    r = lab.agent6(*words)
    assert r.returncode == 1 and "HTTP 401" in r.out and "offers no tool and was not written down" in r.err and "--token-env" in r.err, r.both
    r = lab.agent6(*words, "--token-env", "FAR_TOKEN")
    assert r.returncode == 1 and "FAR_TOKEN is not set" in r.err, r.both
    assert "mcp.far" not in lab.agent6("config", "show").out
    lab.env["FAR_TOKEN"] = "the-token"
    r = lab.agent6(*words, "--token-env", "FAR_TOKEN")
    assert r.returncode == 0 and "far  ready, 2 tools, protocol 2025-06-18, each call is asked about" in r.out, r.both
    assert "mcp__far__echo  says it back" in r.out and "the-token" not in r.both
    assert len(locked.removed) == 1 and locked.streams == [], "its session is over, and nobody listened to more"
    assert locked.url in lab.agent6("config", "show", "mcp.far.url").both
    assert lab.agent6("mcp", "connect", "gone", "--url", gone.url).returncode == 1
    assert lab.agent6("mcp", "connect", "gone", "--url", gone.url, "--no-verify").returncode == 0
    r = lab.agent6("mcp", "list")
    assert r.returncode == 0 and "far  ready, 2 tools" in r.out and "gone  not there: " in r.out and "127.0.0.1" in r.out, r.both
    listed = {s["name"]: s for s in json.loads(lab.agent6("mcp", "list", "--json").out)}
    assert listed["far"]["status"] == "ready" and [t["name"] for t in listed["far"]["tools"]] == ["echo", "fails"]
    assert listed["gone"]["status"] == "not there"
    assert [m["method"] for _, _, m in locked.heard if m["method"] == "tools/call"] == []
    for words in (["--url", "http://far.example.com/mcp"], ["--url", "https://e.example", "--", "x"], ["--token-env", "A", "--", "x"]):
        assert lab.agent6("mcp", "connect", "bad", *words).returncode == 2
    assert "mcp.bad" not in lab.agent6("config", "show").out


def unasked_port():
    """A free one for a server that must be told its port, of those that the kernel gives to nobody who leaves the choice to it."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        first = int(f.read().split()[0])
    for port in range(first - 1, 1024, -1):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    return missing("a free port")


def test_the_reference_server_over_http(lab, npm):  # noqa: F811
    """Node's own implementation of the older era: session, stream, progress, and the word that the session is over."""
    lab.repo(a="1\n")
    lab.held.enter_context(alone(os.path.join(npm, "done")))
    port = unasked_port()
    main = os.path.join(npm, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
    log = os.path.join(lab.folder, "everything.log")
    with open(log, "wb") as out:
        node = subprocess.Popen([shutil.which("node"), main, "streamableHttp"], env=dict(lab.env, PORT=str(port)), stdout=out, stderr=out)

    def said(words):
        with open(log, encoding="utf-8", errors="replace") as f:
            return words in f.read()
    try:
        lab.wait_for(lambda: said("listening on port") or node.poll() is not None)
        mock, r = play(lab, f'[mcp.every]\nurl = "http://127.0.0.1:{port}/mcp"\ncall_timeout_s = 3\n',
                       turn(call("mcp__every__echo", message="hello")), turn(call("mcp__every__get-sum", a=2, b=3)),
                       turn(call("mcp__every__trigger-long-running-operation", duration=4, steps=8)))
        assert r.returncode == 0, r.both
        got = [x["content"] for x in results(mock)]
        assert got[0] == "Echo: hello" and "5" in got[1] and "completed" in got[2]
        assert said("Establishing new SSE stream") and said("termination request")
    finally:
        node.kill()
        node.wait()


def test_more_servers_than_a_run_may_have_are_listed_all_the_same(lab, remote):
    lab.repo(a="1\n")
    lab.config("".join(config(remote()).replace("mcp.far", f"mcp.far{i}") for i in range(11)))
    r = lab.agent6("mcp", "list")
    assert r.returncode == 0 and r.out.count("ready, 2 tools") == 11, r.both


def test_where_only_this_machine_may_be_reached_no_other_is_asked(lab):
    lab.repo(a="1\n")
    lab.config('[sandbox]\nagent_network = "local"\n[mcp.far]\nurl = "https://mcp.example.com/mcp"\n')
    r = lab.agent6("mcp", "list")
    assert 'sandbox.agent_network is "local"' in r.out, r.both


def test_a_server_whose_certificate_is_one_s_own_is_trusted_by_its_file_alone(lab, remote):
    lab.repo(a="1\n")
    folder = os.path.join(lab.folder, "cert")
    pki.authority(folder, "ca")
    pki.certificate(folder, "ca", "localhost", "DNS:localhost")
    s = remote("streams", tls=pki.server_of(folder, "localhost"))
    lab.config("")
    r = lab.agent6("mcp", "connect", "far", "--url", s.url)
    assert r.returncode == 1 and "the server's certificate is not accepted" in r.out, r.both
    assert s.heard == []
    r = lab.agent6("mcp", "connect", "far", "--url", s.url, "--ca-file", f"{folder}/ca.pem")
    assert r.returncode == 0 and "far  ready, 2 tools" in r.out, r.both
    mock, r = play(lab, config(s, f'ca_file = "{folder}/ca.pem"'), turn(call("mcp__far__echo", text="hello")))
    assert r.returncode == 0 and results(mock) == [{"content": "hello"}], r.both
    assert len(s.streams) == 1 and len(s.removed) == 2
    shutil.copy(f"{folder}/ca.pem", lab.ws)
    mock, r = play(lab, config(s, f'ca_file = "{lab.ws}/ca.pem"'), turn())
    assert r.returncode != 0 and f"mcp.far: ca_file: {lab.ws}/ca.pem lies in {lab.ws}, where the model may write" in r.both, r.both
    assert lab.agent6("mcp", "connect", "bad", "--ca-file", f"{folder}/ca.pem", "--", "/bin/cat").returncode == 2
