# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Real toolchains work in the jail as they are, offline: what this machine has is tried through `agent6 exec`.

A row is a project and what a person types; its last line of output is `works`, with namespaces and without, unless it needs what
Landlock alone cannot give (`strict`). Rows whose programs are not here are not collected. A row that takes longer than a few
seconds is left out where CI is set.
"""
import base64
import hashlib
import io
import os
import shutil
import subprocess
import tempfile
import zipfile

import pytest

from conftest import as_hardened

REAL_HOME = os.path.expanduser("~")

CMAKE = """cmake_minimum_required(VERSION 3.10)
project(p CXX)
enable_testing()
add_executable(t t.cpp)
add_test(NAME t COMMAND t)
"""
CPP = """#include <cassert>
#include <iostream>
#include <map>
#include <string>
int main() { std::map<std::string, int> m{{"a", 1}}; assert(m["a"] == 1); std::cout << "fine\\n"; }
"""
NODE = """const { double } = require('twice');
if (double(2) !== 4 || require('os').homedir() === '') process.exit(1);
const w = new (require('worker_threads').Worker)('process.exit(0)', { eval: true });
w.on('exit', (code) => { if (code) process.exit(1); console.log('works'); });
"""
RUST = """fn main() { let v: Vec<u32> = vec![1, 2]; println!("{}", v.iter().sum::<u32>()); }
#[test] fn adds() { assert_eq!(1 + 1, 2); }
"""
JAVA = """import java.nio.file.*;
import java.util.concurrent.*;
public class A { public static void main(String[] a) throws Exception {
  Path p = Files.createTempFile("a", "b"); Files.writeString(p, "works");
  System.out.println(Executors.newFixedThreadPool(2).submit(() -> Files.readString(p)).get()); System.exit(0); } }
"""
# What test suites do to their own processes and their own machine.
SUITE = """import concurrent.futures, ctypes, fcntl, getpass, multiprocessing, os, pwd, select, signal, socket, subprocess, tempfile, threading
from multiprocessing import shared_memory
libc = ctypes.CDLL(None, use_errno=True)

def talk(server, client):
    server.listen()
    client.connect(server.getsockname())
    server.accept()[0].sendall(b'x')
    assert client.recv(1) == b'x'

for family, address in ((socket.AF_INET, ('localhost', 0)), (socket.AF_INET6, ('::1', 0)), (socket.AF_INET, (socket.gethostname(), 0)),
                        (socket.AF_INET, ('', 0)), (socket.AF_UNIX, tempfile.mktemp()), (socket.AF_UNIX, 'own.socket'), (socket.AF_UNIX, '\\0own')):
    s = socket.socket(family)
    s.bind(address)
    talk(s, socket.socket(family))
u = socket.socket(type=socket.SOCK_DGRAM)
u.bind(('127.0.0.1', 0))
socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', u.getsockname())
assert u.recv(1) == b'x'
m = shared_memory.SharedMemory(create=True, size=100)
m.unlink()
assert libc.shmget(0, 4096, 0o1600) >= 0 and libc.semget(0, 1, 0o1600) >= 0
with concurrent.futures.ProcessPoolExecutor(2) as pool:
    assert list(pool.map(abs, [-1, 2])) == [1, 2]
with multiprocessing.Manager() as manager:
    manager.dict()
t = threading.Thread(target=lambda: None)
t.start()
t.join()
subprocess.run(['true'], start_new_session=True, check=True)
subprocess.run(['true'], preexec_fn=os.setpgrp, check=True)
p = subprocess.Popen(['sleep', '60'])
os.kill(p.pid, signal.SIGTERM)
assert p.wait() == -signal.SIGTERM
with open('lock', 'w') as f:
    fcntl.flock(f, fcntl.LOCK_EX)
    fcntl.lockf(f, fcntl.LOCK_EX)
