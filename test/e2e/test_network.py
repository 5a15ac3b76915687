# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The network's two processes, broker and client, as the agent sees them: through build/net-driver, which
stands in the monitor's and the agent's place. Every server here is a local one."""
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading

import pytest
from netlab import (BUILD, SHARED, KEY, OK, DNS, CONNECT, TIMEOUT, RESET, LIMIT, CANCELLED, NOT_HTTP,
                    REFUSED, SSE, JSON, skip, Driver, Server, answer, always, lines, pki)  # noqa: F401, F811 (pki is a fixture)


# --- the ordinary case ---


def test_a_request_reaches_the_server_with_path_key_and_headers_and_the_answer_comes_back():
    with Server(always(answer(more="Retry-After: 7\r\n"))) as s, Driver(*lines(
            s.port, "query api-version=1&a=%20b", "header anthropic-version: 2023-06-01", "header x-empty:")) as d:
        d.ready()
        a = d.ask(body='{"model":"m"}')
        assert (a.status, a.retry, a.kind, a.outcome, a.body) == (200, 7000, JSON, OK, b'{"ok":true}')
        head, body = s.requests[0]
        assert head.startswith("POST /v1/chat/completions?api-version=1&a=%20b HTTP/1.1\r\n")
        assert body == b'{"model":"m"}'
        names = dict(line.split(":", 1) for line in head.split("\r\n")[1:])
        names = {k.lower(): v.strip() for k, v in names.items()}
        assert names["authorization"] == f"Bearer {KEY}"
        assert names["anthropic-version"] == "2023-06-01" and names["x-empty"] == ""
        assert names["content-type"] == "application/json" and names["host"] == f"127.0.0.1:{s.port}"
        assert "expect" not in names and names["user-agent"].startswith("agent6/")
        m = d.ask("models")
        assert m.outcome == OK and s.requests[1][0].startswith("GET /v1/models?api-version=1&a=%20b HTTP/1.1\r\n")
        assert s.connections == 1, "the connection is kept for the next request"
        assert KEY.encode() not in d.seen


@pytest.mark.parametrize("auth, want", [("bearer", f"authorization: Bearer {KEY}"), ("x", f"x-api-key: {KEY}"),
                                        ("header", f"api-key: {KEY}")])
def test_each_way_of_signing_in(auth, want):
    with Server(always(answer())) as s, Driver(*lines(s.port, f"auth {auth}")) as d:
        d.ready().ask()
        assert want in s.requests[0][0].split("\r\n")


@pytest.mark.parametrize("header, want", [
    ("Retry-After: 3", 3000), ("Retry-After: 1.5", 1500), ("Retry-After: soon", -1), ("Retry-After: -4", 0),
    ("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", 0), ("X-Nothing: 1", -1),
    ("Retry-After: 99999999999999", 86400000), ("retry-after-ms: 250\r\nRetry-After: 1", 250),
])
def test_retry_after_is_understood(header, want):
    with Server(always(answer(status="429 Too Many Requests", more=header + "\r\n"))) as s, \
            Driver(*lines(s.port)) as d:
        a = d.ready().ask()
        assert (a.status, a.retry, a.outcome) == (429, want, OK)


def test_a_stream_arrives_as_it_is_sent():
    go = threading.Event()

    def serve(c, head, body):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n")
        go.wait(300)
        c.sendall(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
        return True

    with Server(serve) as s, Driver(*lines(s.port)) as d:
        n = d.ready().begin()
        d.until(lambda: n in d.answers and d.answers[n].body == b"data: 1\n\n")
        assert d.answers[n].kind == SSE and d.answers[n].outcome is None
        go.set()
        assert d.finish(n).body == b"data: 1\n\ndata: 2\n\n"


# --- where it may go, and where not ---


def test_plain_http_leaves_this_machine_for_nobody():
    with Driver("provider far", "url http://192.0.2.1/v1") as d:
        assert "in the clear" in d.start()


def test_a_redirect_is_an_answer_and_is_not_followed():
    with Server(always(answer())) as other:
        away = f"Location: http://127.0.0.1:{other.port}/\r\n"
        with Server(always(answer(status="307 Temporary Redirect", more=away))) as s, Driver(*lines(s.port)) as d:
            a = d.ready().ask()
            assert (a.status, a.outcome) == (307, OK)
            assert other.connections == 0


@pytest.mark.parametrize("address", ["127.0.0.1", "10.255.255.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
def test_a_name_that_leads_inside_is_not_dialled(tmp_path, address):
    """What a name server could answer: here /etc/hosts says it, in a mount namespace of the test."""
    (tmp_path / "hosts").write_text(f"{address} api.example.com\n")
    under = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--mount")
    under += ("sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(tmp_path / "hosts"))
    if subprocess.run([*under, "true"], capture_output=True).returncode != 0:
        skip("this host lets the test make no mount namespace")
    with Server(always(answer())) as s, \
            Driver(*lines(s.port, scheme="https", host="api.example.com"), under=under) as d:
        a = d.ready().ask()
        assert a.outcome == REFUSED and "api.example.com leads to an address inside" in a.text
        assert s.connections == 0


def test_nothing_of_either_is_left_afterwards():
    with Server(always(answer())) as s:
        with Driver(*lines(s.port), "allow localhost:1", f"allow http://127.0.0.1:{s.port}/mcp") as d:
            client, broker = d.ready().client, d.broker
        for pid in (client, broker):
            assert not os.path.exists(f"/proc/{pid}")


def test_a_broker_that_is_gone_is_named_and_not_the_host():
    with Server(always(answer(), keep=False)) as s, Driver(*lines(s.port)) as d:
        assert d.ready().ask().outcome == OK
        os.kill(d.broker, signal.SIGKILL)
        for _ in range(3):
            a = d.ask()
            assert a.outcome != OK
        assert a.outcome == CONNECT and a.text == "the broker is gone", a.text


def test_both_leave_by_themselves_when_the_monitor_is_gone():
    with Server(always(answer())) as s, Driver(*lines(s.port)) as d:
        d.ready().ask()
        for who in ("client", "broker"):
            d.say(f"hangup {who}")
            d.until(lambda: d.others[-1].startswith("left"))
            assert d.others.pop() == "left 0"


def test_both_processes_are_confined_and_the_client_has_no_network_of_its_own():
    with Server(always(answer())) as s, Driver(*lines(s.port)) as d:
        d.ready().ask()
        for pid in (d.client, d.broker):
            status = open(f"/proc/{pid}/status").read()
            assert "\nSeccomp:\t2\n" in status and "\nNoNewPrivs:\t1\n" in status
            assert re.search(r"\nCapEff:\t0+\n", status)
        if os.geteuid() != 0:  # they are undumpable: what they hold is shown to root alone
            for pid in (d.client, d.broker):
                for name in ("maps", "mem", "environ"):
                    with pytest.raises(PermissionError):
                        open(f"/proc/{pid}/{name}", "rb").close()
            return
        maps = open(f"/proc/{d.broker}/maps").read()
        assert "libnss" not in maps and "libresolv" not in maps
        assert "libssl" not in maps and "libcrypto" not in maps and "libcurl" not in maps
        inet = set()
        for table in ("tcp", "tcp6", "udp", "udp6"):
            inet |= {line.split()[9] for line in open(f"/proc/{d.client}/net/{table}").read().split("\n")[1:-1]}
        for fd in os.listdir(f"/proc/{d.client}/fd"):
            target = os.readlink(f"/proc/{d.client}/fd/{fd}")
            m = re.match(r"socket:\[(\d+)\]", target)
            assert not m or m[1] not in inet


# --- keys ---


def test_a_key_that_the_server_repeats_does_not_reach_the_agent():
    def serve(c, head, body):
        got = re.search(r"authorization: (\S+ \S+)", head)[1]
        text = f'{{"error":"bad key {got}, {got[:-1]}, {KEY[:5]}{KEY}"}}'.encode()
        c.sendall(f"HTTP/1.1 401 No\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode())
        for i in range(len(text)):
            c.sendall(text[i:i + 1])
        return True

    with Server(serve) as s, Driver(*lines(s.port)) as d:
        a = d.ready().ask()
        want = f'{{"error":"bad key Bearer <REDACTED>, Bearer {KEY[:-1]}, {KEY[:5]}<REDACTED>"}}'
        assert a.status == 401 and a.body.decode() == want
        assert KEY.encode() not in d.seen


def test_keys_come_from_the_secrets_file_and_a_missing_one_is_said_with_its_remedy(tmp_path):
    path = tmp_path / "secrets.toml"
    path.write_text(f'[providers.mock]\napi_key = "{KEY}"\n')
    path.chmod(0o600)
    with Server(always(answer())) as s:
        base = ("provider mock", f"url http://127.0.0.1:{s.port}/v1", "auth bearer")
        with Driver(*base, "keyname mock", f"secrets {path}") as d:
            d.ready().ask()
            assert f"authorization: Bearer {KEY}" in s.requests[0][0]
        with Driver(*base, "keyname other", f"secrets {path}") as d:
            line = d.start()
            assert line.startswith("fail ") and "no key for provider mock" in line and "agent6 connect mock" in line
        with Driver(*base, "keyname other", "optional", f"secrets {path}") as d:
            d.ready().ask()
            assert "authorization" not in s.requests[1][0].lower()


# --- failures ---


@pytest.fixture
def dead_port():
    """Nobody listens there, and nobody else can: it is taken."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield s.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_refused_connection_is_named(scheme, pki, dead_port):
    port = dead_port
    with Driver(*lines(port, f"ca {pki}/ca.pem", scheme=scheme)) as d:
        a = d.ready().ask()
        assert a.outcome == CONNECT and a.text == f"connect to 127.0.0.1:{port}: Connection refused"


