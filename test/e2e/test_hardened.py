# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Whole runs under profile hardened: no namespace, but Landlock, filters and guardians (docs/sandbox.md).

What a taken-over agent can do there is test_evil.py's, the red-team corpus test_redteam.py's."""
import ctypes
import os
import re
import signal
import subprocess

import pytest

import conftest
from conftest import as_hardened, call, finish, script, turn
from story import left_in_tmp, nothing_new_stays


@pytest.fixture
def hard(lab):
    return as_hardened(lab, root=True)


def mine(pattern):
    """Processes of this user, or of whom root becomes, whose command line holds the pattern."""
    found = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{p}").st_uid in (os.geteuid(), 0, conftest.NOBODYS) and int(p) != os.getpid():
                with open(f"/proc/{p}/cmdline", encoding="utf-8", errors="replace") as f:
                    line = f.read().replace("\0", " ")
                with open(f"/proc/{p}/stat", encoding="utf-8", errors="replace") as f:
                    state = f.read().rsplit(")", 1)[1].split()[0]
                if pattern in line and state != "Z":
                    found.append(int(p))
        except OSError:
            pass
    return found


def test_a_whole_run_works_and_leaves_nothing(hard):
    before = left_in_tmp()
    hard.repo(a="one\n", Makefile="test:\n\tgrep -q two a\n")
    hard.mock(script(
        turn(call("read_file", path="a"), call("grep", pattern="one")),
        turn(call("run_command", argv=["sh", "-c", "chmod 755 a && touch -d @1 b && cp -p b c && mktemp && echo x >$HOME/y && echo $TMPDIR "
                                                   "&& git log --oneline && git status --short"])),
        turn(call("apply_edit", path="a", edits=[{"kind": "replace", "old_string": "one", "new_string": "two"}])),
        turn(call("run_verify_command")), finish()), extra='[workflow]\nverify_command = ["make", "test"]\n')
    r = hard.run()
    assert r.returncode == 0, r.both
    assert "hardened: .git can be written by commands" in r.both
    start, end = hard.events("run.start")[0], hard.events("run.end")[0]
    assert (start["isolation"], end["verified"], end["reason"]) == ("hardened", "passed", "finish_run"), end
    ran = [e for e in hard.events("tool.result") if e["name"] == "run_command"][0]
    assert ran["ok"] and ran["summary"].startswith("exit=0"), ran
    assert os.stat(os.path.join(hard.ws, "a")).st_mode & 0o777 == 0o755
    assert os.stat(os.path.join(hard.ws, "c")).st_mtime == 1
    assert hard.git("show", f"{end['branch']}:a") == "two\n"
    nothing_new_stays(hard, before)
    assert mine(hard.folder) == [m.proc.pid for m in hard.mocks]
    # And so do what follows a run.
    run = start["run_id"]
    assert "two" in hard.agent6("runs", "diff", run).out
    hard.git("checkout", "-q", "--", ".")
    for name in ("b", "c"):
        os.unlink(os.path.join(hard.ws, name))
    merged = hard.agent6("runs", "merge", run)
    assert merged.returncode == 0 and hard.read("a") == "two\n", merged.both
    again = hard.agent6("resume", "--auto-approve", run, "--steer", "go on")
    assert again.returncode == 0, again.both
    nothing_new_stays(hard, before)


MOVES = """git rev-parse -q --verify refs/agent6/mine/head >/dev/null || exit 0
echo evil >a && blob=$(git hash-object -w a) && tree=$(git ls-tree refs/agent6/mine/head | sed "s/[0-9a-f]*\ta$/$blob\ta/" | git mktree) &&
commit=$(git -c user.name=x -c user.email=x@y commit-tree -p main -m evil $tree) && git update-ref refs/agent6/mine/head $commit
"""
SETS = "git rev-parse -q --verify refs/agent6/mine/head >/dev/null && git config alias.st '!touch /tmp/x'\nexit 0\n"


@pytest.mark.parametrize("what,named", [(MOVES, "refs/agent6/mine/head"), (SETS, ".git/config")], ids=["moves", "sets"])
def test_a_gate_that_changes_the_repository_when_it_is_run_again_merges_nothing(hard, what, named):
    """git.auto_merge: what the model wrote runs as part of the gate, and here .git can be written."""
    hard.repo(a="one\n", check=". ./part\n", part="exit 1\n")  # what is named itself nobody would merge
    hard.mock(script(turn(call("apply_edit", path="a", edits=[{"old_string": "one", "new_string": "two"}]),
                          call("apply_edit", path="part", edits=[{"old_string": "exit 1\n", "new_string": what}])),
                     turn(call("run_verify_command")), finish()),
              top='git.auto_merge = true\ngit.merge_strategy = "ff"', extra='[workflow]\nverify_command = ["sh", "check"]\n')
    before = hard.git("rev-parse", "main")
    r = hard.run("do it", "--run-id", "mine")
    assert hard.events("run.end")[0]["verified"] == "passed", r.both
    assert r.returncode == 1 and "changed, look at it before you use git there" in r.both and named in r.both, r.both
    assert "the gate was run again, and its jail saw what no gate may do" in r.both and "was not merged" in r.both, r.both
    assert hard.git("rev-parse", "main") == before, r.both


def test_what_was_set_aside_is_named_though_a_command_took_its_ref_away(hard):
    hard.repo(a="one\n")
    hard.write("a", "mine\n")
    hard.mock(script(turn(call("run_command", argv=["git", "update-ref", "-d", "refs/agent6-stash/mine"])), finish()),
              top="git.auto_stash = true\ngit.auto_stash_pop = true")
    r = hard.run("do it", "--run-id", "mine")
    assert r.returncode == 1 and hard.events("run.end")[0]["reason"] == "git_changed", r.both
    found = re.search(r"is not at refs/agent6-stash/mine any more, .*: git stash apply --index ([0-9a-f]{40})$", r.both, re.M)
    assert found, r.both
    hard.git("stash", "apply", "--index", found.group(1))
    assert hard.read("a") == "mine\n"


def test_commands_reach_nothing_but_the_workspace(hard):
    """Each line says what it could do; none may."""
    hard.repo(a="one\n")
    secret = os.path.join(hard.home, "secret")
    with open(secret, "w", encoding="utf-8") as f:
        f.write("SECRET\n")
    os.chmod(secret, 0o600)
    os.chmod(hard.home, 0o700)
    probe = r"""
