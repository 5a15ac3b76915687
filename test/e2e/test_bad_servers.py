# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Servers that break the rules of HTTP, by the byte: what each can make of the client, which holds the key."""
import gzip
import select
import socket
import struct
import subprocess
import threading

import pytest

from netlab import KEY, LIMIT, NOT_HTTP, OK, RESET, TIMEOUT, UNTRUSTED, Driver, Server, always, answer, lines, pki, skip  # noqa: F401, F811 (pki is a fixture)
from pki import server_of


def chunk(piece):
    return b"%x\r\n" % len(piece) + piece + b"\r\n"


def head(*more, status=b"200 OK"):
    return b"HTTP/1.1 " + status + b"\r\n" + b"".join(m + b"\r\n" for m in more) + b"\r\n"


FIVE = b"Content-Length: 5"
CHUNKED = b"Transfer-Encoding: chunked"
BOMB = gzip.compress(bytes(200 << 20), 9)

# name: what is sent, then outcome, status, body, what is said
ANSWERS = {
    "another protocol": (head(b"Upgrade: x", b"Connection: Upgrade", status=b"101 Switching") + b"hello", NOT_HTTP, None, b"", "has no status"),
    "another protocol, and nothing in it": (head(b"Upgrade: h2c", status=b"101 Switching"), RESET, None, b"", "closed the connection without an answer"),
    "no status": (head(FIVE, status=b"") + b"hello", NOT_HTTP, None, b"", "does not speak HTTP"),
    "status 099": (head(FIVE, status=b"099 X") + b"hello", NOT_HTTP, None, b"", "does not speak HTTP"),
    "a page alone": (b"<html>hello</html>\r\n\r\n", NOT_HTTP, None, b"", "does not speak HTTP"),
    "some interim answers": (head(b"Link: x", status=b"103 Hints") * 3 + head(FIVE) + b"hello", OK, 200, b"hello", ""),
    "endless interim answers": (head(status=b"100 Continue") * 4000 + head(FIVE) + b"hello", LIMIT, None, b"", "headers are longer"),
    "a second head": (head(b"Content-Length: 0") + head(FIVE, status=b"401 No") + b"hello", OK, 200, b"", ""),
    "a head in the trailers": (head(CHUNKED) + chunk(b"hello") + b"0\r\nHTTP/1.1: 401 No\r\nRetry-After: 5\r\n\r\n", OK, 200, b"hello", ""),
    "endless trailers": (head(CHUNKED) + chunk(b"hello") + b"0\r\n" + (b"X: " + b"y" * 1000 + b"\r\n") * 500, LIMIT, 200, b"hello", "headers are longer"),
    "a long line": (head(b"X: " + b"y" * 300000), LIMIT, None, b"", "a header line is too long"),
    "a zero byte": (head(b"X: a\0b", FIVE) + b"hello", NOT_HTTP, None, b"", "does not speak HTTP"),
    "a transfer encoding": (head(b"Transfer-Encoding: gzip, chunked") + chunk(BOMB) + chunk(b""), LIMIT, None, b"", "Transfer-Encoding that nobody asked for"),
    "a transfer encoding, twice over": (head(b"Transfer-Encoding: gzip", CHUNKED) + chunk(BOMB) + chunk(b""), LIMIT, None, b"", "Transfer-Encoding that nobody asked for"),
    "compressed for us": (head(b"Content-Encoding: gzip", b"Content-Length: %d" % len(BOMB)) + BOMB, OK, 200, BOMB, ""),
    "a key for an encoding": (head(b"Transfer-Encoding: " + KEY.encode()) + b"hello", LIMIT, None, b"", "Transfer-Encoding that nobody asked for"),
    "a length below zero": (head(b"Content-Length: -5") + b"hello", NOT_HTTP, None, b"", "does not speak HTTP"),
    "a chunk below zero": (head(CHUNKED) + b"-5\r\nhello\r\n", RESET, 200, b"", "broke while receiving"),
    "a chunk above everything": (head(CHUNKED) + b"F" * 40 + b"\r\nhello\r\n", RESET, 200, b"", "broke while receiving"),
    "where to go, what to keep": (head(b'Alt-Svc: h2="127.0.0.1:1"; ma=9', b"Set-Cookie: a=b", b"Location: file:///etc/passwd", b"Refresh: 0", FIVE) + b"hello",
                                  OK, 200, b"hello", ""),
    "every way to sign in": (head(b"WWW-Authenticate: Negotiate", b"WWW-Authenticate: NTLM", b"WWW-Authenticate: Digest realm=x,nonce=y", FIVE,
                                  status=b"401 No") + b"hello", OK, 401, b"hello", ""),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_server_may_not_say_ends_in_words_and_costs_nothing(name):
    raw, outcome, status, body, said = ANSWERS[name]
    with Server(always(raw, keep=False)) as s, Driver(*lines(s.port, "first_ms 20000", "idle_ms 20000")) as d:
        a = d.ready().ask()
        assert (a.outcome, a.status, bytes(a.body)) == (outcome, status, body) and said in a.text, (a.outcome, a.status, len(a.body), a.text)
        assert KEY not in a.text and s.connections == 1
        with open(f"/proc/{d.client}/status", encoding="ascii") as f:
            rss = int(f.read().split("VmRSS:")[1].split()[0])
        assert rss < 64 * 1024, "nothing was unpacked"
        assert d.ask().outcome == outcome, "and goes on"


def test_a_head_that_drips_gains_no_time():
    over = threading.Event()

    def serve(c, _head, _body):
        c.sendall(b"HTTP/1.1 200 OK\r\n")
        while not over.wait(0.05):
            c.sendall(b"X: y\r\n")

    with Server(serve) as s, Driver(*lines(s.port, "first_ms 700")) as d:
        a = d.ready().ask()
        assert a.outcome == TIMEOUT and a.text == "127.0.0.1: no answer within 1 s" and a.status is None
        over.set()


@pytest.mark.parametrize("how", [(), ("direct",)], ids=["broker", "direct"])
def test_a_connection_that_one_authority_vouched_for_serves_no_endpoint_that_trusts_another(pki, how):
    with Server(always(answer()), tls=server_of(pki, "localhost")) as s, \
            Driver(*lines(s.port, f"ca {pki}/ca.pem", *how, scheme="https", host="localhost"),
                   "provider strict", f"url https://localhost:{s.port}/v1", f"ca {pki}/other.pem", *how) as d:
        d.ready()
        for _ in range(2):
            assert d.ask().outcome == OK
            assert d.ask(endpoint=1).outcome == UNTRUSTED
        assert len(s.requests) == 2


def test_a_proxys_head_is_not_the_answers(pki):
    """With agent_network = open: what the proxy says of its tunnel comes first, and is nobody's answer."""
    with Server(always(answer(status="401 No", more="Retry-After: 3\r\n")), tls=server_of(pki, "localhost")) as s, \
            socket.create_server(("127.0.0.1", 0)) as listener:

        def copy(a, b):
            try:
                while more := a.recv(65536):
                    b.sendall(more)
            except OSError:
                pass

        def serve():
            c, _ = listener.accept()
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += c.recv(4096)
            c.sendall(b"HTTP/1.1 200 Connection established\r\nRetry-After: 77\r\n\r\n")
            with c, socket.create_connection(("127.0.0.1", s.port)) as there:
                threading.Thread(target=copy, args=(c, there), daemon=True).start()
                copy(there, c)

        threading.Thread(target=serve, daemon=True).start()
        with Driver(f"proxy http://127.0.0.1:{listener.getsockname()[1]}",
                    *lines(s.port, f"ca {pki}/ca.pem", "direct", scheme="https", host="localhost")) as d:
            a = d.ready().ask()
            assert (a.outcome, a.status, a.retry) == (OK, 401, 3000), a.text


RENEW = """
const tls = require('tls'), fs = require('fs'), dir = process.argv[1];
const s = tls.createServer({ key: fs.readFileSync(dir + '/localhost.key'), cert: fs.readFileSync(dir + '/localhost.pem'), maxVersion: 'TLSv1.2' }, c => {
  c.on('error', () => console.log('refused'));
  c.once('data', () => {
    c.renegotiate({}, e => console.log(e ? 'refused' : 'renewed'));
  });
});
s.listen(0, '127.0.0.1', () => console.log(s.address().port));
"""


def test_a_server_cannot_have_tls_begin_anew(pki):
    try:
        node = subprocess.Popen(["node", "-e", RENEW, str(pki)], stdout=subprocess.PIPE)
    except FileNotFoundError:
        skip("no node here")
    try:
        port = int(node.stdout.readline())
        with Driver(*lines(port, f"ca {pki}/ca.pem", "first_ms 120000", scheme="https", host="localhost")) as d:
            n = d.ready().begin()
            assert select.select([node.stdout], [], [], 300)[0]
            assert node.stdout.readline() == b"refused\n"
            assert d.finish(n).outcome in (RESET, TIMEOUT)
    finally:
        node.kill()
        node.wait()
        node.stdout.close()


# ---- HTTP/2, frame by frame ----

DATA, HEADERS, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION, UNKNOWN = 0, 1, 3, 4, 5, 6, 7, 8, 9, 0xee
END, WHOLE = 1, 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def field(name, value):
    """A header, unpacked; neither is longer than 126 bytes."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


HELLO = frame(SETTINGS, 0, 0) + frame(SETTINGS, 1, 0)
FINE = frame(HEADERS, WHOLE, 1, b"\x88")  # :status 200
LAST = frame(DATA, END, 1, b"hello")


def word(n):
    return struct.pack("!I", n)


# name: frames, how often the last of them, outcome (older and newer libraries may differ), body
FRAMES = {
    "an answer": ([FINE, LAST], 1, OK, b"hello"),
    "trailers": ([FINE, frame(DATA, 0, 1, b"hello"), frame(HEADERS, WHOLE | END, 1, field(b"retry-after", b"9"))], 1, OK, b"hello"),
    "a stream that is refused": ([frame(RST, 0, 1, word(7))], 1, RESET, b""),
    "a stream that is cancelled midway": ([FINE, frame(DATA, 0, 1, b"hello"), frame(RST, 0, 1, word(8))], 1, RESET, b"hello"),
    "a stream that is reset as if nothing were wrong": ([frame(RST, 0, 1, word(0))], 1, RESET, b""),
    "the last stream was before this one": ([frame(GOAWAY, 0, 0, word(0) + word(0))], 1, RESET, b""),
    "resets without end": ([frame(RST, 0, 1, word(0)) * 1000], 1000, RESET, b""),
    "pings without end": ([frame(PING, 0, 0, b"12345678") * 1000], 1000, RESET, b""),
    "settings without end": ([frame(SETTINGS, 0, 0) * 1000], 1000, RESET, b""),
    "one head without end": ([frame(HEADERS, 0, 1, b"\x88"), frame(CONTINUATION, 0, 1, field(b"x", b"y" * 100)) * 1000], 1000, RESET, b""),
    "one head of nothing without end": ([frame(HEADERS, 0, 1, b"\x88"), frame(CONTINUATION, 0, 1) * 1000], 1000, RESET, b""),
    "interim answers without end": ([frame(HEADERS, WHOLE, 1, b"\x08\x03100") * 1000], 1000, LIMIT, b""),
    "nothing without end": ([FINE, frame(DATA, 0, 1) * 1000], 3000, TIMEOUT, b""),
    "unknown frames without end": ([frame(UNKNOWN, 0, 0, bytes(16000))], 20000, TIMEOUT, b""),
    "no room to ask in": ([frame(SETTINGS, 0, 0, struct.pack("!HI", 4, 0))], 1, TIMEOUT, b""),
    "too much room": ([frame(WINDOW, 0, 1, word(0x7fffffff))], 3, RESET, b""),
    "what was not asked for": ([frame(PUSH, WHOLE, 1, word(2) + b"\x82\x87\x84" + field(b":authority", b"localhost")), FINE, LAST], 1, RESET, b""),
    "another protocol": ([frame(HEADERS, WHOLE, 1, b"\x08\x03101"), LAST], 1, RESET, b""),
    "no status": ([frame(HEADERS, WHOLE, 1, field(b"x", b"y")), LAST], 1, (RESET, NOT_HTTP), b""),
    "a transfer encoding": ([frame(HEADERS, WHOLE, 1, b"\x88" + field(b"transfer-encoding", b"gzip")), LAST], 1, RESET, b""),
    "a body before its head": ([LAST], 1, RESET, b""),
    "a frame that is too large": ([frame(DATA, 0, 1, bytes(70000))], 1, RESET, b""),
}


class Frames(Server):
    """Sends these to whoever asks, whatever they say."""

    def __init__(self, pki, frames, times):
        tls = server_of(pki, "localhost")
        tls.set_alpn_protocols(["h2"])
        self.frames, self.times = frames, times
        super().__init__(None, tls)

    def one(self, c):
        asked = b""
        while b'{"x":1}' not in asked:
            more = c.recv(65536)
            if not more:
                return False
            asked += more
        c.sendall(HELLO + b"".join(self.frames[:-1]))
        for _ in range(self.times):
            c.sendall(self.frames[-1])
        while c.recv(65536):
            pass
        return False


@pytest.mark.parametrize("name", FRAMES)
def test_frames_that_may_not_be_end_in_words_and_cost_nothing(pki, name):
    frames, times, outcome, body = FRAMES[name]
    limit = 2000 if outcome == TIMEOUT else 120000  # where it is no matter of time, no machine is too slow
    with Frames(pki, frames, times) as s, \
            Driver(*lines(s.port, f"ca {pki}/ca.pem", f"first_ms {limit}", f"idle_ms {limit}", scheme="https", host="localhost")) as d:
        a = d.ready().ask()
        assert a.outcome in (outcome if isinstance(outcome, tuple) else (outcome,)) and a.body == body, (a.outcome, a.status, len(a.body), a.text)
        assert a.outcome == OK or a.text.startswith("localhost: "), a.text
        assert s.connections <= 6
        with open(f"/proc/{d.client}/stat", encoding="ascii") as f:
            used = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
        assert used < 200, f"{used} ticks of processor time"