assert libc.inotify_add_watch(libc.inotify_init1(0), b'.', 2) > 0
select.epoll()
os.memfd_create('x')
assert libc.syscall(425, 8, ctypes.create_string_buffer(200)) == -1 and ctypes.get_errno() == 38  # io_uring: not there, as on an old kernel
assert pwd.getpwuid(os.getuid()).pw_name == getpass.getuser() and os.cpu_count() and os.sysconf('SC_PHYS_PAGES') > 0
assert not os.isatty(0) and socket.getfqdn()
os.environ['TZ'] = 'America/New_York'
assert subprocess.run(['date', '-d', '@0', '+%H'], capture_output=True, text=True).stdout.strip() in ('19', '00')
print('works')
"""


def wheel(name):
    """A wheel as an index would have it."""
    bytes_out = io.BytesIO()
    files = {f"{name}.py": "def twice(n):\n    return 2 * n\n",
             f"{name}-1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
             f"{name}-1.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},"
                     f"{len(text)}\n" for path, text in files.items())
    files[f"{name}-1.dist-info/RECORD"] = record + f"{name}-1.dist-info/RECORD,,\n"
    with zipfile.ZipFile(bytes_out, "w") as z:
        for path, text in files.items():
            z.writestr(path, text)
    return bytes_out.getvalue()


def has_venv():
    return subprocess.run(["/usr/bin/python3", "-c", "import ensurepip, venv"], capture_output=True, check=False).returncode == 0


def chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def sanitizes():
    """Whether a program made so runs here at all, without a jail."""
    with tempfile.TemporaryDirectory() as d:
        return bool(shutil.which("cc")) and all(subprocess.run(
            ["sh", "-c", f"echo 'int main(void) {{ return 0; }}' | cc -fsanitize={s} -x c -o {d}/t - && ASAN_OPTIONS=detect_leaks=0 {d}/t"],
            capture_output=True, check=False).returncode == 0 for s in ("undefined", "thread", "address"))


def under_home(program, *parts):
    """The operator's own: a program of theirs, and what it needs of their home."""
    found = shutil.which(program)
    return bool(found) and all(os.access(os.path.join(REAL_HOME, p), os.R_OK) for p in parts)