import ctypes, os, socket, signal, sys
def try_(name, fn):
    try:
        fn()
    except OSError as e:
        return
    print("COULD", name)
home, me = sys.argv[1], os.getppid()
try_("read", lambda: open(home + "/secret").read())
try_("list", lambda: os.listdir(home))
try_("write", lambda: open(home + "/new", "w"))
try_("chmod", lambda: os.chmod(home + "/secret", 0o644))
try_("chmod dir", lambda: os.chmod(home, 0o755))
try_("utime", lambda: os.utime(home + "/secret", (1, 1)))
try_("xattr", lambda: os.setxattr(home + "/secret", "user.x", b"x"))
try_("truncate", lambda: os.truncate(home + "/secret", 0))
try_("link", lambda: os.link(home + "/secret", "stolen"))
try_("rename", lambda: os.rename(home + "/secret", "stolen"))
try_("chmod through a link", lambda: (os.symlink(home + "/secret", "l"), os.chmod("l", 0o644)))
try_("host tmp", lambda: open("/tmp/agent6-hardened-probe", "w"))
try_("list tmp", lambda: os.listdir("/tmp"))
try_("shm", lambda: open("/dev/shm/agent6-hardened-probe", "w"))
try_("shadow", lambda: open("/etc/shadow"))
try_("tty", lambda: open("/dev/tty"))
try_("keys", lambda: open("/proc/keys").read() and None if os.path.getsize("/proc/keys") else (_ for _ in ()).throw(OSError()))
for f in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, 40):
    try_("socket %d" % f, lambda: socket.socket(f, socket.SOCK_DGRAM if f == 16 else socket.SOCK_STREAM))
