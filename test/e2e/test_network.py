# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The network's two processes, broker and client, as the agent sees them: through build/net-driver, which
stands in the monitor's and the agent's place. Every server here is a local one."""
import json
import os
import re
import select
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest

from pki import authority, certificate, server_of

BUILD = os.environ.get("AGENT6_BUILD", "build")
SHARED = os.environ.get("AGENT6_SHARED", os.path.join(os.environ.get("AGENT6_SOURCE", "."), "../shared"))
DRIVER = os.path.join(BUILD, "net-driver")
KEY = "sk-test-0123456789abcdef"
OK, DNS, CONNECT, TLS, TIMEOUT, RESET, LIMIT, CANCELLED, REFUSED, UNTRUSTED = range(10)
OTHER, SSE, JSON = range(3)


def skip(why):
    if os.environ.get("AGENT6_TEST_STRICT") == "1":
        pytest.fail(why)
    pytest.skip(why)


class Answer:
    def __init__(self):
        self.status = self.retry = self.kind = self.outcome = None
        self.text, self.body = "", bytearray()


class Driver:
    def __init__(self, *lines, under=()):
        env = dict(os.environ, AGENT6_JAIL_BIN="/bin/true")
        self.p = subprocess.Popen([*under, DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.pending, self.seen, self.gone = bytearray(), bytearray(), False
        self.answers, self.others, self.lines, self.next = {}, [], [], 1
        self.say(*lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.stdin.close()
        assert self.p.wait(20) == 0
        self.p.stdout.close()

    def say(self, *lines):
        self.p.stdin.write("".join(line + "\n" for line in lines).encode())
        self.p.stdin.flush()

    def step(self, deadline):
        """One line of the driver's; False when the time is over."""
        while not self.lines:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.p.stdout], [], [], left)[0]:
                return False
            more = os.read(self.p.stdout.fileno(), 1 << 20)
            assert more, "the driver is gone"
            self.pending += more
            if b"\n" in more:
                *self.lines, self.pending = self.pending.split(b"\n")
                self.lines.reverse()
        self.take(self.lines.pop().decode())
        return True

    def take(self, line):
        word, _, rest = line.partition(" ")
        if word in ("head", "data", "end"):
            number, _, rest = rest.partition(" ")
            a = self.answers.setdefault(int(number), Answer())
            if word == "head":
                a.status, a.retry, a.kind = map(int, rest.split())
            elif word == "data":
                a.body += bytes.fromhex(rest)
                self.seen += bytes.fromhex(rest)
            else:
                assert a.outcome is None, "a second end"
                outcome, _, a.text = rest.partition(" ")
                a.outcome = int(outcome)
                self.seen += a.text.encode()
        else:
            self.gone |= word == "gone"
            self.others.append(line)

    def until(self, test, seconds=20):
        deadline = time.monotonic() + seconds
        while not test():
            assert self.step(deadline), f"not within {seconds} s: {self.others} {vars_of(self.answers)}"

    def start(self):
        n = len(self.others)
        self.say("start")
        self.until(lambda: len(self.others) > n)
        return self.others[-1]

    def ready(self):
        line = self.start()
        assert line.startswith("ready "), line
        _, client, broker, self.dir = line.split(" ")
        self.client, self.broker = int(client), int(broker)
        return self

    def begin(self, route="chat", body='{"x":1}', endpoint=0):
        number, self.next = self.next, self.next + 1
        self.say(f"req {number} {endpoint} {route}" + (f" {body}" if route == "chat" else ""))
        return number

    def finish(self, number, seconds=20):
        self.until(lambda: number in self.answers and self.answers[number].outcome is not None, seconds)
        return self.answers[number]

    def ask(self, route="chat", body='{"x":1}', endpoint=0, seconds=20):
        return self.finish(self.begin(route, body, endpoint), seconds)


def vars_of(answers):
    return {k: {**vars(a), "body": len(a.body)} for k, a in answers.items()}


