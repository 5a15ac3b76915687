# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""TLS between the client and a server: whom it trusts, several streams on one connection, and a handshake that stalls."""
import os
import select
import socket
import ssl
import subprocess
import threading

import pytest
from netlab import OK, TLS, TIMEOUT, CANCELLED, UNTRUSTED, SSE, skip, Driver, Server, answer, always, lines, pki  # noqa: F401, F811 (pki is a fixture)
from pki import server_of


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


def test_variables_that_the_libraries_would_obey_are_not_handed_on_and_dropped(pki, tmp_path, monkeypatch):
    (tmp_path / "openssl.cnf").write_text("openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nMaxProtocol = TLSv1.1\n")
    monkeypatch.setenv("OPENSSL_CONF", str(tmp_path / "openssl.cnf"))
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    with Server(always(answer()), tls=server_of(pki, "localhost")) as s, \
            Driver(*lines(s.port, f"ca {pki}/ca.pem", scheme="https", host="localhost")) as d:
        assert d.ready().ask().outcome == OK
    assert not os.path.exists(tmp_path / "keys")


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


@pytest.mark.parametrize("name, code, says", [("nothing.pem", "not_found", "nothing.pem"), ("ext", "syntax", "holds no PEM certificates")])
def test_a_bad_ca_file_is_refused_at_start(pki, name, code, says):
    with Driver(*lines(1, f"ca {pki}/{name}", scheme="https")) as d:
        line = d.start()
        assert line.startswith(f"fail {code} ") and says in line and "mock" in line


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


def test_a_tls_handshake_that_stalls_ends_at_the_connect_limit(pki):
    over = threading.Event()

    class Silent(Server):
        def talk(self, c):
            over.wait(300)

    with Silent(None) as s, Driver(*lines(s.port, f"ca {pki}/ca.pem", "connect_ms 300", scheme="https")) as d:
        assert d.ready().ask().outcome == TIMEOUT
    over.set()
