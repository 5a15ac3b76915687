# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The broker alone, between a monitor and a client that the test plays: what a client that was taken over can make of it."""
import fcntl
import os
import socket
import struct
import subprocess
import tempfile

import pytest

from netlab import BUILD

AGENT6 = os.path.join(BUILD, "agent6")
ROUTES, READY, DIAL, FAILED = 70, 71, 77, 72


def message(kind, body=b""):
    return struct.pack("<HHIQ", kind, 0, len(body), 0) + body


def take(channel):
    """Type and body of a message; None at the end."""
    try:
        got = channel.recv(65536 + 16)
    except ConnectionResetError:
        got = b""
    return (struct.unpack("<H", got[:2])[0], got[16:]) if got else None


def table(*hosts):
    packed = struct.pack("<I", len(hosts))
    for h in hosts:
        packed += struct.pack("<I", len(h.host)) + h.host + struct.pack("<HBBB", h.port, 1, 0, 0)
    fd = os.memfd_create("routes", os.MFD_ALLOW_SEALING)
    os.write(fd, packed)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 15)
    return fd


class Host:
    """Somebody on this machine's loopback."""
    host = b"127.0.0.1"

    def __init__(self, name):
        self.name = name
        self.s = socket.create_server(("127.0.0.1", 0))
        self.s.settimeout(300)
        self.port = self.s.getsockname()[1]

    def greet(self):
        """Says its name to whoever comes, and hears what they say."""
        c, _ = self.s.accept()
        with c:
            c.settimeout(300)
            c.sendall(self.name)
            return c.recv(100)


class Silent(Host):
    """Nobody's connection is taken: those that came before stand in its way."""

    def __init__(self):
        self.s = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.port = self.s.getsockname()[1]
        self.waiting = []
        while True:
            c = socket.socket()
            self.waiting.append(c)
            c.settimeout(0.3)
            try:
                c.connect(("127.0.0.1", self.port))
            except TimeoutError:
                return


class Unknown(Host):
    """A name that is looked up by somebody who never answers."""
    host = b"unknown.example.com"
    port = 1

    def __init__(self):
        self.s = socket.socket()