# name, whether it can be tried here, files, line; home: what of the real home the lab's home leads to
ROWS = [
    dict(name="C with make", can=shutil.which("cc") and shutil.which("make"),
         files={"t.c": "#include <stdio.h>\nint main(void) { puts(\"works\"); }\n", "Makefile": "t: t.c\n\tcc -g -O1 -o t t.c\n"},
         line="make -j2 >/dev/null && ./t"),
    dict(name="C++ with CMake", can=shutil.which("cmake") and shutil.which("c++"), files={"CMakeLists.txt": CMAKE, "t.cpp": CPP},
         line="(cmake -B b && cmake --build b && cd b && ctest) >/dev/null && echo works"),
    dict(name="Python with venv and pip", can=has_venv(), files={"wheels/agent6_twice-1-py3-none-any.whl": wheel("agent6_twice")},
         line="python3 -m venv v && v/bin/pip install -q --no-index --find-links wheels agent6_twice 2>&1 && "
              "v/bin/python -c 'import agent6_twice, ssl, tempfile; "
              "tempfile.TemporaryFile(); print(\"works\" if agent6_twice.twice(1) == 2 else 0)'"),
    dict(name="Node with npm", can=shutil.which("node") and shutil.which("npm"),
         files={"dep/package.json": '{"name": "twice", "version": "1.0.0"}', "dep/index.js": "exports.double = (n) => 2 * n;\n",
                "package.json": '{"name": "p", "version": "1.0.0"}', "t.js": NODE},
         line="npm install --offline --no-audit --no-fund ./dep >/dev/null && node t.js"),
    dict(name="Rust with cargo", can=under_home("cargo", ".rustup") or (shutil.which("cargo") or "").startswith("/usr"),
         home=(".rustup", ".cargo/bin"), files={"Cargo.toml": '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n', "src/main.rs": RUST},
         line="cargo test --offline -q >/dev/null && cargo run --offline -q && echo works"),
    dict(name="Go", can=shutil.which("go"), slow=True, files={"go.mod": "module p\n\ngo 1.18\n", "m.go": "package main\n\nfunc main() { println(\"x\") }\n"},
         line="go vet ./... && go build -o m . && ./m 2>/dev/null && echo works"),
    dict(name="Java", can=shutil.which("javac"), files={"A.java": JAVA}, line="javac A.java && java -Xshare:auto -Djava.io.tmpdir=${TMPDIR:-/tmp} A"),
    dict(name="Maven", can=shutil.which("mvn"), files={}, line="mvn -o -v >/dev/null && echo works"),
    dict(name="headless Chromium", can=chromium(), strict=True, files={"t.html": "<p id=x></p><script>x.textContent = 'wor' + 'ks'</script>"},
         line=f"{chromium()} --headless --no-sandbox --disable-gpu --user-data-dir=$HOME/c --dump-dom file://$PWD/t.html "
              "2>/dev/null | grep -o works"),
    dict(name="Python of a version manager", can=under_home("pyenv", ".pyenv/shims"), home=(".pyenv",), files={},
         line="v=$(pyenv versions --bare | tail -1); PYENV_VERSION=$v python -c 'print(1)' >/dev/null; pyenv root >/dev/null && echo works"),
    # Of the kind of nvm: what is in bin leads to a package beside it.
    dict(name="a program of a version manager", can=True, files={}, home_files={
         ".nvm/versions/node/v9.0.0/lib/node_modules/t/data": "old", ".nvm/versions/node/v10.0.0/lib/node_modules/t/data": "works",
         ".nvm/versions/node/v10.0.0/lib/node_modules/t/cli.sh": "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/data\"\n",
         ".nvm/versions/node/v9.0.0/bin/x": "", ".nvm/secret": "s"},
         home_links={".nvm/versions/node/v10.0.0/bin/t": "../lib/node_modules/t/cli.sh"},
         line="! cat $(dirname $(readlink -f $(which t)))/../../../../../../secret 2>/dev/null && t"),
    # Which of two a person means is what their own PATH says; without that the system's comes first.
    dict(name="a program that the operator's PATH has before the system's", can=True, files={}, first=".local/bin",
         home_files={".local/bin/python3": "#!/bin/sh\necho works\n", ".cargo/bin/python3": "#!/bin/sh\necho other\n"}, line="python3"),
    dict(name="a program that the system has too", can=True, files={}, home_files={".local/bin/cat": "#!/bin/sh\necho other\n"},
         line="echo works | cat"),
    dict(name="sanitizers", can=sanitizes(), files={"t.c": "#include <stdio.h>\nint main(void) { puts(\"works\"); }\n"},
         line="for s in undefined thread address; do cc -g -fsanitize=$s -o t t.c && ASAN_OPTIONS=detect_leaks=0 ./t || exit 1; done"),
    dict(name="a suite that talks to itself", can=True, strict=True, files={"t.py": SUITE}, line="/usr/bin/python3 t.py"),
    dict(name="a home, caches and memory to share", can=True, strict=True, files={},
         line="mkdir -p ~/.cache/x ~/.config/y && echo x > ~/.cache/x/f && test \"$(stat -c %a ~)\" = 700 && echo m > /dev/shm/m && "
              "t=$(mktemp) && test -w \"$t\" && LC_ALL=C.UTF-8 locale charmap | grep -q UTF-8 && test -e /etc/resolv.conf && "
              "git config --get-all safe.directory | grep -qx \"$PWD\" && date -d @0 +%Z >/dev/null && getent passwd $(id -u) >/dev/null && "
              "getent hosts localhost >/dev/null && echo works"),
]


TRIED = [(row, profile) for row in ROWS if row["can"] and not (row.get("slow") and os.environ.get("CI"))
         for profile in ("strict", "hardened") if profile == "strict" or not row.get("strict")]


@pytest.mark.parametrize("row, profile", TRIED, ids=lambda x: x if isinstance(x, str) else x["name"])
def test_a_toolchain_works_in_the_jail_as_it_is(lab, row, profile):
    if profile == "hardened":
        as_hardened(lab)
    lab.config("")
    lab.git("init", "-q")
    for name, body in {**row["files"], **{os.path.join(lab.home, k): v for k, v in row.get("home_files", {}).items()}}.items():
        path = os.path.join(lab.ws, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(body if isinstance(body, bytes) else body.encode())
        os.chmod(path, 0o755)
    links = {name: os.path.join(REAL_HOME, name) for name in row.get("home", ()) if os.path.exists(os.path.join(REAL_HOME, name))}
    for name, target in {**links, **row.get("home_links", {})}.items():
        os.makedirs(os.path.dirname(os.path.join(lab.home, name)), exist_ok=True)
        os.symlink(target, os.path.join(lab.home, name))
    first = os.path.join(lab.home, row["first"]) + ":" if "first" in row else ""
    r = lab.agent6("exec", "--", "sh", "-c", row["line"], timeout=300, env={"PATH": first + lab.env["PATH"]})
    assert r.returncode == 0 and r.out.split()[-1:] == ["works"], r.both[-3000:]
