# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Names are looked up by agent6-resolver, and by nobody else: the real one beside a real name server, the program alone, and
one that was taken over in its place (test/evil/badnames.c)."""
import fcntl
import glob
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

from netlab import BUILD, CONNECT, DNS, DRIVER, OK, REFUSED, Driver, Server, always, answer, lines, skip
from pki import authority, certificate

RESOLVER = os.path.join(BUILD, "agent6-resolver")
HERE = os.path.dirname(os.path.abspath(__file__))
GONE = "the process that looks names up is gone"


# ---- the real one, beside a name server ----

@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    authority(folder, "ca")
    certificate(folder, "ca", "names", "DNS:gpu.internal,DNS:tcp.internal,DNS:file.internal")
    under = ("unshare", "--mount", "--net") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--mount", "--net")
    if subprocess.run([*under, "true"], capture_output=True).returncode != 0:
        skip("this host lets the test make no namespaces")
    return folder, (*under, sys.executable, os.path.join(HERE, "names_world.py"), str(folder))


def far(host, *more, port=8443):
    return ("provider far", f"url https://{host}:{port}/v1", "connect_ms 20000") + more


@pytest.mark.parametrize("host", ["gpu.internal", "tcp.internal", "file.internal"])
def test_a_name_is_looked_up_and_its_server_answers(world, host):
    """By a packet, by a connection since the answer did not fit, and in the file."""
    folder, under = world
    with Driver(*far(host, f"ca {folder}/ca.pem"), under=under) as d:
        d.ready()
        assert d.resolver > 0
        for _ in range(2):
            a = d.ask()
            assert (a.outcome, bytes(a.body)) == (OK, b"here"), a.text


def test_a_client_that_dials_by_itself_looks_names_up_in_threads_of_its_own(world):
    folder, under = world
    with Driver(*far("gpu.internal", f"ca {folder}/ca.pem", "direct"), under=under) as d:
        d.ready()
        assert d.broker == 0
        for _ in range(2):
            a = d.ask()
            assert (a.outcome, bytes(a.body)) == (OK, b"here"), a.text


@pytest.mark.parametrize("host,outcome,said", [
    ("nobody.example.com", DNS, "look up nobody.example.com: Name or service not known"),
    ("broken.example.com", DNS, "look up broken.example.com: Temporary failure in name resolution"),
    ("inside.example.com", REFUSED, "the name inside.example.com leads to an address inside a private network or this machine"),
    ("six.example.com", REFUSED, "the name six.example.com leads to an address inside"),
    ("outside.internal", REFUSED, "the name outside.internal leads to an address inside"),
])
def test_a_name_that_leads_nowhere_or_inside_is_said(world, host, outcome, said):
    with Driver(*far(host), under=world[1]) as d:
        a = d.ready().ask()
        assert a.outcome == outcome and said in a.text, a.text


def test_a_name_is_dialled_at_the_port_of_its_row(world):
    with Driver(*far("gpu.internal", port=8444), under=world[1]) as d:
        a = d.ready().ask()
        assert a.outcome == CONNECT and "connect to gpu.internal:8444: Connection refused" in a.text, a.text


def test_the_modules_of_the_hosts_line_are_loaded_whatever_stands_between_them(world):
    """In time: no file can be mapped once the resolver is confined."""
    with Driver(*far("gpu.internal"), under=world[1]) as d:
        d.ready()
        if os.geteuid() != 0 or not glob.glob("/usr/lib/*/libnss_files.so.2"):  # it cannot be looked into, or its libc needs none
            return
        with open(f"/proc/{d.resolver}/maps", encoding="ascii") as f:
            maps = f.read()
        assert "libnss_files.so.2" in maps and "libnss_dns.so.2" in maps, maps


def test_nobody_looks_up_where_every_host_is_an_address():
    with Server(always(answer())) as s, Driver(*lines(s.port), "allow localhost:1", "allow x.localhost:1", "allow [fd00::1]:1") as d:
        d.ready()
        assert d.resolver == 0 and d.ask().outcome == OK


# ---- the program alone ----

def table(*hosts):
    packed = struct.pack("<I", len(hosts))
    for h in hosts:
        packed += struct.pack("<I", len(h)) + h.encode() + struct.pack("<HBBB", 443, 0, 0, 0)
    fd = os.memfd_create("names", os.MFD_ALLOW_SEALING)
    os.write(fd, packed)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 15)
    return fd


def message(kind, body=b""):
    return struct.pack("<HHIQ", kind, 0, len(body), 0) + body


def take(channel):
    """Type and body of a message; None at the end."""
    got = channel.recv(65536 + 16)
    return (struct.unpack("<H", got[:2])[0], got[16:]) if got else None


class Alone:
    """agent6-resolver between a monitor and a broker that the test plays."""

    def __init__(self, *hosts):
        (self.monitor, m), (self.broker, b) = (socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2))

        def place():
            high = [fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 50) for s in (m, b)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.p = subprocess.Popen([RESOLVER], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, close_fds=False, preexec_fn=place,
                                  env={"RES_OPTIONS": "debug", "SECRET": "x"})
        m.close()
        b.close()
        for s in (self.monitor, self.broker):
            s.settimeout(300)
        fd = table(*hosts)
        socket.send_fds(self.monitor, [message(73)], [fd])
        os.close(fd)

    def __enter__(self):
        assert take(self.monitor) == (74, bytes(9))  # no error, no hint
        return self

    def __exit__(self, *_):
        self.monitor.close()
        self.broker.close()
        self.p.wait(300)

    def ask(self, link, turn, route):
        self.broker.send(message(75, struct.pack("<IIB", link, turn, route)))
        kind, body = take(self.broker)
        assert kind == 76 and len(body) == 152
        link, turn, gai, sys_ = struct.unpack("<IIii", body[:16])
        slots = [body[16 + 17 * i:33 + 17 * i] for i in range(8)]
        return (link, turn), gai, [socket.inet_ntop(*((socket.AF_INET, s[1:5]) if s[0] == 4 else (socket.AF_INET6, s[1:])))
                                   for s in slots if s[0]]


def test_the_resolver_answers_with_addresses_of_the_names_it_was_given():
    with Alone("192.0.2.7", "no-such-host.invalid", "2001:db8::1") as r:
        assert r.ask(5, 9, 0) == ((5, 9), 0, ["192.0.2.7"])
        assert r.ask(63, 0xffffffff, 2) == ((63, 0xffffffff), 0, ["2001:db8::1"])
        who, gai, addresses = r.ask(1, 2, 1)
        assert who == (1, 2) and gai != 0 and addresses == []
        r.broker.close()
        assert r.p.wait(300) == 0
    with Alone("192.0.2.7") as r:
        r.monitor.close()
        assert r.p.wait(300) == 0


@pytest.mark.parametrize("kind,body", [(75, struct.pack("<IIB", 1, 1, 1)), (75, struct.pack("<IIB", 1, 1, 255)), (75, b""),
                                       (75, bytes(8)), (75, bytes(10)), (76, bytes(152)), (73, b""), (9999, b"")])
def test_who_asks_it_for_anything_else_ends_it(kind, body):
    with Alone("192.0.2.7") as r:
        r.broker.send(message(kind, body))
        assert take(r.broker) is None and r.p.wait(300) == 1


def test_the_resolver_is_confined_and_holds_two_channels():
    with Alone("192.0.2.7") as r:
        with open(f"/proc/{r.p.pid}/status", encoding="ascii") as f:
            status = f.read()
        assert "\nSeccomp:\t2\n" in status and "\nNoNewPrivs:\t1\n" in status and "\nThreads:\t1\n" in status
        assert "\nCapEff:\t0000000000000000\n" in status
        if os.geteuid() != 0:  # it cannot be dumped: what it holds is shown to root alone
            with pytest.raises(PermissionError):
                os.listdir(f"/proc/{r.p.pid}/fd")
            return
        fds = {int(n): os.readlink(f"/proc/{r.p.pid}/fd/{n}") for n in os.listdir(f"/proc/{r.p.pid}/fd")}
        assert sorted(fds) == [0, 1, 2, 3, 4] and fds[3].startswith("socket:") and fds[4].startswith("socket:")


# ---- one that was taken over ----

@pytest.fixture(scope="module")
def taken_over(tmp_path_factory):
    """The driver with another resolver beside it."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("net-driver", "agent6-net", "agent6-index"):
        shutil.copy(os.path.join(BUILD, name), folder)
    shutil.copy(os.path.join(BUILD, "badnames"), folder / "agent6-resolver")
    return str(folder / "net-driver")


