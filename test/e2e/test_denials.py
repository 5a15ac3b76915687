# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Denials explain themselves: real failures of real programs in one run, and what the result says about each.

What the jail refused names its rule and the key that decides; an ordinary failure, however alike, says nothing.
"""
import json
import os

from conftest import as_hardened, call, finish, script, turn

PY = ["/usr/bin/python3", "-c"]
READ, WRITE, GIT, NET, HIDE, NO_KEY, NOTHING = ("sandbox.extra_read_paths", "sandbox.extra_write_paths", "sandbox.protect_git",
                                                "sandbox.tool_network", "sandbox.hide_paths", "nothing allows", None)


def sh(line):
    return ["sh", "-c", line]


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
    (["rm", "-rf", ".git"], GIT),
    (["cat", "secret/key"], HIDE),
    (sh("echo x > secret/new"), HIDE),
    ([*PY, "import urllib.request as u; u.urlopen('https://example.com', timeout=5)"], NET),
    ([*PY, "import socket; socket.create_connection(('1.1.1.1', 443), 5)"], NET),
    ([*PY, "import socket; socket.create_connection(('2606:4700::1111', 443), 5)"], NET),
    (["git", "clone", "https://example.com/x.git", "y"], NET),
    ([*PY, "import socket; socket.create_connection(('localhost', 5432), 5)"], NET),
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
    # ordinary failures
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


def test_a_denial_names_its_rule_and_an_ordinary_failure_says_nothing(lab):
    lab.repo(a_DOT_txt="one\n", script_DOT_sh="#!/bin/sh\n", secret__key="k\n")
    for name in ("granted/f", "data.csv", ".ssh/id"):
        lab.write(os.path.join(lab.home, name), "x\n")
    lab.write(os.path.join(lab.ws, "..", "beside", "file"), "x\n")
    argvs = [[w.replace("{home}", lab.home) for w in argv] for argv, _ in TABLE]
    m = lab.mock(script(*[turn(call("run_command", argv=a)) for a in argvs], finish()),
                 extra=f"[sandbox]\nextra_read_paths = [\"{lab.home}/granted\"]\nhide_paths = [\"{lab.ws}/secret\"]\n"
                       "[workflow]\nmax_iterations = 200\nverify_infer = false\n")
    r = lab.run("look", timeout=180)
    results = [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]
    assert len(results) == len(TABLE), r.both[-3000:]
    wrong = []
    for (argv, want), result in zip(TABLE, results):
        said = result.get("jail")
        if (want is None) != (said is None) or (want and want not in said):
            wrong.append((" ".join(argv), "want", want, "said", said, "stderr", result.get("stderr", "")[-300:], result.get("returncode")))
    assert not wrong, "\n".join(map(str, wrong))
    for name in ("locked", "ro", "sub/.git"):
        os.chmod(os.path.join(lab.ws, name), 0o755)


# Without namespaces the same rules show themselves by other words.
HARDENED = [
    ([*PY, "import socket; socket.create_connection(('1.1.1.1', 443), 5)"], NET),
    ([*PY, "import urllib.request as u; u.urlopen('https://example.com', timeout=5)"], NET),
    (["cat", "{home}/data.csv"], READ),
    (["touch", "/usr/agent6-x"], "part of the system"),
    (["cat", "/etc/fstab"], READ),
    (sh("echo 1 > /proc/sys/vm/drop_caches"), "the kernel's"),
    (["chown", "1", "a.txt"], NO_KEY),
    (["chmod", "u+s", "a.txt"], NO_KEY),
    (["mount", "-t", "tmpfs", "x", "/mnt"], NO_KEY),
    ([*PY, "import multiprocessing as m; m.Pool(2)"], "sandbox.profile"),
    (["cat", "missing"], NOTHING),
    (sh("echo x > own; chmod 0 own; cat own"), NOTHING),
    (sh("exit 3"), NOTHING),
]


def test_a_denial_explains_itself_where_no_namespace_is(lab):
    lab = as_hardened(lab)
    lab.repo(a_DOT_txt="one\n")
    lab.write(os.path.join(lab.home, "data.csv"), "x\n")
    argvs = [[w.replace("{home}", lab.home) for w in argv] for argv, _ in HARDENED]
    m = lab.mock(script(*[turn(call("run_command", argv=a)) for a in argvs], finish()), extra="[workflow]\nverify_infer = false\n")
    r = lab.run("look", timeout=120)
    results = [json.loads(x["content"]) for x in m.model_requests()[-1]["body"]["messages"] if x["role"] == "tool"]
    assert len(results) == len(HARDENED), r.both[-3000:]
    wrong = [(argv, "want", want, "said", result.get("jail"), result.get("stderr", "")[-300:]) for (argv, want), result in zip(HARDENED, results)
             if (want is None) != (result.get("jail") is None) or (want and want not in result["jail"])]
    assert not wrong, "\n".join(map(str, wrong))