def test_a_dead_name_is_named():
    with Driver(*lines(443, scheme="https", host="no-such-host.invalid")) as d:
        a = d.ready().ask()
        assert a.outcome == DNS and a.text.startswith("look up no-such-host.invalid: ")


def drop(c, head, body):
    return False


def cut(c, head, body):
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
              b"5\r\nhello\r\n")
    return False


def short(c, head, body):
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
    return False


def reset(c, head, body):
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    return False


@pytest.mark.parametrize("serve, body", [(drop, b""), (cut, b"hello"), (short, b"hello"), (reset, b"")])
def test_a_connection_that_breaks_is_a_reset(serve, body):
    with Server(serve) as s, Driver(*lines(s.port)) as d:
        a = d.ready().ask()
        assert a.outcome == RESET and a.body == body and a.text.startswith("127.0.0.1: ")


def test_a_server_that_does_not_speak_http_is_said_so():
    with Server(always(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", keep=False)) as s, Driver(*lines(s.port)) as d:
        a = d.ready().ask()
        assert a.outcome == NOT_HTTP and a.status is None and "does not speak HTTP" in a.text, a.text


def test_silence_ends_at_the_first_byte_limit_and_between_bytes():
    over = threading.Event()

    def silent(c, head, body):
        over.wait(300)

    def one_byte(c, head, body):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nh")
        over.wait(300)

    with Server(silent) as s, Driver(*lines(s.port, "first_ms 300")) as d:
        a = d.ready().ask()
        assert a.outcome == TIMEOUT and a.text == "127.0.0.1: no answer within 1 s" and a.status is None
    with Server(one_byte) as s, Driver(*lines(s.port, "idle_ms 300")) as d:
        a = d.ready().ask()
        assert a.outcome == TIMEOUT and a.text == "127.0.0.1: nothing more arrived for 1 s" and a.body == b"h"
    over.set()


def test_endless_headers_and_endless_bodies_are_cut():
    def headers(c, head, body):
        c.sendall(b"HTTP/1.1 200 OK\r\n")
        for _ in range(200):
            c.sendall(b"X-Pad: " + b"x" * 1000 + b"\r\n")
        return False

    def body_of(c, head, body):
        c.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"100000\r\n" + b"y" * 0x100000 + b"\r\n"
        for _ in range(80):
            c.sendall(piece)
        return False

    with Server(headers) as s, Driver(*lines(s.port)) as d:
        a = d.ready().ask()
        assert a.outcome == LIMIT and "headers" in a.text
    with Server(body_of) as s, Driver(*lines(s.port)) as d:
        a = d.ready().ask()
        assert a.outcome == LIMIT and "longer than 64 MiB" in a.text
        assert len(a.body) <= 64 << 20


def test_a_server_may_answer_before_it_has_read_everything():
    def early(c, head, body):
        c.sendall(answer(status="413 Too Large"))
        return False

    with Server(early, read_body=False) as s, Driver(*lines(s.port)) as d:
        d.ready().say("big 1 0 20000000")
        a = d.finish(1)
        assert a.status == 413 or a.outcome == RESET


def test_a_large_request_arrives_whole():
    with Server(always(answer())) as s, Driver(*lines(s.port)) as d:
        d.ready().say("big 1 0 20000000")
        assert d.finish(1).outcome == OK and s.requests[0][1] == b"x" * 20000000


# --- the agent's side ---


def test_a_cancelled_request_ends_at_once_and_the_server_sees_it():
    closed, begun = threading.Event(), threading.Event()

    def serve(c, head, body):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nh")
        begun.set()
        if c.recv(1) == b"":
            closed.set()
        return False

    with Server(serve) as s, Driver(*lines(s.port)) as d:
        n = d.ready().begin()
        assert begun.wait(300)
        d.say(f"cancel {n}")
        assert d.finish(n).outcome == CANCELLED
        assert closed.wait(300)
        d.say(f"cancel {n}", "cancel 77")  # crossed the end on its way: no harm



def rss_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1])