class Server:
    """Accepts on loopback and hands each connection, its request read, to `serve(connection, head, body)`."""

    def __init__(self, serve, tls=None, read_body=True):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.serve, self.tls, self.read_body = serve, tls, read_body
        self.requests, self.connections, self.over = [], 0, threading.Event()
        threading.Thread(target=self.loop, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.listener.close()

    def loop(self):
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.talk, args=(c,), daemon=True).start()

    def talk(self, c):
        try:
            if self.tls:
                c = self.tls.wrap_socket(c, server_side=True)
            with c:
                while self.one(c):
                    pass
        except OSError:
            pass

    def one(self, c):
        data = b""
        while b"\r\n\r\n" not in data:
            more = c.recv(65536)
            if not more:
                return False
            data += more
        head, body = data.split(b"\r\n\r\n", 1)
        want = re.search(rb"(?i)content-length: (\d+)", head)
        while self.read_body and want and len(body) < int(want[1]):
            body += c.recv(65536)
        self.requests.append((head.decode(), body))
        return self.serve(c, head.decode(), body)


def answer(text=b'{"ok":true}', status="200 OK", kind="application/json", more=""):
    if isinstance(text, str):
        text = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n{more}\r\n"
    return head.encode() + text


def always(reply, keep=True):
    def serve(c, head, body):
        c.sendall(reply)
        return keep
    return serve