class Broker:
    def __init__(self, *hosts):
        (self.monitor, m), (self.client, b), (self.names, r) = (socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(3))

        def place():
            high = fcntl.fcntl(m.fileno(), fcntl.F_DUPFD, 50)
            os.dup2(high, 3)
            os.set_inheritable(3, True)

        self.p = subprocess.Popen([AGENT6, "--role", "broker"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, close_fds=False,
                                  preexec_fn=place)
        m.close()
        for s in (self.monitor, self.client):
            s.settimeout(300)
        fd = table(*hosts)
        asked = any(isinstance(h, Unknown) for h in hosts)
        socket.send_fds(self.monitor, [message(ROUTES)], [fd, b.fileno()] + ([r.fileno()] if asked else []))
        os.close(fd)
        b.close()
        r.close()

    def __enter__(self):
        assert take(self.monitor) == (READY, bytes(9))  # no error, no hint
        return self

    def __exit__(self, *_):
        self.monitor.close()
        self.client.close()
        self.names.close()
        assert self.p.wait(300) == 0

    def dial(self, route, kind=socket.SOCK_STREAM):
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
        socket.send_fds(self.client, [message(DIAL, bytes([route]))], [theirs.fileno()])
        theirs.close()
        ours.settimeout(300)
        return ours


@pytest.fixture
def hosts():
    with_names = [Host(b"zero"), Host(b"one")]
    yield with_names
    for h in with_names:
        h.s.close()


def test_the_number_of_a_row_leads_to_its_host_and_nowhere_else(hosts):
    with Broker(*hosts) as b:
        for n in (1, 0, 1):
            with b.dial(n) as s:
                s.sendall(b"hello")
                assert hosts[n].greet() == b"hello" and s.recv(100) == hosts[n].name
                assert s.recv(100) == b""
        hosts[1].s.close()
        with b.dial(1) as s:
            assert s.recv(100) == b""
        kind, body = take(b.client)
        assert kind == FAILED and body[0] == 1 and b"Connection refused" in body


@pytest.mark.parametrize("what", ["no row", "the last number", "no end", "two ends", "a file", "datagrams", "records", "tcp", "another word",
                                  "too long", "empty", "half a header"])
def test_a_client_that_breaks_a_rule_dials_nothing_more_and_what_is_relayed_goes_on(hosts, what):
    with tempfile.NamedTemporaryFile() as f, Broker(*hosts) as b, b.dial(0) as before:
        c, _ = hosts[0].s.accept()
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        odd = {"datagrams": socket.SOCK_DGRAM, "records": socket.SOCK_SEQPACKET}
        fds = [pair[1].fileno()]
        sent = message(DIAL, b"\0")
        if what == "no row":
            sent = message(DIAL, b"\x02")
        elif what == "the last number":
            sent = message(DIAL, b"\xff")
        elif what == "no end":
            fds = []
        elif what == "two ends":
            fds = fds + [pair[0].fileno()]
        elif what == "a file":
            fds = [f.fileno()]
        elif what in odd:
            pair = socket.socketpair(socket.AF_UNIX, odd[what])
            fds = [pair[1].fileno()]
        elif what == "tcp":
            pair = (socket.create_connection(("127.0.0.1", hosts[1].port)),)
            fds = [pair[0].fileno()]
        elif what == "another word":
            sent = message(FAILED, b"\0\0\0\0\0\0")
        elif what == "too long":
            sent = message(DIAL, bytes(2))
        elif what == "empty":
            sent = message(DIAL)
        else:
            sent = b"\x4d\0\0\0"
        socket.send_fds(b.client, [sent], fds)
        assert take(b.client) is None
        with c:
            c.settimeout(300)
            before.sendall(b"still")
            assert c.recv(100) == b"still"
            c.sendall(b"here")
            assert before.recv(100) == b"here"
        assert b.p.poll() is None
        for s in pair:
            s.close()


def test_an_end_that_blocks_and_is_held_by_the_client_too_holds_up_nobody(hosts):
    with Broker(*hosts) as b:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        socket.send_fds(b.client, [message(DIAL, b"\0")], [theirs.fileno()])
        c, _ = hosts[0].s.accept()
        theirs.setblocking(True)  # of the same description as the broker's
        with ours, theirs, c:
            c.settimeout(300)
            c.setblocking(False)
            n = 0
            try:
                while n < 64 * 1024 * 1024:  # nobody reads ours
                    n += c.send(bytes(65536))
            except BlockingIOError:
                pass
            with b.dial(1) as s:
                s.sendall(b"hello")
                assert hosts[1].greet() == b"hello" and s.recv(100) == b"one"


def test_more_connections_than_it_serves_are_refused_in_words(hosts):
    with Broker(*hosts) as b:
        held = [b.dial(0) for _ in range(65)]
        kind, body = take(b.client)
        assert kind == FAILED and b"more than 64 connections at once" in body
        for s in held:
            s.close()


@pytest.mark.parametrize("far", [Silent, Unknown])
@pytest.mark.parametrize("how", ["close", "close with words on their way", "say all and listen"])
def test_who_goes_away_while_it_is_dialled_for_is_dialled_for_no_more(hosts, far, how):
    far = far()
    with Broker(far, hosts[1]) as b:
        for s in [b.dial(0) for _ in range(64)]:
            if how != "close":
                s.sendall(b"hello")
            if how == "say all and listen":
                s.shutdown(socket.SHUT_WR)
            s.close()
        with b.dial(1) as s:
            s.sendall(b"hello")
            assert hosts[1].greet() == b"hello" and s.recv(100) == b"one"
    far.s.close()


def test_what_is_said_while_it_is_dialled_for_arrives_when_somebody_answers(hosts):
    far = Silent()
    with Broker(far, hosts[1]) as b, b.dial(0) as s:
        s.sendall(b"hello")
        s.shutdown(socket.SHUT_WR)
        with b.dial(1) as other:  # the other one is looked at meanwhile
            other.sendall(b"hello")
            assert hosts[1].greet() == b"hello"
        for c in far.waiting:
            c.close()
        heard = b""
        far.s.settimeout(300)
        while not heard:
            c, _ = far.s.accept()
            with c:
                heard = c.recv(100)
                assert heard in (b"", b"hello")
                if heard:
                    assert c.recv(100) == b""
                    c.sendall(b"yes")
        assert s.recv(100) == b"yes"
    far.s.close()


def test_it_is_confined_and_holds_no_file(hosts):
    with Broker(*hosts) as b:
        with open(f"/proc/{b.p.pid}/status", encoding="ascii") as f:
            status = f.read()
        assert "\nSeccomp:\t2\n" in status and "\nNoNewPrivs:\t1\n" in status and "\nCapEff:\t0000000000000000\n" in status
        if os.geteuid() != 0:  # what it holds is shown to root alone
            with pytest.raises(PermissionError):
                os.listdir(f"/proc/{b.p.pid}/fd")
            return
        links = [os.readlink(f"/proc/{b.p.pid}/fd/{n}") for n in os.listdir(f"/proc/{b.p.pid}/fd") if int(n) > 2]
        assert links and not [l for l in links if l.startswith("/")], links