try_("signal", lambda: os.kill(me, 0))
for p in filter(str.isdigit, os.listdir("/proc")):
    if int(p) not in (os.getpid(), me):
        try_("kill " + p, lambda: os.kill(int(p), 0))
        try_("environ " + p, lambda: open("/proc/%s/environ" % p).read())
        try_("cwd " + p, lambda: os.readlink("/proc/%s/cwd" % p))
libc = ctypes.CDLL(None, use_errno=True)
def sys_(name, nr, *args):
    if libc.syscall(nr, *args) >= 0:
        print("COULD", name)
if os.uname().machine == "x86_64":
    sys_("ptrace", 101, 16, me, 0, 0); sys_("unshare", 272, 0x10000000); sys_("io_uring", 425, 1, 0); sys_("shmget", 29, 1, 4096, 0o1600)
    sys_("keyctl", 250, 0, -3, 0); sys_("prlimit", 302, me, 7, 0, 0); sys_("setpriority", 141, 0, me, 5)
print("probed")
"""
    hard.write("probe.py", probe)
    hard.mock(script(turn(call("run_command", argv=["python3", "probe.py", hard.home])), finish()))
    r = hard.run()
    said = [e for e in hard.events("tool.result") if e["name"] == "run_command"][0]["stdout_tail"]
    assert said == "probed\n", said + r.both
    assert open(secret, encoding="utf-8").read() == "SECRET\n" and os.stat(secret).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("line, path", [
    ("echo x >> .git/config", "/.git/config"),
    ("echo x > .git/hooks/pre-commit", "/.git/hooks/pre-commit"),
    ("git update-ref refs/heads/other HEAD", "/.git/refs/heads/other"),
    ("mv .git g && git init -q && exit 3", "/.git/HEAD"),
])
def test_a_change_of_the_repository_ends_the_run_and_is_named(hard, line, path):
    hard.repo(a="one\n")
    hard.mock(script(turn(call("run_command", argv=["sh", "-c", line])), turn(call("run_command", argv=["touch", "later"])), finish()))
    r = hard.run()
    assert r.returncode == 1, r.both
    changed = hard.events("jail.git_changed")[0]
    assert hard.ws + path in changed["paths"].split("\n"), changed
    end = hard.events("run.end")[0]
    assert end["reason"] == "git_changed" and "look at it before you use git there" in end["message"]
    assert not os.path.exists(os.path.join(hard.ws, "later"))


@pytest.mark.parametrize("at_top", [True, False], ids=["a repository", "no repository"])
@pytest.mark.parametrize("line, path", [
    ("git -C OTHER config core.fsmonitor ./owned", "/.git/config"),
    ("printf '#!/bin/sh\\n' > OTHER/.git/hooks/post-checkout", "/.git/hooks/post-checkout"),
    ("mv OTHER/.git OTHER/g", "/.git"),
    ("echo x > OTHER/f; git -C OTHER add f; git -C OTHER -c user.name=a -c user.email=a@b commit -qm f", None),
])
def test_a_granted_repository_is_watched(hard, line, path, at_top):
    """As the workspace's own, for what decides about programs; in a workspace that is none as well."""
    if at_top:
        hard.repo(a="one\n")
    else:
        hard.write("a", "one\n")
    other = os.path.join(hard.folder, "other")
    subprocess.run(["git", "init", "-q", other], check=True, env=hard.env)
    if hard.owner is not None:  # a grant to root is one to whom its commands are
        subprocess.run(["chown", "-R", f"{hard.owner}:{hard.owner}", other], check=True)
    hard.mock(script(turn(call("run_command", argv=["sh", "-c", line.replace("OTHER", other)])),
                     turn(call("run_command", argv=["touch", "later"])), finish()), extra=f'[sandbox]\nextra_write_paths = ["{other}"]\n')
    r = hard.run()
    changed = hard.events("jail.git_changed")
    if path is None:
        assert r.returncode == 0 and changed == [] and os.path.exists(os.path.join(other, "f")), r.both
        return
    assert r.returncode == 1 and other + path in changed[0]["paths"].split("\n"), r.both
    assert hard.events("run.end")[0]["reason"] == "git_changed" and not os.path.exists(os.path.join(hard.ws, "later"))