def lines(port, *more, scheme="http", host="127.0.0.1"):
    return ("provider mock", f"url {scheme}://{host}:{port}/v1", "auth bearer", f"key {KEY}") + more


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
        go.wait(20)
        c.sendall(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
        return True

    with Server(serve) as s, Driver(*lines(s.port)) as d:
        n = d.ready().begin()
        d.until(lambda: n in d.answers and d.answers[n].body == b"data: 1\n\n")
        assert d.answers[n].kind == SSE and d.answers[n].outcome is None
        go.set()
        assert d.finish(n).body == b"data: 1\n\ndata: 2\n\n"


# --- TLS ---


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    """Two authorities nobody trusts, and certificates of the first for localhost and for another name."""
    d = tmp_path_factory.mktemp("pki")
    authority(d, "ca")
    authority(d, "other")
    certificate(d, "ca", "localhost", "DNS:localhost,IP:127.0.0.1")
    certificate(d, "ca", "wrong", "DNS:wrong.example")
    return d


def test_tls_with_an_own_authority_works_and_connections_are_reused(pki):
    with Server(always(answer()), tls=server_of(pki, "localhost")) as s, \
            Driver(*lines(s.port, f"ca {pki}/ca.pem", scheme="https", host="localhost")) as d:
        d.ready()
        for _ in range(3):
            assert d.ask().outcome == OK
        assert s.connections == 1


def test_a_stream_over_tls_arrives_byte_by_byte(pki):
    def serve(c, head, body):
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in b"data: good morning\n\n":
            c.sendall(b"1\r\n" + bytes([byte]) + b"\r\n")
        c.sendall(b"0\r\n\r\n")
        return True

    with Server(serve, tls=server_of(pki, "localhost")) as s, \
            Driver(*lines(s.port, f"ca {pki}/ca.pem", scheme="https", host="localhost")) as d:
        a = d.ready().ask()
        assert (a.outcome, a.kind, a.body) == (OK, SSE, b"data: good morning\n\n")


def test_tls_to_an_address_works(pki):
    with Server(always(answer()), tls=server_of(pki, "localhost")) as s, \
            Driver(*lines(s.port, f"ca {pki}/ca.pem", scheme="https")) as d:
        assert d.ready().ask().outcome == OK


@pytest.mark.parametrize("cert, ca", [("wrong", "ca"), ("localhost", "other"), ("localhost", None)])
def test_tls_is_refused_for_a_wrong_name_and_an_unknown_authority(pki, cert, ca):
    if ca is None and not os.path.exists("/etc/ssl/certs/ca-certificates.crt"):
        skip("no system certificates here")
    more = (f"ca {pki}/{ca}.pem",) if ca else ()
    with Server(always(answer()), tls=server_of(pki, cert)) as s, \
            Driver(*lines(s.port, *more, scheme="https", host="localhost")) as d:
        a = d.ready().ask()
        assert a.outcome == UNTRUSTED and a.status is None
        assert a.text.startswith("localhost: the server's certificate is not accepted (")
        assert not s.requests, "nothing was sent"


def test_a_server_that_does_not_speak_tls_is_a_tls_failure(pki):
    with Server(always(b"HTTP/1.1 400 Bad\r\n\r\n", keep=False), read_body=False) as s, \
            Driver(*lines(s.port, f"ca {pki}/ca.pem", "connect_ms 500", scheme="https", host="localhost")) as d:
        a = d.ready().ask()
        assert a.outcome in (TLS, TIMEOUT) and a.text.startswith("localhost: ")


@pytest.mark.parametrize("name, says", [("nothing.pem", "nothing.pem"), ("ext", "holds no PEM certificates")])
def test_a_bad_ca_file_is_refused_at_start(pki, name, says):
    with Driver(*lines(1, f"ca {pki}/{name}", scheme="https")) as d:
        line = d.start()
        assert line.startswith("fail remote ") and says in line and "mock" in line


def test_old_tls_is_refused(pki):
    ctx = server_of(pki, "localhost")
    ctx.minimum_version = ssl.TLSVersion.TLSv1
    ctx.maximum_version = ssl.TLSVersion.TLSv1_1
    ctx.set_ciphers("ALL:@SECLEVEL=0")
    with Server(always(answer()), tls=ctx) as s, \
            Driver(*lines(s.port, f"ca {pki}/ca.pem", scheme="https", host="localhost")) as d:
        assert d.ready().ask().outcome == TLS


H2 = """
const h2 = require('http2'), fs = require('fs'), dir = process.argv[1];
const s = h2.createSecureServer({ key: fs.readFileSync(dir + '/localhost.key'), cert: fs.readFileSync(dir + '/localhost.pem') });
let sessions = 0, waiting = [];
s.on('session', () => sessions++);
s.on('stream', (stream, head) => {
  let n = 0;
  stream.on('data', d => n += d.length);
  stream.on('error', () => {});
  stream.on('close', () => console.log('closed ' + n + ' ' + stream.rstCode));
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    stream.write('data: ' + n + ' of session ' + sessions + '\\n\\n');
    if (n === 7) return;                                    /* this one never ends */
    waiting.push(stream);
    if (waiting.length < 2) return;
    for (const w of waiting) w.end('data: end\\n\\n');       /* so both are open at once */
    waiting = [];
  });
});
s.listen(0, '127.0.0.1', () => console.log(s.address().port));
"""


def test_http2_carries_several_streams_on_one_connection_and_survives_a_cancel(pki):
    try:
        node = subprocess.Popen(["node", "-e", H2, str(pki)], stdout=subprocess.PIPE)
    except FileNotFoundError:
        skip("no node here")
    try:
        port = int(node.stdout.readline())
        with Driver(*lines(port, f"ca {pki}/ca.pem", scheme="https", host="localhost")) as d:
            d.ready()
            endless = d.begin(body="x" * 7)
            d.until(lambda: endless in d.answers and d.answers[endless].body)
            both = [d.begin(body="x" * n) for n in (10, 200000)]
            for n, size in zip(both, (10, 200000)):
                a = d.finish(n)
                assert (a.status, a.kind, a.outcome) == (200, SSE, OK)
                assert a.body.decode() == f"data: {size} of session 1\n\ndata: end\n\n"
            d.say(f"cancel {endless}")
            assert d.finish(endless).outcome == CANCELLED
            said = ""
            while "closed 7 " not in said:
                assert select.select([node.stdout], [], [], 20)[0], "the server was not told of the cancel"
                said += os.read(node.stdout.fileno(), 4096).decode()
            again = [d.begin(body="x" * n) for n in (1, 2)]
            assert all(d.finish(n).outcome == OK for n in again)
    finally:
        node.kill()
        node.wait()
        node.stdout.close()


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


def test_the_sockets_are_private_and_exactly_the_table_and_gone_afterwards():
    with Server(always(answer())) as s:
        with Driver(*lines(s.port), "allow localhost:1", f"allow http://127.0.0.1:{s.port}/mcp") as d:
            d.ready()
            assert os.stat(d.dir).st_mode & 0o777 == 0o700
            assert {n for n in os.listdir(d.dir) if n != "notes"} == {"r0", "r1"}
            client, broker, where = d.client, d.broker, d.dir
        for pid in (client, broker):
            assert not os.path.exists(f"/proc/{pid}")
        assert not os.path.exists(where)


def test_both_leave_by_themselves_when_the_monitor_is_gone_and_the_broker_takes_its_sockets_along():
    with Server(always(answer())) as s, Driver(*lines(s.port)) as d:
        d.ready().ask()
        for who in ("client", "broker"):
            d.say(f"hangup {who}")
            d.until(lambda: d.others[-1].startswith("left"))
            assert d.others.pop() == "left 0"
        assert os.listdir(d.dir) == []


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


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_refused_connection_is_named(scheme, pki):
    port = free_port()
    with Driver(*lines(port, f"ca {pki}/ca.pem", scheme=scheme)) as d:
        a = d.ready().ask()
        assert a.outcome == CONNECT and a.text == f"connect to 127.0.0.1:{port}: Connection refused"


def test_a_dead_name_is_named():
    with Driver(*lines(443, scheme="https", host="no-such-host.invalid")) as d:
        a = d.ready().ask(seconds=30)
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
        assert a.outcome not in (OK, None) and a.status is None


def test_silence_ends_at_the_first_byte_limit_and_between_bytes():
    over = threading.Event()

    def silent(c, head, body):
        over.wait(20)

    def one_byte(c, head, body):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nh")
        over.wait(20)

    with Server(silent) as s, Driver(*lines(s.port, "first_ms 300")) as d:
        a = d.ready().ask()
        assert a.outcome == TIMEOUT and a.text == "127.0.0.1: no answer within 1 s" and a.status is None
    with Server(one_byte) as s, Driver(*lines(s.port, "idle_ms 300")) as d:
        a = d.ready().ask()
        assert a.outcome == TIMEOUT and a.text == "127.0.0.1: nothing more arrived for 1 s" and a.body == b"h"
    over.set()


def test_a_tls_handshake_that_stalls_ends_at_the_connect_limit(pki):
    over = threading.Event()

    class Silent(Server):
        def talk(self, c):
            over.wait(20)

    with Silent(None) as s, Driver(*lines(s.port, f"ca {pki}/ca.pem", "connect_ms 300", scheme="https")) as d:
        assert d.ready().ask().outcome == TIMEOUT
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
        a = d.ready().ask(seconds=60)
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
        assert begun.wait(20)
        d.say(f"cancel {n}")
        assert d.finish(n).outcome == CANCELLED
        assert closed.wait(20)
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

    with Server(serve) as s, Driver(*lines(s.port, "idle_ms 400")) as d:
        d.ready().say("stall")
        n = d.begin()
        # Two looks at a standstill, further apart than the idle limit: it is the agent that waits, not the server.
        still, last = 0, -1
        while still < 4:
            select.select([], [], [], 0.25)
            still, last = (still + 1, last) if sent[0] == last and last > 0 else (0, sent[0])
        assert 0 < sent[0] < 16 << 20
        before = rss_kb(d.client)
        d.say("resume")
        a = d.finish(n, 60)
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
                          ("req 5 0 models", "provider mock has no model listing")):
            d.say(say)
            a = d.finish(int(say.split()[1]))
            assert a.outcome == REFUSED and text in a.text and a.status is None
        assert s.connections == 0


def test_the_fifth_request_at_once_is_refused():
    over = threading.Event()

    def serve(c, head, body):
        over.wait(20)
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
    with Server(lambda c, h, b: over.wait(20)) as s, Driver(*lines(s.port)) as d:
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
        assert d.broker == 0 and d.dir == "", "no broker where nothing is dialled"
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


def test_one_question_from_the_host():
    with Server(always(answer(status="401 Unauthorized"))) as s, Driver(*lines(s.port)) as d:
        d.say("get 10000")
        d.until(lambda: d.others)
        assert d.others[-1] == "got 401 2 11"
        assert s.requests[0][0].startswith("GET /v1/models HTTP/1.1")
    with Driver(*lines(free_port())) as d:
        d.say("get 10000")
        d.until(lambda: d.others)
        assert d.others[-1].startswith("fail remote mock: connect to 127.0.0.1:")
    over = threading.Event()
    with Server(lambda c, h, b: over.wait(20)) as s, Driver(*lines(s.port)) as d:
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
        p.wait(20)
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
