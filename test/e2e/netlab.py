# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The driver in the monitor's and the agent's place, local servers, and certificates for them."""
import os
import re
import select
import socket
import subprocess
import threading
import time

import pytest
from pki import authority, certificate


BUILD = os.environ.get("AGENT6_BUILD", "build")
SHARED = os.path.abspath(os.environ.get("AGENT6_SHARED", os.path.join(os.environ.get("AGENT6_SOURCE", "."), "../shared")))
DRIVER = os.path.join(BUILD, "net-driver")
KEY = "sk-test-0123456789abcdef"
OK, DNS, CONNECT, TLS, TIMEOUT, RESET, LIMIT, CANCELLED, REFUSED, UNTRUSTED, NOT_HTTP = range(11)
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
    def __init__(self, *lines, under=(), program=DRIVER):
        env = dict(os.environ, AGENT6_JAIL_BIN="/bin/true")
        self.p = subprocess.Popen([*under, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.pending, self.seen, self.gone = bytearray(), bytearray(), False
        self.answers, self.others, self.lines, self.next = {}, [], [], 1
        self.say(*lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.stdin.close()
        assert self.p.wait(300) == 0
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

    def until(self, test, seconds=300):
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
        _, client, broker, resolver = line.split(" ")
        self.client, self.broker, self.resolver = int(client), int(broker), int(resolver)
        return self

    def begin(self, route="chat", body='{"x":1}', endpoint=0):
        number, self.next = self.next, self.next + 1
        self.say(f"req {number} {endpoint} {route}" + (f" {body}" if route == "chat" else ""))
        return number

    def finish(self, number, seconds=300):
        self.until(lambda: number in self.answers and self.answers[number].outcome is not None, seconds)
        return self.answers[number]

    def ask(self, route="chat", body='{"x":1}', endpoint=0, seconds=300):
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


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    """Two authorities nobody trusts, and certificates of the first for localhost and for another name."""
    d = tmp_path_factory.mktemp("pki")
    authority(d, "ca")
    authority(d, "other")
    certificate(d, "ca", "localhost", "DNS:localhost,IP:127.0.0.1")
    certificate(d, "ca", "wrong", "DNS:wrong.example")
    return d
