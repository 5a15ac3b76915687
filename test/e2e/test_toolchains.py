# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Real toolchains work in the jail as they are, offline: what this machine has is tried through `agent6 exec`.

A row is a project and what a person types; its last line of output is `works`. Rows whose programs are not here are not
collected. A row that takes longer than a few seconds is left out where CI is set.
"""
import base64
import hashlib
import io
import os
import shutil
import subprocess
import zipfile

import pytest

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
              "v/bin/python -c 'import agent6_twice, multiprocessing, ssl, tempfile; "
              "multiprocessing.Lock(); tempfile.TemporaryFile(); print(\"works\" if agent6_twice.twice(1) == 2 else 0)'"),
    dict(name="Node with npm", can=shutil.which("node") and shutil.which("npm"),
         files={"dep/package.json": '{"name": "twice", "version": "1.0.0"}', "dep/index.js": "exports.double = (n) => 2 * n;\n",
                "package.json": '{"name": "p", "version": "1.0.0"}', "t.js": NODE},
         line="npm install --offline --no-audit --no-fund ./dep >/dev/null && node t.js"),
    dict(name="Rust with cargo", can=under_home("cargo", ".rustup") or (shutil.which("cargo") or "").startswith("/usr"),
         home=(".rustup", ".cargo/bin"), files={"Cargo.toml": '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n', "src/main.rs": RUST},
         line="cargo test --offline -q >/dev/null && cargo run --offline -q && echo works"),
    dict(name="Go", can=shutil.which("go"), slow=True, files={"go.mod": "module p\n\ngo 1.18\n", "m.go": "package main\n\nfunc main() { println(\"x\") }\n"},
         line="go vet ./... && go build -o m . && ./m 2>/dev/null && echo works"),
    dict(name="Java", can=shutil.which("javac"), files={"A.java": JAVA}, line="javac A.java && java -Xshare:auto A"),
    dict(name="Maven", can=shutil.which("mvn"), files={}, line="mvn -o -v >/dev/null && echo works"),
    dict(name="headless Chromium", can=chromium(), files={"t.html": "<p id=x></p><script>x.textContent = 'wor' + 'ks'</script>"},
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
    dict(name="a home, caches and memory to share", can=True, files={},
         line="mkdir -p ~/.cache/x ~/.config/y && echo x > ~/.cache/x/f && test \"$(stat -c %a ~)\" = 700 && echo m > /dev/shm/m && "
              "t=$(mktemp) && test -w \"$t\" && LC_ALL=C.UTF-8 locale charmap | grep -q UTF-8 && test -e /etc/resolv.conf && "
              "git config --get-all safe.directory | grep -qx \"$PWD\" && date -d @0 +%Z >/dev/null && getent passwd $(id -u) >/dev/null && "
              "getent hosts localhost >/dev/null && echo works"),
]


@pytest.mark.parametrize("row", [r for r in ROWS if r["can"] and not (r.get("slow") and os.environ.get("CI"))], ids=lambda r: r["name"])
def test_a_toolchain_works_in_the_jail_as_it_is(lab, row):
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
    r = lab.agent6("exec", "--", "sh", "-c", row["line"], timeout=240)
    assert r.returncode == 0 and r.out.split()[-1:] == ["works"], r.both[-3000:]