ME = "git -c user.name=a -c user.email=a@b "


@pytest.mark.parametrize("line, path", [
    ("git -C kept config core.fsmonitor ./owned", "/kept/.git/config"),
    ("echo 'gitdir: /elsewhere' > kept/.git/commondir", "/kept/.git/commondir"),
    (f"mkdir evil && git -C evil init -q && {ME} -C evil commit -q --allow-empty -m x && git add evil", "/.git/index"),
    ("git update-index --assume-unchanged a", "/.git/index"),
])
def test_an_index_or_a_repository_inside_that_leads_git_elsewhere_ends_the_run(hard, line, path):
    hard.repo(a="one\n")
    kept = os.path.join(hard.ws, "kept")
    os.mkdir(kept)
    for words in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "k"]):
        subprocess.run(["git", "-C", kept, *words], check=True, env=hard.env)
    hard.git("add", "kept")
    hard.git("commit", "-q", "-m", "kept")
    hard.mock(script(turn(call("run_command", argv=["sh", "-c", line])), turn(call("run_command", argv=["touch", "later"])), finish()))
    r = hard.run()
    assert r.returncode == 1, r.both
    assert hard.ws + path in hard.events("jail.git_changed")[0]["paths"].split("\n"), hard.events("jail.git_changed")
    assert hard.events("run.end")[0]["reason"] == "git_changed"
    assert not os.path.exists(os.path.join(hard.ws, "later"))


def test_a_place_of_the_index_that_was_never_cloned_gets_no_repository_here_either(hard):
    hard.repo(a="one\n")
    hard.git("update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,never")
    hard.git("commit", "-q", "-m", "a submodule")
    hard.mock(script(turn(call("run_command", argv=["sh", "-c", "mkdir -p never && git -C never init -q"])), finish()))
    r = hard.run()
    found = hard.events("jail.git_quarantined")
    assert [(e["path"], e["moved_to"]) for e in found] == [(os.path.join(hard.ws, "never", ".git"), ".git.quarantined-1")], r.both
    assert not os.path.lexists(os.path.join(hard.ws, "never", ".git"))


def test_git_of_every_day_and_the_runs_own_refs_are_no_change(hard):
    hard.repo(a="one\n")
    hard.mock(script(
        turn(call("run_command", argv=["sh", "-c", "git status; git log; git add -A; git stash list; git diff HEAD; echo two > a"])),
        turn(call("run_command", argv=["sh", "-c", "git status; echo three > a"])), finish()))
    r = hard.run()
    assert r.returncode == 0 and hard.events("jail.git_changed") == [], r.both
    assert hard.events("run.end")[0]["commits"] >= 1


def test_what_a_command_leaves_dies_with_it(hard):
    """Double fork, a session of its own, stopped, ignoring signals; and past its time."""
    hard.repo(a="one\n")
    marker = os.path.join(hard.folder, "marker")
    kinds = {
        "double": f"(setsid sh -c 'sleep 1000 # {marker}' &)",
        "stopped": f"sh -c 'kill -STOP $$; : {marker}' & while ! grep -q '^State:.T' /proc/$!/status; do :; done",
        "deaf": f"setsid sh -c \"trap '' TERM HUP INT; sleep 1000; : {marker}\" & setsid setsid -f sh -c 'sleep 1000; : {marker}'",
        "endless": f"setsid sh -c 'sleep 1000; : {marker}' & sleep 1000",
    }
    for name, line in kinds.items():
        r = hard.agent6("exec", "--timeout", "1" if name == "endless" else "0", "--", "sh", "-c", f"{line}\nexit 7", env={})
        assert r.returncode == (124 if name == "endless" else 7), (name, r.both)
        assert mine(marker) == [], name