def test_when_the_agent_does_not_read_the_server_is_not_read_either():
    total, sent = 32 << 20, [0]

    def serve(c, head, body):
        c.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n\r\n".encode())
        while sent[0] < total:
            c.sendall(b"z" * 65536)
            sent[0] += 65536
        return True

    with Server(serve) as s, Driver(*lines(s.port, "idle_ms 2000")) as d:
        d.ready().say("stall")
        n = d.begin()
        # Looks at a standstill, the first and the last further apart than the idle limit: it is the agent that waits, not the server.
        still, last = 0, -1
        while still < 10:
            select.select([], [], [], 0.25)
            still, last = (still + 1, last) if sent[0] == last and last > 0 else (0, sent[0])
        assert 0 < sent[0] < 16 << 20
        before = rss_kb(d.client)
        d.say("resume")
        a = d.finish(n)
        assert a.outcome == OK and len(a.body) == total and a.body.count(b"z") == total
        with open(os.path.join(BUILD, "agent6-net"), "rb") as f:
            sanitized = b"__asan_init" in f.read()
        if not sanitized:  # which keeps what was freed
            assert rss_kb(d.client) - before < 4096


def test_requests_that_may_not_be_are_refused_with_a_sentence():
    with Server(always(answer())) as s, Driver(*lines(s.port, "models ")) as d:
        d.ready()
        for say, text in (("req 1 9 chat {}", "there is no endpoint 9"), ("req 2 0 7 {}", "there is no route 7"),
                          ("req 3 0 chat", "a chat request has a body"), ("req 4 0 2 {}", "a model listing has none"),
                          ("req 5 0 models", "provider mock has no model listing"),
                          ("open 6 0 chat {}", "the request's body is not a sealed memfd")):
            d.say(say)
            a = d.finish(int(say.split()[1]))
            assert a.outcome == REFUSED and text in a.text and a.status is None
        assert s.connections == 0