@pytest.mark.parametrize("how,outcome,said", [
    ("loopback", REFUSED, "leads to an address inside"), ("inside", REFUSED, "leads to an address inside"),
    ("others", DNS, "Name or service not known"), ("flood", DNS, "Name or service not known"),
    ("numbers", DNS, "Unknown error"), ("system", DNS, "Unknown error"), ("none", DNS, "no address"),
])
def test_a_resolver_that_was_taken_over_opens_no_way_inside(taken_over, how, outcome, said):
    with Server(always(answer())) as s, Driver(*far(f"{how}.example.com", port=s.port), program=taken_over) as d:
        a = d.ready().ask()
        assert a.outcome == outcome and said in a.text, a.text
        assert d.ask().outcome == outcome, "and goes on"
        assert s.connections == 0


@pytest.mark.parametrize("how", ["link", "links", "short", "long", "huge", "kind", "descriptor", "type", "bytes", "dies"])
def test_a_resolver_that_breaks_a_rule_is_asked_no_more_and_the_rest_goes_on(taken_over, how):
    host = f"{how}.example.com"
    with Server(always(answer())) as s, Driver(*far(host), *near(s.port), program=taken_over) as d:
        d.ready()
        for _ in range(2):
            a = d.ask()
            assert (a.outcome, a.text) == (DNS, f"look up {host}: {GONE}"), a.text
            assert d.ask(endpoint=1).outcome == OK
        assert s.connections >= 1


def near(port):
    return ("provider near", f"url http://127.0.0.1:{port}/v1")


def test_a_resolver_that_says_nothing_costs_its_names_their_time_and_nobody_else_theirs(taken_over):
    with Server(always(answer())) as s, Driver(*far("silent.example.com", "connect_ms 60000"), *near(s.port), program=taken_over) as d:
        d.ready()
        began = time.monotonic()
        n = d.begin()
        assert d.ask(endpoint=1).outcome == OK
        a = d.finish(n)
        assert a.outcome == DNS and "look up silent.example.com: no answer within 20 s" in a.text, a.text
        assert time.monotonic() - began > 19


def test_a_resolver_that_is_killed_costs_its_names_and_no_connection(world):
    folder, under = world
    with Driver(*far("gpu.internal", f"ca {folder}/ca.pem"), under=under) as d:
        assert d.ready().ask().outcome == OK
        os.kill(d.resolver, signal.SIGKILL)
        d.say("hangup resolver")  # and reaps it
        d.until(lambda: d.others[-1].startswith("left"))
        for _ in range(2):
            a = d.ask()
            assert a.outcome == DNS and f"look up gpu.internal: {GONE}" in a.text, a.text
