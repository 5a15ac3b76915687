# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Authorities nobody trusts and certificates of theirs.

They hold from years ago to years ahead: a certificate that begins this second is refused for a moment by whoever
verifies it after the machine's clock was set back, as a virtual machine's is when it is set right.
"""
import os
import ssl
import subprocess

from conftest import missing

CONFIG = """[ca]
default_ca = us
[us]
dir = .
new_certs_dir = .
database = index
serial = serial
default_md = sha256
policy = any
email_in_dn = no
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical,CA:true
subjectKeyIdentifier = hash
"""


def openssl(folder, *words):
    """Fails with what openssl said."""
    try:
        made = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        missing("openssl is not installed")
    assert made.returncode == 0, made.stderr


def key_and_request(folder, name):
    openssl(folder, "req", "-config", "config", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.csr")


def signed(folder, name, *by):
    openssl(folder, "ca", "-config", "config", "-batch", "-notext", "-rand_serial", "-startdate", "20200101000000Z", "-enddate",
            "20491231000000Z", "-in", f"{name}.csr", "-out", f"{name}.pem", *by)


def authority(folder, name):
    """NAME.pem and NAME.key in FOLDER."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config"), "w", encoding="ascii") as f:
        f.write(CONFIG)
    with open(os.path.join(folder, "index"), "a", encoding="ascii"):
        pass
    key_and_request(folder, name)
    signed(folder, name, "-selfsign", "-keyfile", f"{name}.key", "-extensions", "authority")


def certificate(folder, ca, name, says):
    """NAME.pem and NAME.key in FOLDER, of the authority CA there, for the names SAYS ("DNS:x,IP:1.2.3.4")."""
    key_and_request(folder, name)
    with open(os.path.join(folder, "ext"), "w", encoding="ascii") as f:
        f.write(f"subjectAltName={says}\n")
    signed(folder, name, "-cert", f"{ca}.pem", "-keyfile", f"{ca}.key", "-extfile", "ext")


def server_of(folder, name):
    """An SSLContext that shows the certificate NAME."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(os.path.join(folder, f"{name}.pem"), os.path.join(folder, f"{name}.key"))
    return tls


def listen_with(tls, server):
    """An http.server speaks TLS; each connection shakes hands in its own thread, so one that says nothing holds up no other."""
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