def test_the_fifth_request_at_once_is_refused():
    over = threading.Event()

    def serve(c, head, body):
        over.wait(300)
        c.sendall(answer())
        return True

    with Server(serve) as s, Driver(*lines(s.port)) as d:
        d.ready()
        first = [d.begin() for _ in range(4)]
        assert d.ask().outcome == REFUSED
        over.set()
        assert all(d.finish(n).outcome == OK for n in first)
        assert d.ask().outcome == OK


def test_an_agent_that_breaks_the_rules_loses_its_channel():
    for bad in ("raw 9999 00", "raw 61 00", "raw 62 0000", "raw 63 00000000ff"):
        with Server(always(answer())) as s, Driver(*lines(s.port)) as d:
            d.ready().say(bad)
            d.until(lambda: d.gone)
            assert s.connections == 0
    over = threading.Event()
    with Server(lambda c, h, b: over.wait(300)) as s, Driver(*lines(s.port)) as d:
        d.ready().say("req 1 0 chat {}", "req 1 0 chat {}")
        d.until(lambda: d.gone)
    over.set()


def test_the_ceilings_of_a_run_hold():
    with Server(always(answer())) as s, Driver(*lines(s.port), "max_requests 2") as d:
        d.ready()
        assert [d.ask().outcome for _ in range(3)] == [OK, OK, REFUSED]
        assert len(s.requests) == 2
    with Server(always(answer(b"x" * 100000))) as s, Driver(*lines(s.port), "max_bytes 150000") as d:
        d.ready()
        assert d.ask().outcome == OK
        a = d.ask()
        assert a.outcome == LIMIT and "150000 bytes" in a.text
        assert d.ask().outcome == REFUSED
        assert len(s.requests) == 2


