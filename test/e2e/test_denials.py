# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Denials explain themselves: real failures of real programs in one run, and what the result says about each.

What the jail refused names its rule and the key that decides; an ordinary failure, however alike, says nothing.
"""
import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import AGENT6, as_hardened, call, finish, script, turn

PY = ["/usr/bin/python3", "-c"]
READ, WRITE, GIT, NET, HIDE, NO_KEY, NOTHING = ("sandbox.extra_read_paths", "sandbox.extra_write_paths", "sandbox.protect_git",
                                                "sandbox.tool_network", "sandbox.hide_paths", "nothing allows", None)


def sh(line):
    return ["sh", "-c", line]


def leaks():
    """Whether a program looks for leaks at its end here, without a jail."""
    with tempfile.TemporaryDirectory() as d:
        return bool(shutil.which("cc")) and subprocess.run(
            sh(f"echo 'int main(void) {{ return 0; }}' | cc -fsanitize=address -x c -o {d}/t - && {d}/t"), capture_output=True, check=False).returncode == 0


# What is run, what its explanation names; `beside` is a directory next to the workspace, `granted` one that may be read.
TABLE = [
    # the jail
    (sh("cat ../beside/file"), READ),
    (sh("ls {home}/.ssh"), READ),
    (["cp", "{home}/data.csv", "here.csv"], READ),
    ([*PY, "open('{home}/data.csv')"], READ),
    (sh("echo x > ../beside/new"), READ),
    (["touch", "../beside/new"], READ),
    (["mkdir", "-p", "/opt/agent6-nothing/x"], WRITE),
    (["cp", "a.txt", "{home}/granted/b.txt"], WRITE),
    ([*PY, "open('{home}/granted/new', 'w')"], WRITE),
    (sh("echo x > /etc/agent6-x"), "part of the system"),
    ([*PY, "import os; os.mkdir('/usr/lib/agent6-x')"], "part of the system"),
    (["install", "-m", "755", "a.txt", "/usr/local/bin/agent6-x"], "part of the system"),
    (["git", "commit", "--allow-empty", "-m", "x"], GIT),
    (["git", "add", "a.txt"], GIT),
    (["git", "checkout", "-b", "x"], GIT),
    (["git", "config", "user.name", "x"], GIT),
    (sh("echo x >> .git/config"), GIT),
    (["git", "tag", "v1"], GIT),
    (["git", "fetch", "."], GIT),
    (["git", "reset", "--hard"], GIT),
    (["git", "-c", "user.name=x", "-c", "user.email=x@x", "notes", "add", "-m", "x"], GIT),  # names no path
    (["git", "hash-object", "-w", "script.sh"], GIT),
    (["git", "branch", "-m", "main", "y"], GIT),  # a path below .git
    (["git", "remote", "remove", "near"], GIT),  # no reason
    (sh("echo two > a.txt; git stash"), GIT),  # no word at all
    (sh("cd . && git -C . stash push -q -m x"), GIT),
    (["mv", ".git", "x"], GIT),
    (["rmdir", ".git"], GIT),
    (["chmod", "700", ".git"], GIT),
    (["rm", "-rf", ".git"], GIT),
    ([*PY, "import os; os.rename('.git', 'x')"], GIT),
    ([*PY, "import shutil; shutil.rmtree('.git')"], GIT),
    (["mv", "secret", "x"], HIDE),
    (["cat", "secret/key"], HIDE),
    (sh("echo x > secret/new"), HIDE),
    ([*PY, "import urllib.request as u; u.urlopen('https://example.com', timeout=5)"], NET),
    ([*PY, "import socket; socket.create_connection(('1.1.1.1', 443), 5)"], NET),
    ([*PY, "import socket; socket.create_connection(('2606:4700::1111', 443), 5)"], NET),
    (["git", "clone", "https://example.com/x.git", "y"], NET),
    ([*PY, "import socket; socket.create_connection(('localhost', 5432), 5)"], NET),
    ([*PY, "import asyncio; asyncio.run(asyncio.open_connection('localhost', 9))"], "no command of this run listens there"),
    *([(["curl", "-sS", "http://localhost:9"], "no command of this run listens there"), (["curl", "-s", "http://localhost:9"], NET),
       (["curl", "-sS", "http://10.0.0.5:9"], "commands reach no network"), (["curl", "-s", "http://example.com"], "commands reach no network")]
      if shutil.which("curl") else []),
    (["mount", "-t", "tmpfs", "x", "/mnt"], NO_KEY),
    (["unshare", "-Ur", "true"], NO_KEY),
    ([*PY, "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"], NO_KEY),
    (["mknod", "dev", "c", "1", "3"], NO_KEY),
    (["/usr/sbin/chroot", ".", "true"], NO_KEY),
    (["chmod", "u+s", "a.txt"], NO_KEY),
    (["chown", "1", "a.txt"], NO_KEY),
    (sh("kill -9 1"), NO_KEY),
    (sh("echo 1 > /proc/sys/vm/drop_caches"), "the kernel's"),
    (["dd", "if=/dev/zero", "of=/dev/sda", "count=1"], "few devices"),
    (["cat", "/etc/fstab"], READ),
    (sh("cd {home}/.ssh"), READ),
    (["date", "-s", "2020-01-01"], NO_KEY),
    (sh("ulimit -n 999999999"), NO_KEY),
    (["dmesg"], NO_KEY),
    # its error output put into its standard output
    (sh("cat {home}/data.csv 2>&1"), READ),
    (sh("(echo building; touch ../beside/new; echo 'make: *** [x] Error 1'; exit 2) 2>&1"), READ),
    (sh("(cat {home}/data.csv; echo a; echo b; echo c; exit 1) 2>&1"), NOTHING),  # no failing suite's middle
    (sh("cat missing 2>&1"), NOTHING),
    # what a runtime prints after its error
    *([(["node", "-e", "require('fs').readFileSync('{home}/data.csv')"], READ), (["node", "-e", "require('fs').renameSync('.git', 'x')"], GIT),
       (["node", "-e", "require('net').connect(9, '127.0.0.1')"], "no command of this run listens there"),
       (["node", "-e", "require('fs').readFileSync('missing')"], NOTHING), (["node", "-e", "require('net').connect('missing.sock')"], NOTHING)]
      if shutil.which("node") else []),
    # it gave up by a signal, or was ended by one for what it called
    *([(sh("printf '%s\\n' '#include <filesystem>' 'int main() { std::filesystem::create_directory(\"/opt/x/y\"); }' >f.cc && "
           "c++ -std=c++17 -o f f.cc && exec ./f"), READ),
       (sh("printf '%s\\n' '#include <cstdlib>' 'int main() { abort(); }' >f.cc && c++ -o f f.cc && exec ./f"), NOTHING)]
      if shutil.which("c++") else []),
    *([(sh("echo 'int main(void) { int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return 0; }' | cc -x c -o old - && exec ./old"),
        "another architecture")] if shutil.which("cc") and platform.machine() == "x86_64" else []),
    # ordinary failures
    (["git", "log", "no-such-branch"], NOTHING),
    (["git", "diff", "--exit-code", "--", "a.txt"], NOTHING),
    (["git", "grep", "nothing-like-this"], NOTHING),
    (["git", "stash", "pop"], NOTHING),
    (sh("git stash list | grep x"), NOTHING),
    (["grep", "-r", "git stash", "script.sh"], NOTHING),
    (["grep", "-q", "nothing-like-this", "a.txt"], NOTHING),
    (["make", "no-such-target"], NOTHING),
    ([*PY, "assert 1 == 2, 'wrong'"], NOTHING),
    ([*PY, "raise MemoryError"], NOTHING),  # no limit is set
    ([*PY, "bytearray(10 ** 15)"], NOTHING),
    ([*PY, "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/tmp/none')"], NOTHING),
    (["mv", "no-such-file", ".git-x"], NOTHING),
    *([(sh("echo 'int main( {' | cc -x c -"), NOTHING), (sh("echo 'int f(void); int main(void) { return f(); }' | cc -x c -"), NOTHING)]
      if shutil.which("cc") else []),
    (["kill", "999999999"], NOTHING),
    (["cat", "/dev/shm/missing"], NOTHING),
    (["cat", "missing"], NOTHING),
    (["cat", "/nonexistent/x"], NOTHING),
    (["cat", "/usr/share/nothing-here"], NOTHING),
    (["no-such-program"], NOTHING),
    (sh("mkdir -p locked; chmod 0 locked; ls locked"), NOTHING),
    (sh("echo x > own; chmod 0 own; cat own"), NOTHING),
    ([*PY, "import os; os.chmod('own', 0); open('own')"], NOTHING),
    (sh("chmod 644 script.sh; ./script.sh"), NOTHING),
    (sh("mkdir -p ro; chmod 555 ro; echo x > ro/f"), NOTHING),
    (sh("echo x > /tmp; true; ls /tmp/missing"), NOTHING),
    (["cat", "/sys/devices/system/cpu/online"], "is in /sys"),
    (sh("mkdir -p own-repo && cd own-repo && git init -q && git commit -q --allow-empty -m x"), "no .gitconfig of a home"),
    *([(sh("echo 'int main(void) { return 0; }' | cc -x c -o /opt/x -"), READ),
       (sh("echo 'int main(void) { return 0; }' | cc -x c -o missing/x -"), NOTHING)] if shutil.which("cc") else []),
    *([(["strace", "true"], "trace no process")] if shutil.which("strace") else []),
    *([(sh("echo 'int main(void) { return 0; }' | cc -fsanitize=address -x c -o asan - && ./asan"), "detect_leaks=0")] if leaks() else []),
    (sh("mkdir -p sub/.git; chmod 0 sub/.git; cat sub/.git/config"), NOTHING),
    (["git", "show", "no-such-rev"], NOTHING),
    (["git", "diff", "--exit-code", "HEAD", "--", "a.txt", "no-such-path"], NOTHING),
    (sh("exit 3"), NOTHING),
    (sh("echo 'Permission denied' >&2; exit 1"), NOTHING),
    (sh("echo 'test: saw EACCES for /home/u/x as it should' >&2; echo 'FAILED other' >&2; echo x >&2; echo y >&2; exit 1"), NOTHING),
    ([*PY, "import signal, os; os.kill(os.getpid(), signal.SIGSEGV)"], NOTHING),
    ([*PY, "import os; os.kill(99999999, 9)"], NOTHING),
    ([*PY, "import os; os.setpriority(os.PRIO_PROCESS, 0, -5)"], NOTHING),
    ([*PY, "import socket; s = socket.socket(); s.bind(('127.0.0.1', 99999))"], NOTHING),
    ([*PY, "raise ConnectionRefusedError('a test double refused')"], NOTHING),
    ([*PY, "import socket; a = socket.socket(); a.bind(('127.0.0.1', 0)); p = a.getsockname()[1]; a.close(); "
      "socket.create_connection(('127.0.0.1', p))"], NET),  # nobody of this run listens: maybe somebody outside does
]


def exec_says_the_same(lab, argvs, results):
    """Of each command, on its standard error, after what the command wrote; the status stays the command's. Who explains has two seconds,
    which a busy machine may need for less: it is said once in several tries."""
    wrong = []
    for argv, result in zip(argvs, results):
        want = [x for x in [result.get("jail")] if x]
        for _ in range(8):
            r = lab.agent6("exec", "--", *argv)
            said = [l.split("[agent6] jail: ")[1] for l in r.err.splitlines() if "[agent6] jail: " in l]
            if said == want:
                break
        if said != want or (said and not r.err.endswith(said[0] + "\n")) or r.returncode != result["returncode"]:
            wrong.append((" ".join(argv), "exec", r.returncode, r.err[-400:], "run", result["returncode"], result.get("jail")))
    assert not wrong, "\n".join(map(str, wrong))


def test_a_denial_names_its_rule_and_an_ordinary_failure_says_nothing(lab):
    lab.repo(a_DOT_txt="one\n", script_DOT_sh="#!/bin/sh\n", secret__key="k\n")
    for name in ("granted/f", "data.csv", ".ssh/id"):
        lab.write(os.path.join(lab.home, name), "x\n")
    lab.write(os.path.join(lab.ws, "..", "beside", "file"), "x\n")
    lab.git("remote", "add", "near", ".")
    argvs = [[w.replace("{home}", lab.home) for w in argv] for argv, _ in TABLE]
    calls = [call("run_command", argv=a) for a in argvs]
    m = lab.mock(script(*[turn(*calls[i:i + 10]) for i in range(0, len(calls), 10)], finish()),
                 extra=f"[sandbox]\nextra_read_paths = [\"{lab.home}/granted\"]\nhide_paths = [\"{lab.ws}/secret\"]\n"
                       "[workflow]\nmax_iterations = 200\nverify_infer = false\n")
    r = lab.run("look", timeout=300)
    results = [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]
    assert len(results) == len(TABLE), r.both[-3000:]
    wrong = []
    for (argv, want), result in zip(TABLE, results):
        said = result.get("jail")
        if (want is None) != (said is None) or (want and want not in said):
            wrong.append((" ".join(argv), "want", want, "said", said, "stderr", result.get("stderr", "")[-300:], result.get("returncode")))
    assert not wrong, "\n".join(map(str, wrong))
    exec_says_the_same(lab, argvs, results)
    for name in ("locked", "ro", "sub/.git"):
        os.chmod(os.path.join(lab.ws, name), 0o755)


# Without namespaces the same rules show themselves by other words.
HARDENED = [
    ([*PY, "import socket; socket.create_connection(('1.1.1.1', 443), 5)"], NET),
    ([*PY, "import urllib.request as u; u.urlopen('https://example.com', timeout=5)"], NET),
    (["cat", "{home}/data.csv"], READ),
    ([*PY, "import urllib.request as u; u.urlopen('http://localhost:9', timeout=5)"], "make no such socket"),
    ([*PY, "import socket; socket.socket(socket.AF_UNIX)"], "make no such socket"),
    *([(["curl", "-sS", "http://localhost:9"], "make no such socket"), (["curl", "-s", "http://localhost:9"], "make no such socket")]
      if shutil.which("curl") else []),
    (["touch", "/usr/agent6-x"], "part of the system"),
    (["rm", "/etc/passwd"], "part of the system"),
    (["mkdir", "{home}/new"], WRITE),
    (["ls", "/"], "sandbox.profile"),
    (["dd", "if=/dev/zero", "of=/dev/shm/agent6-x", "count=1"], "sandbox.profile"),
    (["cat", "/etc/fstab"], READ),
    (sh("echo 1 > /proc/sys/vm/drop_caches"), "the kernel's"),
    (["chown", "1", "a.txt"], NO_KEY),
    (["chmod", "u+s", "a.txt"], NO_KEY),
    (["mount", "-t", "tmpfs", "x", "/mnt"], NO_KEY),
    ([*PY, "import multiprocessing as m; m.Pool(2)"], "sandbox.profile"),
    (sh("echo x > /tmp/nothing-of-agent6"), "which TMPDIR names"),
    (sh("echo x > $TMPDIR/x; chmod 0 $TMPDIR/x; cat $TMPDIR/x"), NOTHING),
    (["cat", "missing"], NOTHING),
    (sh("echo x > own; chmod 0 own; cat own"), NOTHING),
    (sh("exit 3"), NOTHING),
    (["git", "log", "no-such-branch"], NOTHING),
    (["mv", "no-such-file", ".git"], NOTHING),
]


def test_a_denial_explains_itself_where_no_namespace_is(lab):
    lab = as_hardened(lab)
    lab.repo(a_DOT_txt="one\n")
    lab.write(os.path.join(lab.home, "data.csv"), "x\n")
    argvs = [[w.replace("{home}", lab.home) for w in argv] for argv, _ in HARDENED]
    m = lab.mock(script(*[turn(call("run_command", argv=a)) for a in argvs], finish()), extra="[workflow]\nverify_infer = false\n")
    r = lab.run("look", timeout=300)
    results = [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]
    assert len(results) == len(HARDENED), r.both[-3000:]
    wrong = [(argv, "want", want, "said", result.get("jail"), result.get("stderr", "")[-300:]) for (argv, want), result in zip(HARDENED, results)
             if (want is None) != (result.get("jail") is None) or (want and want not in result["jail"])]
    assert not wrong, "\n".join(map(str, wrong))
    exec_says_the_same(lab, argvs, results)


def test_exec_explains_from_where_it_ran_and_shows_no_byte_that_steers(lab):
    lab.repo(a_DOT_txt="one\n", sub__b="two\n")
    lab.write(os.path.join(lab.ws, "..", "beside", "file"), "x\n")
    os.chmod(os.path.join(lab.ws, "a.txt"), 0)
    sub = os.path.join(lab.ws, "sub")
    r = lab.agent6("exec", "cat", "../a.txt", cwd=sub)
    assert r.returncode == 1 and "cat: ../a.txt: Permission denied" in r.err and "jail: " not in r.err, r.err
    r = lab.agent6("exec", "cat", "../../beside/file", cwd=sub)
    assert r.returncode == 1 and f"[agent6] jail: {os.path.dirname(lab.ws)}/beside/file is outside what commands may see" in r.err, r.err
    bad = "cat: /opt/\\033[2Ja\\342\\200\\256b\\377" + "x" * 300 + ": Permission denied\\n"  # as an adversary's program may write it
    r = lab.agent6("exec", "sh", "-c", f"printf '{bad}' >&2; exit 9")
    line = [l for l in r.stderr.split(b"\n") if b"jail: " in l]
    assert r.returncode == 9 and len(line) == 1 and b"... is outside what commands may see" in line[0] and len(line[0]) < 400, r.stderr
    assert not [c for c in line[0] if c < 32 or c == 127] and b"\xe2\x80\xae" not in line[0] and b"\xff" not in line[0]


def test_exec_explains_no_success_no_signal_and_nothing_without_a_jail(lab):
    lab.repo(a_DOT_txt="one\n")
    denied = "cat /etc/fstab; echo 'cat: /opt/x: Permission denied' >&2; "
    assert "jail: " in lab.agent6("exec", "sh", "-c", denied + "exit 1").err
    for end in ("exit 0", "kill -TERM $$", "sleep 1000"):
        for limit in ("1", "10", "100") if "sleep" in end else ("0",):
            r = lab.agent6("exec", "--timeout", limit, "sh", "-c", denied + end)
            if "Permission denied" in r.err:  # it had said so when its time was over
                break
        assert "Permission denied" in r.err and "jail: " not in r.err, (end, r.err)
    lab.config('[sandbox]\nprofile = "none"\n')
    r = lab.agent6("exec", "sh", "-c", denied + "exit 1")
    assert r.returncode == 1 and "Permission denied" in r.err and "jail: " not in r.err, r.err


# Failures in a .git that nothing protects: each is git's own, and no key of ours decides.
OPEN_GIT = [sh("chmod 555 .git; git add new; s=$?; chmod 755 .git; exit $s"), ["git", "show", "no-such-rev"],
            sh("chmod 444 .git/config; echo x >> .git/config; s=$?; chmod 644 .git/config; exit $s"), sh("cat .git/no-such")]


def test_git_that_may_write_its_directory_blames_no_rule_that_is_not_in_force(lab):
    lab.repo(a_DOT_txt="one\n")
    lab.write("new", "x\n")
    m = lab.mock(script(*[turn(call("run_command", argv=a)) for a in OPEN_GIT], finish()),
                 extra="[sandbox]\nprotect_git = false\n[workflow]\nverify_infer = false\n")
    r = lab.run("look")
    results = [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]
    assert len(results) == len(OPEN_GIT), r.both
    assert not [x for x in results if "jail" in x or x["returncode"] == 0], results
    exec_says_the_same(lab, OPEN_GIT, results)
    assert lab.agent6("exec", "git", "config", "user.name", "Somebody").returncode == 0
    assert lab.agent6("config", "unset", "sandbox.protect_git").returncode == 0
    assert "sandbox.protect_git" in lab.agent6("exec", "git", "config", "user.name", "Somebody").err


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return f.read().split()
    except OSError:
        return []


def stop_reader(pid):
    """The process that reads why a command failed, held for good before it has said so; None: it was faster."""
    while True:
        for child in children(pid):
            try:
                with open(f"/proc/{child}/cmdline", "rb") as f:
                    if b"reader" not in f.read():
                        continue
                os.kill(int(child), signal.SIGSTOP)
                return child
            except OSError:
                pass
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                return None


@pytest.mark.parametrize("how", ["waits its time", "is told to end"])
def test_exec_waits_two_seconds_for_who_reads_and_no_longer(lab, how):
    lab.repo(a_DOT_txt="one\n")
    for _ in range(100):
        started = time.monotonic()
        p = subprocess.Popen([AGENT6, "exec", "cat", "/etc/fstab"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = b""
        while b"cat: " not in said:  # another one has read the repository by then
            said += os.read(p.stderr.fileno(), 4096)
        reader = stop_reader(p.pid)
        held = time.monotonic()
        if reader and how == "is told to end":
            p.send_signal(signal.SIGTERM)
        _, errs = p.communicate(timeout=300)
        ended = time.monotonic()
        if not reader or b"jail: " in said + errs:  # it answered before it was held
            continue
        assert b"cat: /etc/fstab: No such file or directory" in said + errs, (said, errs)
        assert not os.path.exists(f"/proc/{reader}")
        assert p.returncode in ((1, -signal.SIGTERM, 128 + signal.SIGTERM) if how == "is told to end" else (1,)), p.returncode
        assert how == "is told to end" or ended - started >= 2, ended - started
        if ended - held < (1.5 if how == "is told to end" else 10):  # a machine that is busy may take longer, but not each time
            break
    else:
        pytest.fail("it never ended in time, or was never held in time")


def test_what_exec_passes_on_is_unchanged_where_it_explains(lab):
    """A pipe and a file get each byte once and in order, the sentence after the last; standard output none of it."""
    lab.repo(a_DOT_txt="one\n")
    size = 3_000_000
    command = ["exec", "sh", "-c", f"head -c {size} /dev/zero >&2; printf '\\033[2J\\377\\n' >&2; head -c {size} /dev/zero; cat /etc/fstab; exit 7"]
    r = lab.agent6(*command)
    with open(os.path.join(lab.folder, "errs"), "wb") as f:
        assert subprocess.run([AGENT6, *command], cwd=lab.ws, env=lab.env, stdout=subprocess.DEVNULL, stderr=f, check=False).returncode == 7
    assert r.returncode == 7 and r.stdout == bytes(size)
    with open(f.name, "rb") as f:
        for errs in (r.stderr, f.read()):
            assert errs.count(bytes(1)) == size
            last = errs[errs.rindex(bytes(1)) + 1:]
            assert last.startswith(b"\x1b[2J\xff\ncat: /etc/fstab: ") and last.count(b"\n") == 3, last
            assert last.split(b"\n")[2].startswith(b"[agent6] jail: /etc/fstab "), last


MEMORY = "sandbox.memory_limit_mb"
# What is run under a limit of each process, what is said then, and nothing without one (the last: what would need no such memory).
HUNGRY = [
    ([*PY, "bytearray(10 ** 9)"], MEMORY),
    ([*PY, "import subprocess, sys; sys.exit(subprocess.call(['/usr/bin/python3', '-c', 'bytearray(10 ** 9)']))"], MEMORY),
    *([(sh("printf '%s\\n' '#include <stdio.h>' '#include <stdlib.h>' 'int main(void) { if (!malloc(1000000000)) { perror(\"malloc\"); return 1; } }' "
           "| cc -O0 -x c -o c - && ./c"), MEMORY)] if shutil.which("cc") else []),
    *([(sh("printf '%s\\n' '#include <new>' 'int main() { return *static_cast<char *>(operator new(1000000000)); }' | c++ -x c++ -O0 -o cc - && exec ./cc"),
        MEMORY)] if shutil.which("c++") else []),
    *([(["node", "-e", "const a = []; for (let i = 0; i < 100; i++) a.push(Buffer.alloc(1e7, 1))"], MEMORY)] if shutil.which("node") else []),
    (sh("ulimit -v 100000; /usr/bin/python3 -c 'bytearray(10 ** 9)'"), NOTHING),
    (["cat", "missing"], NOTHING),
]


def test_a_limit_of_memory_is_named_where_it_is_one_of_ours(lab_of_each_profile):
    lab = lab_of_each_profile
    lab.repo(a_DOT_txt="one\n")
    argvs = [argv for argv, _ in HUNGRY]
    m = lab.mock(script(*[turn(call("run_command", argv=a)) for a in argvs], finish()),
                 extra="[sandbox]\nmemory_limit_mb = 600\n[workflow]\nverify_infer = false\n")
    r = lab.run("eat", timeout=300)
    results = [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]
    assert len(results) == len(HUNGRY), r.both[-3000:]
    wrong = [(argv, "want", want, "said", result.get("jail"), result) for (argv, want), result in zip(HUNGRY, results)
             if result["returncode"] == 0 or (want is None) != (result.get("jail") is None) or (want and want not in result["jail"])]
    assert not wrong, "\n".join(map(str, wrong))
    exec_says_the_same(lab, argvs, results)
    assert lab.agent6("config", "unset", "sandbox.memory_limit_mb").returncode == 0
    for argv in (HUNGRY[0][0], [*PY, "raise MemoryError"]):
        r = lab.agent6("exec", "--", *argv)
        assert "jail: " not in r.err, r.err


def test_who_may_only_look_is_told_so_where_a_write_is_refused(lab):
    lab.repo(a_DOT_txt="one\n")
    rows = [(["touch", "new"], "plan, ask and review"), ([*PY, "open('new', 'w')"], "plan, ask and review"),
            (["git", "commit", "--allow-empty", "-m", "x"], "plan, ask and review"), (["mkdir", "/agent6-x"], "plan, ask and review"),
            (sh("echo x >/tmp/x && cat /tmp/x missing"), NOTHING), (["cat", "missing"], NOTHING)]
    m = lab.mock(script(*[turn(call("run_command", argv=a)) for a, _ in rows], {"text": "done"}))
    r = lab.agent6("ask", "--auto-approve", "what is here?", timeout=300)
    results = [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]
    assert len(results) == len(rows), r.both[-3000:]
    wrong = [(argv, want, result) for (argv, want), result in zip(rows, results)
             if (want is None) != (result.get("jail") is None) or (want and want not in result["jail"]) or "extra_write_paths" in str(result.get("jail"))]
    assert not wrong, "\n".join(map(str, wrong))


# Links of the workspace (name, what it leads to), what is run, and what its explanation names.
LINKS = {"tool": "{home}/sdk/bin/tool", "data": "{home}/set/one", "near": "a.txt", "dangling": "no-such-thing", "loop": "loop",
         "chain": "tool", "hid": "secret/key", "into": "{home}/granted/f"}
THROUGH_LINKS = [
    (["./tool"], "tool is a link to {home}/sdk/bin/tool, which is outside what commands may see; the operator's sandbox.extra_read_paths "
                 "decides, with {home}/sdk/bin in it"),
    (["cat", "chain"], "chain is a link to {home}/sdk/bin/tool, which is outside what commands may see"),
    (sh("./tool"), "tool is a link to {home}/sdk/bin/tool, which is outside"),
    ([*PY, "open('data/rows.csv')"], "data is a link to {home}/set/one, which is outside what commands may see; the operator's "
                                     "sandbox.extra_read_paths decides, with {home}/set/one in it"),
    (["cat", "hid"], "hid is a link to {ws}/secret/key, which is hidden from commands; the operator's sandbox.hide_paths decides"),
    (sh("echo x > into"), "into is a link to {home}/granted/f, which may be read and not written; the operator's sandbox.extra_write_paths decides"),
    (["cat", "dangling"], NOTHING),
    (["cat", "loop"], NOTHING),
    (["cat", "near/x"], NOTHING),
    (["cat", "missing"], NOTHING),
    (sh("no-such-program"), NOTHING),
]


def test_a_link_that_leads_out_is_named_with_where_it_leads(lab_of_each_profile):
    lab = lab_of_each_profile
    lab.repo(a_DOT_txt="one\n", secret__key="k\n")
    for name in ("sdk/bin/tool", "set/one/rows.csv", "granted/f"):
        lab.write(os.path.join(lab.home, name), "x\n")
    os.chmod(os.path.join(lab.home, "sdk/bin/tool"), 0o755)
    for name, to in LINKS.items():
        os.symlink(to.replace("{home}", lab.home), os.path.join(lab.ws, name))
    hides = lab.profile != "hardened"  # which hides nothing of a place that commands write
    rows = [row for row in THROUGH_LINKS if hides or row[0] != ["cat", "hid"]]
    argvs = [argv for argv, _ in rows]
    m = lab.mock(script(turn(*[call("run_command", argv=a) for a in argvs]), finish()),
                 extra=f"[sandbox]\nextra_read_paths = [\"{lab.home}/granted\"]\n" +
                       (f"hide_paths = [\"{lab.ws}/secret\"]\n" if hides else "") + "[workflow]\nverify_infer = false\n")
    r = lab.run("look", timeout=300)
    assert m.model_requests(), r.both[-3000:]
    results = [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]
    assert len(results) == len(argvs), r.both[-3000:]
    wants = [w and lab.ws + "/" + w.replace("{home}", lab.home).replace("{ws}", lab.ws) for _, w in rows]
    wrong = [(argv, "want", want, "said", result.get("jail"), result) for argv, want, result in zip(argvs, wants, results)
             if (want is None) != (result.get("jail") is None) or (want and want not in result["jail"])]
    assert not wrong, "\n".join(map(str, wrong))
    exec_says_the_same(lab, argvs, results)


def test_who_sees_the_hosts_files_blames_no_link_that_leads_to_nothing(lab):
    """exec tells the person, so it may look; what a run tells the model must not say what there is outside."""
    lab.repo(a_DOT_txt="one\n")
    os.makedirs(os.path.join(lab.home, "sdk"))
    os.symlink(os.path.join(lab.home, "sdk/tool"), os.path.join(lab.ws, "tool"))
    r = lab.agent6("exec", "cat", "tool")
    assert r.returncode == 1 and "jail: " not in r.err, r.err
    lab.write(os.path.join(lab.home, "sdk/tool"), "x\n")
    for _ in range(8):
        r = lab.agent6("exec", "cat", "tool")
        if "jail: " in r.err:
            break
    assert f"[agent6] jail: {lab.ws}/tool is a link to {lab.home}/sdk/tool, which is outside what commands may see" in r.err, r.err


@pytest.mark.skipif(os.geteuid() != 0, reason="links in /usr are root's, who tries it in the other half")
def test_a_link_of_the_system_that_leads_out_is_named(lab):
    lab.repo(a_DOT_txt="one\n")
    lab.write(os.path.join(lab.home, "sdk/share/x"), "x\n")
    link = f"/usr/lib/agent6-test-{os.getpid()}"
    os.symlink(os.path.join(lab.home, "sdk"), link)
    try:
        m = lab.mock(script(turn(call("run_command", argv=["cat", f"{link}/share/x"])), finish()), extra="[workflow]\nverify_infer = false\n")
        lab.run("look")
        said = json.loads([x["content"] for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"][0])["jail"]
    finally:
        os.unlink(link)
    assert said == f"{link} is a link to {lab.home}/sdk, which is outside what commands may see; the operator's sandbox.extra_read_paths " \
                   f"decides, with {lab.home}/sdk in it"