@pytest.mark.parametrize("victim", ["monitor", "outer", "inner", "guardian", "agent"])
def test_a_kill_of_any_one_process_takes_the_commands_along(hard, victim):
    hard.repo(a="one\n")
    os.mkfifo(os.path.join(hard.ws, "hold"))
    before = left_in_tmp()
    marker = os.path.join(hard.folder, "marker")
    line = f"(setsid sh -c 'sleep 1000; : {marker}' &); touch waiting; read x <hold; : {marker}"
    hard.mock(script(turn(call("run_command", argv=["sh", "-c", line])), finish()))
    run = subprocess.Popen([conftest.AGENT6, "run", "--auto-approve", "do it"], cwd=hard.ws, env=hard.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        hard.wait_for(lambda: os.path.exists(os.path.join(hard.ws, "waiting")) and len(mine(marker)) >= 2)
        os.kill(find(run.pid, marker)[victim], signal.SIGKILL)
        hard.wait_for(lambda: mine(marker) == [])
        nothing_new_stays(hard, before)
        run.wait(timeout=300)
        hard.wait_for(lambda: jails_of(run.pid) == [])
    finally:
        run.kill()
        run.wait()
    assert hard.agent6("runs", "verify").returncode == 0


def parents():
    found = {}
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat", encoding="utf-8", errors="replace") as f:
                found[int(p)] = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    return found


def jails_of(monitor):
    return [p for p, parent in parents().items() if parent == monitor]


def find(monitor, marker):
    """monitor - outer - inner - guardian - command; the agent has a guardian too."""
    up = parents()
    chain = None
    for p in mine(marker):
        line, at = [], p
        while at != monitor and at > 1:
            at = up.get(at, 0)
            line.append(at)
        if at == monitor and len(line) == 4:
            chain = line
    assert chain, up
    agent = [p for p in mine("--role agent") if up.get(up.get(p, 0)) == chain[1]]
    return {"guardian": chain[0], "inner": chain[1], "outer": chain[2], "monitor": monitor, "agent": agent[0]}


@pytest.mark.parametrize("text, why", [
    ("protect_git = true\n", "sandbox.protect_git"),
    ('hide_paths = ["HIDE"]\n', "hide"),
])
def test_what_landlock_cannot_do_is_refused_when_it_is_asked_for_by_name(hard, text, why):
    hard.repo(a="one\n", private="x\n")
    hard.mock(script(finish()), extra="[sandbox]\n" + text.replace("HIDE", os.path.join(hard.ws, "private")))
    r = hard.run()
    assert r.returncode != 0 and why in r.both and "hint" in r.both, r.both
    assert hard.run_dirs() == []


# ---- hosts without user namespaces ----

CLONE_NEWUSER = 0x10000000


def no_user_namespaces_left():
    """A user namespace of its own, in which no more may be made; then no capability."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWUSER) != 0:
        os._exit(97)
    for path, line in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{path}", "w", encoding="ascii") as f:
            f.write(line)
    with open("/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as f:
        f.write("0")


def filtered_namespaces():
    """As the default of a container engine does: a filter answers EPERM to whoever makes a namespace."""
    class Insn(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Prog(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("insn", ctypes.POINTER(Insn))]

    x86 = os.uname().machine == "x86_64"
    clone, unshare, clone3 = (56, 272, 435) if x86 else (220, 97, 435)
    eperm, enosys, allow = 0x00050001, 0x00050026, 0x7FFF0000
    rows = [(0x20, 0, 0, 0), (0x15, 3, 0, clone), (0x15, 2, 0, unshare), (0x15, 3, 0, clone3), (0x06, 0, 0, allow), (0x20, 0, 0, 16),
            (0x45, 2, 3, 0x7E020000), (0x06, 0, 0, enosys), (0x06, 0, 0, allow), (0x06, 0, 0, eperm), (0x06, 0, 0, allow)]
    insns = (Insn * len(rows))(*[Insn(*r) for r in rows])
    libc = ctypes.CDLL(None, use_errno=True)
    prog = Prog(len(rows), insns)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(prog), 0, 0) != 0:
        os._exit(97)


WITHOUT = {"max_user_namespaces": (no_user_namespaces_left, "user.max_user_namespaces = 0"),
           "filter": (filtered_namespaces, "user namespaces")}


@pytest.mark.parametrize("how", sorted(WITHOUT))
def test_without_user_namespaces_auto_is_hardened_and_says_why(lab, how):
    if os.geteuid() == 0:
        pytest.skip("a run under hardened is an ordinary user's, who tries it in the other half")
    take_away, reason = WITHOUT[how]

    def agent6(*args):
        return subprocess.run([conftest.AGENT6, *args], cwd=lab.ws, env=lab.env, capture_output=True, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, preexec_fn=take_away)

    lab.repo(a="one\n")
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo two > a; chmod 755 a"])), finish()))
    r = agent6("run", "--auto-approve", "do it")
    if r.returncode == 97:
        pytest.skip("this machine lets nobody take user namespaces away")
    assert r.returncode == 0, r.stdout + r.stderr
    assert lab.events("run.start")[0]["isolation"] == "hardened" and lab.read("a") == "two\n"
    notices = [e["text"] for e in lab.events("run.notice")]
    assert [n for n in notices if 'under "hardened" instead of "strict"' in n and reason in n], notices
    checked = agent6("check", "sandbox")
    assert "hardened it is" in checked.stdout and "[FAIL]" not in checked.stdout, checked.stdout
    lab.profile = "strict"
    lab.mock(script(finish()))
    r = agent6("run", "--auto-approve", "do it")
    assert r.returncode != 0 and 'profile "strict" is not possible here' in r.stderr and reason in r.stderr, r.stderr
    assert len(lab.run_dirs()) == 1


def test_demo_and_the_checks_work(hard):
    hard.repo(a="one\n")
    hard.config("")
    r = hard.agent6("demo")
    if hard.owner is None:
        assert r.returncode == 0, r.both
    else:  # the repository that it makes is root's own, and hardened gives commands no other user than the workspace's owner
        assert r.returncode == 2 and "as root becomes the workspace's owner" in r.both and "hint: run agent6 as an ordinary user" in r.both, r.both
    r = hard.agent6("check", "sandbox")
    assert r.returncode == 0 and "[FAIL]" not in r.out and "hardened it is" in r.out, r.both
    r = hard.agent6("check", "boundaries")
    assert "hardened" in r.out and '"command_hardened"' in r.out and '"git_hardened"' in r.out, r.both
    assert ".git is not protected" in r.out, r.both


def test_root_becomes_the_owner_of_the_workspace_or_refuses(lab):
    if os.geteuid() != 0:
        pytest.skip("what root does is tried as root")
    lab.profile = "hardened"
    lab.repo(a="one\n")
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "id -u > who; touch made"])), finish()))
    r = lab.run()
    assert r.returncode != 0 and "as root becomes the workspace's owner" in r.both and "ordinary user" in r.both, r.both
    assert lab.run_dirs() == []
    for top, dirs, files in os.walk(lab.ws):
        for name in dirs + files:
            os.lchown(os.path.join(top, name), 64123, 64123)
    os.chown(lab.ws, 64123, 64123)
    lab.git("config", "--global", "safe.directory", lab.ws)
    r = lab.run()
    assert r.returncode == 0, r.both
    assert lab.read("who") == "64123\n" and os.stat(os.path.join(lab.ws, "made")).st_uid == 64123