# --- without a network ---


def test_a_recording_is_played_answer_by_answer(tmp_path):
    path = tmp_path / "recording"
    path.write_text("agent6-recording 1\n# a demo\n\nanswer 200 text/event-stream\n|data: 1\n|\nwait 20\n|data: 2\n|\n"
                    "answer 429 application/json\n# why\nretry-after 3\n+{}\n"
                    "models 200 application/json\n+{\"data\":[]}\n")
    with Driver("provider demo", "recorded", f"recording {path}") as d:
        d.ready()
        assert d.broker == 0, "no broker where nothing is dialled"
        a = d.ask()
        assert (a.status, a.kind, a.outcome, a.body) == (200, SSE, OK, b"data: 1\n\ndata: 2\n\n")
        assert d.ask("models").body == b'{"data":[]}'
        a = d.ask()
        assert (a.status, a.kind, a.retry, a.body) == (429, JSON, 3000, b"{}")
        a = d.ask()
        assert a.outcome == REFUSED and "no answer left (2 were played)" in a.text


def test_a_damaged_recording_is_refused_at_start(tmp_path):
    path = tmp_path / "recording"
    path.write_text("agent6-recording 1\nanswer 200 x\nwiat 3\n")
    with Driver("provider demo", "recorded", f"recording {path}") as d:
        assert '"wiat" is not one of' in d.start()


def test_a_direct_endpoint_needs_no_broker_and_is_confined_as_well():
    with Server(always(answer())) as s, Driver(*lines(s.port, "direct")) as d:
        d.ready()
        assert d.broker == 0
        assert d.ask().outcome == OK
        assert "\nSeccomp:\t2\n" in open(f"/proc/{d.client}/status").read()


# --- the host's side ---


def test_one_question_from_the_host(dead_port):
    with Server(always(answer(status="401 Unauthorized"))) as s, Driver(*lines(s.port)) as d:
        d.say("get 300000")
        d.until(lambda: d.others)
        assert d.others[-1] == "got 401 2 11"
        assert s.requests[0][0].startswith("GET /v1/models HTTP/1.1")
    with Driver(*lines(dead_port)) as d:
        d.say("get 300000")
        d.until(lambda: d.others)
        assert d.others[-1].startswith("fail remote mock: connect to 127.0.0.1:")
    over = threading.Event()
    with Server(lambda c, h, b: over.wait(300)) as s, Driver(*lines(s.port)) as d:
        d.say("get 500")
        d.until(lambda: d.others)
        assert d.others[-1].startswith("fail timeout mock: ")
    over.set()


# --- a scripted model server, with its own faults ---


@pytest.fixture
def mockllm(tmp_path):
    script = os.path.join(SHARED, "mockllm", "mockllm.py")
    if not os.path.exists(script):
        skip("the scripted model server is not beside the source tree (AGENT6_SHARED)")
    running = []

    def run(scenario, *args):
        (tmp_path / "s.json").write_text(json.dumps(scenario))
        p = subprocess.Popen([sys.executable, script, str(tmp_path / "s.json"), "--port", "0", *args],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        running.append(p)
        return int(re.search(r":(\d+)", p.stdout.readline())[1])

    yield run
    for p in running:
        p.terminate()
        p.wait(300)
        p.stdout.close()


CHAT = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]})


def test_a_scripted_model_answers_byte_by_byte(mockllm):
    port = mockllm({"api_key": KEY, "turns": [
        {"text": "good morning", "wire": {"dribble": {"bytes": 3, "delay_ms": 0, "raw": True}}}]})
    with Driver(*lines(port)) as d:
        a = d.ready().ask(body=CHAT)
        assert (a.status, a.kind, a.outcome) == (200, SSE, OK)
        said = "".join(json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
                       for line in a.body.decode().split("\n") if line.startswith("data: {")
                       if json.loads(line[6:])["choices"])
        assert said == "good morning" and a.body.endswith(b"data: [DONE]\n\n")
