# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""names_world FOLDER PROGRAM [WORDS]: a name server on port 53 of this machine and a TLS server at 10.77.0.1:8443, in a network
and with a resolv.conf and hosts of their own (the caller made the namespaces); then it becomes PROGRAM."""
import ctypes
import fcntl
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading

A, AAAA = 1, 28
IN_HERE = "10.77.0.1"
NAMES = {"gpu.internal": (A, IN_HERE), "tcp.internal": (A, IN_HERE), "inside.example.com": (A, "127.0.0.1"),
         "outside.internal": (A, "127.0.0.1"), "six.example.com": (AAAA, "::1")}


def networks():
    """lo is up, and the address of the TLS server is on it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        sockaddr = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(IN_HERE))
        fcntl.ioctl(s, 0x8916, struct.pack("16s16s8x", b"lo:0", sockaddr))  # SIOCSIFADDR
        fcntl.ioctl(s, 0x8914, struct.pack("16sH22x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running


def reply(query, cut):
    """To one question; cut: only that it does not fit."""
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind = struct.unpack("!H", query[at + 1:at + 3])[0]
    name = ".".join(labels).lower()
    known = NAMES.get(name)
    code = 0 if known else 2 if name.startswith("broken.") else 3
    cut = cut and name.startswith("tcp.")
    found = b""
    if known and known[0] == kind and not cut:
        packed = socket.inet_pton(socket.AF_INET if kind == A else socket.AF_INET6, known[1])
        found = struct.pack("!HHHIH", 0xc00c, kind, 1, 60, len(packed)) + packed
    flags = 0x8180 | code | (0x0200 if cut else 0)
    return query[:2] + struct.pack("!HHHHH", flags, 1, 1 if found else 0, 0, 0) + query[12:at + 5] + found


def by_udp(s):
    while True:
        query, who = s.recvfrom(4096)
        s.sendto(reply(query, True), who)


def by_tcp(s):
    while True:
        c, _ = s.accept()
        with c:
            while True:
                n = c.recv(2)
                if len(n) < 2:
                    break
                said = reply(c.recv(struct.unpack("!H", n)[0]), False)
                c.sendall(struct.pack("!H", len(said)) + said)


def by_tls(s, tls):
    while True:
        c, _ = s.accept()
        try:
            with tls.wrap_socket(c, server_side=True) as t:
                data = b""
                while b"{" not in data:
                    data += t.recv(65536)
                t.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhere")
        except OSError:
            pass


def serve(folder, ready):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 53))
    tcp, far = socket.create_server(("127.0.0.1", 53)), socket.create_server((IN_HERE, 8443))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(os.path.join(folder, "names.pem"), os.path.join(folder, "names.key"))
    threads = [threading.Thread(target=t, args=a, daemon=True) for t, a in ((by_udp, (udp,)), (by_tcp, (tcp,)), (by_tls, (far, tls)))]
    for t in threads:
        t.start()
    os.write(ready, b"x")
    os.close(ready)
    threads[0].join()


def main():
    folder, program = sys.argv[1], sys.argv[2:]
    for name, text in (("resolv.conf", "nameserver 127.0.0.1\noptions timeout:5 attempts:1\n"),
                       ("hosts", f"127.0.0.1 localhost\n{IN_HERE} file.internal\n"), ("nsswitch.conf", "passwd: files\nhosts:\tfiles\tdns\n")):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        subprocess.run(["mount", "--bind", path, "/etc/" + name], check=True)
    networks()
    r, w = os.pipe()
    if os.fork() == 0:
        os.close(r)
        for fd in (0, 1):
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
        serve(folder, w)
        os._exit(1)
    os.close(w)
    if os.read(r, 1) != b"x":
        sys.exit("the servers of this world did not start")
    os.execv(program[0], program)


main()
