# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""P8: the agent process is taken over. test/evil/ stands in its place, with the agent's descriptors and jail.

It writes down what it tried and what came of it; whether the promises held is asserted here, from outside: what is
on disk, what the provider saw, what git says, which processes are left.
"""
import ctypes
import glob
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import unicodedata

import pytest

import conftest
from conftest import call, finish, missing, script, turn
from test_netmatrix import servers  # noqa: F401  a fixture

EVIL = os.path.join(conftest.BUILD, "agent6-evil")
KEY = "dummy-key-0123456789"
CANARY = "CANARY-7f3a9c"
REFUSED, DENIED = 6, 4
NOBODYS = 64123
FUZZ_RUNS = int(os.environ.get("AGENT6_EVIL_RUNS", "24"))


def snapshot(lab):
    """Everything of the lab that no run may change: all but the work tree, the state and the mock's own files."""
    found = {}
    skip = {os.path.join(lab.home, ".local"), os.path.join(lab.folder, "mock0")}
    for top, dirs, files in os.walk(lab.folder):
        dirs[:] = [d for d in dirs if os.path.join(top, d) not in skip]
        if top == lab.ws:
            dirs[:], files = [".git"], []
        for name in files:
            path = os.path.join(top, name)
            st = os.lstat(path)
            body = b"" if not stat.S_ISREG(st.st_mode) else open(path, "rb").read()
            if "/.git/" in path and re.search(r"/(objects|refs/agent6|refs/heads/agent6|logs)/", path):
                continue  # agent6's own: objects, and the refs of its runs, which are judged by name
            found[path] = (st.st_mode, hashlib.sha256(body).hexdigest())
        for name in dirs:
            found[os.path.join(top, name) + "/"] = 0
    return {p: v for p, v in found.items() if not re.search(r"/\.git/(objects|refs|logs)/.*/?$", p) or v}


def refs(lab):
    return [l for l in lab.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()]


class Evil:
    def __init__(self, lab, *turns, extra="", **files):
        if not os.path.exists(EVIL):
            missing(f"{EVIL} is not built (meson option tests)")
        self.lab, self.program = lab, EVIL
        lab.repo(a_DOT_txt="one\n", b_DOT_c="int b;\n", **files)
        for path, text in (("work/canary", CANARY), ("home/secret", CANARY), ("home/.ssh/id_ed25519", CANARY)):
            full = os.path.join(lab.folder, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text + "\n")
        if lab.profile == "hardened" and os.geteuid() == 0:
            self.give_away()
        self.mock = lab.mock(script(*turns, finish()), extra=extra)
        self.lost_git, self.may_change = False, set()
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: who is left becomes our child
        self.others = self.left()
        self.before = snapshot(lab)
        self.refs = refs(lab)

    def give_away(self):
        """Without namespaces root becomes the workspace's owner: it needs one that is not root."""
        for top, dirs, files in os.walk(self.lab.ws):
            for name in dirs + files:
                os.lchown(os.path.join(top, name), NOBODYS, NOBODYS)
        os.chown(self.lab.ws, NOBODYS, NOBODYS)
        with open(os.path.join(self.lab.home, ".gitconfig"), "a", encoding="utf-8") as f:
            f.write("[safe]\n\tdirectory = *\n")  # for root: its git and agent6 work in no repository of somebody else

    def run(self, case, *flags, approve=True):
        """Runs one case; returns the lines of its report. What holds for every case is checked."""
        report = os.path.join(self.lab.ws, "evil.report")
        if os.path.exists(report):
            os.unlink(report)
        argv = [self.program, "run", *(["--auto-approve"] if approve else []), *flags, "evil " + case]
        self.result = subprocess.run(argv, cwd=self.lab.ws, env=self.lab.env, capture_output=True, timeout=300,
                                     stdin=subprocess.DEVNULL)
        return self.judge(report)

    def judge(self, report):
        text = b""
        if os.path.exists(report):
            with open(report, "rb") as f:
                text = f.read()
        out = self.result.stdout + self.result.stderr
        for what in (CANARY.encode(), KEY.encode()):
            assert what not in text, text[-2000:]
            assert what not in out, out[-2000:]
        after = snapshot(self.lab)
        changed = {p for p in set(self.before) | set(after) if self.before.get(p) != after.get(p)}
        git = {p for p in changed if p.startswith(os.path.join(self.lab.ws, ".git"))}
        if git and self.lab.profile == "hardened":
            # Landlock cannot take .git out of the workspace; what was done there is noticed, and ends the run.
            assert self.lab.events("jail.git_changed") and self.result.returncode != 0, changed
            changed -= git
            self.lost_git = True
        assert changed - self.may_change == set(), changed
        assert self.lost_git or [r for r in refs(self.lab) if not re.match(r"refs/(heads/)?agent6/", r)] == self.refs
        assert not os.path.exists(os.path.join(self.lab.ws, "owned")) and not os.path.exists("/tmp/owned")
        assert [p for p in self.left() if p not in self.others] == []
        lines = text.decode("utf-8", "replace").splitlines()
        assert [l for l in lines if l.startswith("FAIL")] == [], out.decode("utf-8", "replace") + text.decode()
        return lines

    def allow_program(self):
        """What the model wrote may be executed, as far as its mode says."""
        os.chmod(os.path.join(self.lab.ws, "x.program"), 0o755)
        self.lab.git("config", "core.fileMode", "false")
        self.before, self.listed = snapshot(self.lab), sorted(os.listdir(self.lab.ws))

    def judge_reader(self, lines):
        """Of a process that may read the workspace: unlike the agent's stand-in it may not write it. A program of the system runs
        there, one that the model wrote does not, and no one outlives the answer (judge looked)."""
        assert sorted(os.listdir(self.lab.ws)) == self.listed
        assert [l for l in lines if l.startswith("FAIL")] and all("workspace" in l for l in lines if l.startswith("FAIL")), lines
        assert int(lines[-1].split()[1]) > 200 and "program 0: 101" in lines and "program 1: 7" in lines, lines
        assert KEY not in str(lines) and CANARY not in str(lines)

    def left(self):
        """Processes of the run that outlived it."""
        found = []
        for p in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{p}/stat", encoding="utf-8", errors="replace") as f:
                    state, ppid = f.read().rsplit(")", 1)[1].split()[:2]
                if ppid == str(os.getpid()) and int(p) != self.mock.proc.pid and state != "Z":
                    found.append(open(f"/proc/{p}/cmdline", encoding="utf-8", errors="replace").read())
            except OSError:
                pass
        return found

    def verified(self):
        r = self.lab.agent6("runs", "verify")
        return r.returncode == 0, r.both


@pytest.fixture(params=["strict", "hardened"])
def evil_of_each_profile(request, lab):
    lab.profile = request.param
    return Evil(lab)


@pytest.fixture(params=["strict", "hardened"])
def evil_profile(request):
    return request.param


@pytest.fixture
def evil(lab):
    return Evil(lab)


@pytest.mark.parametrize("how", ["", "raw "])
def test_the_kernel_refuses_a_taken_over_agent_everything_outside_its_workspace(evil_of_each_profile, how):
    evil = evil_of_each_profile
    lines = evil.run(how + "probe")
    assert lines and lines[-1] == "DONE", lines[-5:] + [evil.result.stderr.decode()]
    holes = [l for l in lines if l.startswith("HOLE")]
    # Before it confines itself, and reads its first byte, openat2 is open to it, whose mode no filter sees.
    holes = [l for l in holes if not (how and "setuid-openat2" in l)]
    with open(EVIL, "rb") as f:  # the sanitizers' run time is allowed these, in their build only
        if b"__asan_init" in f.read():
            holes = [l for l in holes if not re.match(r"HOLE (mmap-exec|mprotect-exec|dumpable) ", l)]
    if evil.lab.profile == "hardened":  # by nature; that it is noticed was asserted
        holes = [l for l in holes if not re.match(r"HOLE (through-link-git|git-\w+) \.git", l)]
    assert holes == []
    assert len([l for l in lines if l.startswith("denied")]) > (180 if evil.lab.profile == "hardened" else 200)
    # A call that the filter refuses says so; EFAULT or EINVAL would mean that the kernel looked at it.
    calls = [l for l in lines if l.startswith(("denied call", "denied socket"))]
    if how:  # before it confines itself it may still give up what it does not have
        calls.remove("denied call capset: EFAULT")
    assert len(calls) > 40
    assert [l for l in calls if not re.search(r": (EPERM|ENOSYS|EACCES)$", l)] == []
    assert "environment has 0" in lines
    ok, said = evil.verified()
    assert ok, said


def holes(lines, *own):
    """What did not fail, but in places that are its own."""
    assert int(lines[-1].split()[3]) == len([l for l in lines if l.startswith("HOLE")]), lines
    return [l for l in lines if l.startswith("HOLE") and not re.match("HOLE (" + "|".join(own or ["$"]) + ")", l)]


def networks(lines):
    return [l for l in lines if l.startswith("net ")]


# A process that may make sockets, in a network with nothing on it: they lead nowhere, and the targets saw nobody.
SOCKETS = [r"socket (unix|tcp|udp|tcp6|netlink) = \d+$"]
OF_ITS_OWN = [r"(create|mkdir|move-out|link-out|symlink-out) (/tmp|/dev/shm)/new ", r"through-link-read /proc/self/environ ",
              r"read /proc/sys/kernel/core_pattern "]


def test_a_taken_over_index_worker_reads_the_workspace_and_nothing_else(evil_profile, lab, servers):  # noqa: F811
    """What parses source files stands beside the run's other processes: it is agent6-index of an agent6 that has another one."""
    for name in ("agent6", "agent6-jail", "agent6-net", "agent6-resolver", "standin"):
        os.makedirs(os.path.join(lab.folder, "bin"), exist_ok=True)
        shutil.copy(os.path.join(conftest.BUILD, name), os.path.join(lab.folder, "bin", name.replace("standin", "agent6-index")))
    lab.profile = evil_profile
    evil = Evil(lab, turn(call("grep", pattern="x")), net_DOT_targets=servers.words(), x_DOT_program="#!/bin/sh\nexit 0\n")
    evil.program = os.path.join(lab.folder, "bin", "agent6")
    evil.allow_program()
    evil.run("index")
    said = json.loads([m["content"] for m in evil.mock.model_requests()[-1]["body"]["messages"] if m["role"] == "tool"][0])
    lines = [m["text"] for m in said.get("matches", [])]
    assert lines, said
    assert holes(lines) == [] and networks(lines) == ["net socketpair reached"] and servers.came == []
    evil.judge_reader(lines)


def test_a_taken_over_language_server_reads_the_workspace_and_nothing_else(evil_profile, lab, servers):  # noqa: F811
    folder = os.path.join(lab.home, ".local", "bin")
    os.makedirs(folder)
    shutil.copy(os.path.join(conftest.BUILD, "standin"), os.path.join(folder, "pyright-langserver"))
    lab.env["PATH"] = folder + ":" + lab.env["PATH"]
    lab.profile = evil_profile
    evil = Evil(lab, turn(call("outline", path="a.py")), extra='[lsp]\nenabled = true\nservers = ["pyright"]\ntimeout_s = 120\n',
                a_DOT_py="def one():\n    pass\n", net_DOT_targets=servers.words(), x_DOT_program="#!/bin/sh\nexit 0\n")
    evil.program = conftest.AGENT6
    evil.allow_program()
    evil.run("language")
    gone = lab.events("lsp.ended")
    assert [g["detail"] for g in gone] == ["it ended with status 3"], gone
    lines = gone[0]["stderr_tail"].splitlines()
    assert holes(lines, *OF_ITS_OWN, *(SOCKETS if evil_profile == "strict" else [])) == [] and servers.came == [], lines
    evil.judge_reader(lines)


def test_a_taken_over_mcp_server_has_its_grant_and_nothing_else(evil_profile, lab, servers):  # noqa: F811
    theirs, granted = (os.path.join(lab.folder, n) for n in ("server", "granted"))
    for folder in (theirs, granted):
        os.makedirs(folder)
        os.chmod(folder, 0o777)
    shutil.copy(os.path.join(conftest.BUILD, "standin"), theirs)
    report = os.path.join(granted, "report")
    state = os.path.join(lab.home, ".local", "state", "agent6")
    hidden = [lab.ws, lab.ws + "/a.txt", lab.ws + "/.git/config", lab.home + "/secret", lab.home + "/.config/agent6/config.toml", state,
              lab.folder + "/work/canary"]
    lab.profile = evil_profile
    lab.env.update(STANDIN_REPORT=report, STANDIN_TARGETS=servers.words(), STANDIN_PATHS=":".join(hidden))
    evil = Evil(lab, extra=f"[mcp.lab]\ncommand = {json.dumps([theirs + '/standin'])}\n"
                f"env = {json.dumps(sorted(n for n in lab.env if n.startswith('STANDIN_')))}\nextra_read_paths = {json.dumps([theirs])}\nextra_write_paths = {json.dumps([granted])}\n")
    evil.program = conftest.AGENT6
    open(report, "w", encoding="utf-8").close()
    os.chmod(report, 0o666)
    evil.before = snapshot(lab)
    evil.may_change = {report}
    evil.run("server")
    with open(report, encoding="utf-8") as f:
        lines = f.read().splitlines()
    assert lines, evil.result
    # It stands in its own HOME, below a /tmp of its own; no repository is there.
    mine = OF_ITS_OWN + [r"(create|mkdir|move-out|link-out|symlink-out) \.\./new "]
    assert holes(lines, *mine, *(SOCKETS if evil_profile == "strict" else [])) == [] and servers.came == [], lines
    assert int(lines[-1].split()[1]) > 200 and "program 1: 7" in lines, lines

# Who of the processes that confine themselves does what the filters do not refuse: it asks for a socket, or hears that it is connected.
TAKEN = {
    "view": [], "recorder": [], "reader": [], "forker": [], "runs": [], "watch": [], "replay": [], "history": [], "memory": [],
    "broker": [r"HOLE socket tcp6? = "],
    "agent6-net": [r"HOLE connect channel = 0$", r"net (pair-path|pair-abstract|socketpair) reached$"],
    "agent6-resolver": [r"HOLE socket (tcp6?|udp) = ", r"net (udp6?|dns) reached$"],
}


def test_a_process_taken_over_once_it_is_confined_reaches_nothing_but_its_own(evil_profile, lab, servers):  # noqa: F811
    """Every program of ours with confine_self wrapped (evil_role.c): what the agent's stand-in tries, each of them tries first."""
    lab.profile = evil_profile
    evil = Evil(lab, extra='[sandbox]\nallow_urls = ["https://nowhere.invalid"]\n')
    folder = os.path.join(lab.folder, "bin")
    os.makedirs(folder)
    for name, built in (("agent6", "taken-agent6"), ("agent6-net", "taken-net"), ("agent6-resolver", "taken-resolver"),
                        ("agent6-jail", "agent6-jail"), ("agent6-index", "agent6-index")):
        shutil.copy(os.path.join(conftest.BUILD, built), os.path.join(folder, name))
    reports = {role: os.path.join(folder, "evil." + role) for role in TAKEN}
    for path in reports.values():
        open(path, "w", encoding="utf-8").close()
        os.chmod(path, 0o666)
    with open(os.path.join(folder, "evil.targets"), "w", encoding="utf-8") as f:
        f.write(servers.words())
    evil.program = os.path.join(folder, "agent6")
    evil.before, evil.may_change = snapshot(lab), set(reports.values())
    evil.run("x", "--run-id", "owned")
    assert evil.result.returncode == 0, evil.result
    for words in (["runs", "list"], ["watch", "owned"], ["replay", "owned"], ["history", "search", "x"], ["memory", "list"],
                  ["fork", "owned", "--auto-approve"]):
        evil.result = subprocess.run([evil.program, *words], cwd=lab.ws, env=lab.env, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
        evil.judge("/nonexistent")
    for role, own in TAKEN.items():
        with open(reports[role], encoding="utf-8") as f:
            lines = f.read().splitlines()
        # No one but the agent writes the workspace, and no key stands in an environment.
        lines = [l for l in lines if not re.match("FAIL (the workspace itself must be writable|symlink in the workspace)$", l)]
        assert lines and lines[-1] == "END" and len([l for l in lines if l.startswith("denied ")]) > 250, (role, lines)
        assert [l for l in lines if l.startswith(("HOLE", "FAIL")) and not any(re.match(o, l) for o in own)] == [], role
        assert [l for l in networks(lines) if l.endswith(" reached") and not any(re.match(o, l) for o in own)] == [], role
    assert set(servers.came) <= {"udp", "udp6"}, servers.came  # a resolver asks whom it likes by UDP (SECURITY.md, P8)


def test_commands_of_a_taken_over_agent_stay_in_their_jail_and_bad_requests_are_refused(evil_of_each_profile):
    evil = evil_of_each_profile
    lines = evil.run("commands")
    ends = dict(re.match(r"run ([\w-]+): (.*)", l).groups() for l in lines if l.startswith("run "))
    assert ends["control"].startswith("why 1 code 0") and evil.lab.read("control") == "ran\n"
    bad = {n: e for n, e in ends.items() if n.startswith("refuse-")}
    assert len(bad) >= 16
    assert {n: e for n, e in bad.items() if not e.startswith(f"why {REFUSED} ")} == {}
    said = "\n".join(l for l in lines if l.startswith("std"))
    for word in ("CONNECTED", "UNSHARED", "MOUNTED", "ENTERED", "CHROOTED"):
        assert word not in said, said
    for name in ("new", "smuggled", "late"):
        assert not os.path.exists(os.path.join(evil.lab.ws, name)), name
    ok, text = evil.verified()
    assert ok, text


def test_git_does_what_is_in_its_table_and_runs_nothing_of_the_repository(evil_of_each_profile):
    evil = evil_of_each_profile
    lines = evil.run("git")
    ends = dict(re.match(r"git ([\w-]+): (.*)", l).groups() for l in lines if l.startswith("git "))
    assert ends["control"].startswith("why 1 code 0")
    bad = {n: e for n, e in ends.items() if n.startswith("refuse-")}
    assert len(bad) >= 20
    assert {n: e for n, e in bad.items() if not e.startswith(f"why {REFUSED} ")} == {}
    tree = [l.split()[1][:40] for l in lines if re.match(r"stdout [0-9a-f]{40}\\x0a$", l)][-1]
    names = evil.lab.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree).split("\0")
    assert [n for n in names if n.startswith("/") or ".." in n] == []
    # None that a file system somewhere takes for the repository: cases folded, short names, what nobody sees left out.
    parts = {"".join(c for c in part if unicodedata.category(c) != "Cf").lower() for n in names for part in n.split("/")}
    assert names and parts & {".git", "git~1"} == set(), names
    assert not evil.lab.git("ls-tree", tree, ".gitmodules").startswith("120000")
    assert {n for n, e in ends.items() if e == "no answer"} == set()
    # Nor does anything run later, in the hands of the person.
    evil.lab.git("status", "--ignore-submodules=all")
    assert not os.path.exists(os.path.join(evil.lab.ws, "owned"))


def test_the_client_sends_to_the_configured_provider_only_and_shows_no_key(evil_of_each_profile):
    evil = evil_of_each_profile
    lines = evil.run("client")
    ends = dict(re.match(r"req ([\w-]+): (.*)", l).groups() for l in lines if l.startswith("req "))
    assert ends["control"].startswith("outcome 0"), lines
    bad = {n: e for n, e in ends.items() if n.startswith("refuse-")}
    assert len(bad) == 9 and {n: e for n, e in bad.items() if not e.startswith("outcome 8 ")} == {}
    # What it sent as a body stayed a body of the one path.
    assert {r["path"] for r in evil.mock.requests()} == {"/v1/chat/completions"}


@pytest.mark.parametrize("mode", [["ask"], ["plan", "new"]])
def test_who_may_only_look_changes_nothing_even_when_taken_over(evil_of_each_profile, mode):
    evil = evil_of_each_profile
    lab, head = evil.lab, evil.lab.git("rev-parse", "HEAD").strip()
    evil.result = subprocess.run([EVIL, *mode, "--auto-approve", "--run-id", "owned", "evil look " + head], cwd=lab.ws,
                                 env=lab.env, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
    evil.judge("/nonexistent")
    bucket = {"ask": "asks", "plan": "plans"}[mode[0]]
    state = os.path.join(lab.home, ".local", "state", "agent6")
    repo, = glob.glob(os.path.join(state, "*", ""))  # beside it lies crashes.jsonl
    with open(os.path.join(repo, bucket, "owned", "record", "result.md"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    assert [l for l in lines if l.startswith("HOLE")] == [], lines
    assert len([l for l in lines if l.startswith("denied")]) == 7, lines
    assert len([l for l in lines if re.match(r"run command: why 1 ", l)]) == 2, lines
    assert [l for l in lines if re.match(r"run background: why 6 ", l)] != [], lines
    assert [l for l in lines if re.match(r"git control: why 1 code 0", l)] != [], lines
    assert [l for l in lines if re.match(r"git (commit|ref|branch): why 1 code 0", l)] == [], lines
    assert lab.read("a.txt") == "one\n" and lab.read("b.c") == "int b;\n"
    assert sorted(os.listdir(lab.ws)) == [".git", "a.txt", "b.c"]
    assert refs(lab) == evil.refs
    assert not os.path.exists(os.path.join(repo, "memories"))


@pytest.mark.parametrize("how", ["waits", "hurries"])
@pytest.mark.parametrize("what", ["commit", "request", "call", "nothing"])
def test_a_taken_over_agent_has_no_record_of_work_thrown_away(evil_of_each_profile, what, how):
    """Commits, model requests and calls that nobody is asked about: who does them tells the monitor."""
    evil, lab = evil_of_each_profile, evil_of_each_profile.lab
    head = lab.git("rev-parse", "HEAD").strip()
    if what == "call":
        server = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_server.py")
        with open(os.path.join(lab.home, ".config", "agent6", "config.toml"), "a", encoding="utf-8") as f:
            f.write(f'\n[mcp.lab]\ncommand = ["python3", "{server}"]\nextra_read_paths = ["{os.path.dirname(server)}"]\n'
                    'approval = "yes"\n')
        evil.before = snapshot(lab)
    lines = evil.run(f"gone {what} {how} {head}", "--run-id", "owned")
    runs = glob.glob(os.path.join(lab.home, ".local/state/agent6/*/runs/owned"))
    moved = [r for r in refs(lab) if r == f"refs/agent6/owned/head {head}"]
    if what == "nothing":
        assert runs == [] and evil.result.returncode == 2 and b"nothing was done" in evil.result.stderr, evil.result
        return
    if how == "waits":
        assert {"commit": "git ref: why 1 code 0 ", "request": "request: answered", "call": "call: said"}[what] in lines
        assert bool(moved) is (what == "commit") and len(evil.mock.requests()) == (what == "request")
    if how == "waits" or moved or evil.mock.requests():
        assert len(runs) == 1 and evil.result.returncode == 1
        assert [e["reason"] for e in lab.events("run.end")] == ["protocol"]


@pytest.mark.parametrize("how", ["", "raw "])
def test_an_agent_that_hangs_up_on_the_monitor_and_lives_on_ends_its_run(evil_of_each_profile, how):
    evil, lab = evil_of_each_profile, evil_of_each_profile.lab
    assert evil.run(how + "hang-up") == ["hung up"]
    assert evil.result.returncode == 1 and b"the agent's channel ended, and its process was not reported" in evil.result.stderr, evil.result
    assert [e["reason"] for e in lab.events("run.end")] == ["crashed"]


@pytest.mark.parametrize("gate, says", [
    (["false"], b"the gate was run again on what would be merged and ended with 1"),
    (["grep", "-q", "two", "a.txt"], b"the gate was run again on what would be merged and ended with 1"),
    (["sh", "-c", "echo three > a.txt"], b"changed what would be merged: a.txt"),
    (["sh", "-c", "grep -q one ?.txt"], b"since the work tree is not that: a.txt"),
], ids=["red", "red on what is committed", "it changes what is merged", "green on other files"])
def test_a_taken_over_agent_that_says_it_is_green_is_not_believed(evil_of_each_profile, gate, says):
    """git.auto_merge: the gate is run once more, on what would be merged, when nobody of the run is there any more."""
    evil, lab = evil_of_each_profile, evil_of_each_profile.lab
    same = b"work tree" not in says
    tree = lab.git("rev-parse", "HEAD^{tree}").strip()
    if not same:  # a commit with another a.txt than the one that lies there
        blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=lab.ws, env=lab.env, input=b"planted\n", capture_output=True,
                              check=True).stdout.decode().strip()
        tree = subprocess.run(["git", "mktree"], cwd=lab.ws, env=lab.env, capture_output=True, check=True, text=True,
                              input=lab.git("ls-tree", "HEAD").replace(lab.git("rev-parse", "HEAD:a.txt").strip(), blob)).stdout.strip()
    sha = lab.git("commit-tree", "-p", "HEAD", "-m", "owned", tree).strip()
    path = os.path.join(lab.home, ".config", "agent6", "config.toml")
    with open(path, encoding="utf-8") as f:
        config = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'git.auto_merge = true\ngit.merge_strategy = "ff"\n{config}\n[workflow]\nverify_command = {json.dumps(gate)}\n')
    evil.before = snapshot(lab)
    lines = evil.run(f"green {sha}", "--run-id", "owned")
    assert "git ref: why 1 code 0 " in lines and f"refs/agent6/owned/head {sha}" in refs(lab), lines
    out = evil.result.stdout + evil.result.stderr
    assert b"merged owned into" not in out and evil.result.returncode == 1 and says in out, out


@pytest.mark.parametrize("policy", ["no", "ask"])
def test_no_command_runs_without_the_approval_that_is_demanded(evil_of_each_profile, policy):
    evil = evil_of_each_profile
    ran = os.path.join(evil.lab.ws, "without-approval")
    if policy == "no":
        lines = evil.run("approval", "--no-commands", approve=False)
        assert len([l for l in lines if l.startswith("asked") and f"why {DENIED} " in l]) == 4, lines
    else:
        lines = run_attended(evil, "approval")
        assert len([l for l in lines if l.startswith("asked") and l.endswith("no answer")]) == 5, lines
        # The operator sees the words that would run, where, whole or not at all; and sees them last.
        prompts = [p["prompt"] for p in evil.lab.events("approval.prompt")]
        real = "Allow run_command: touch without-approval"
        stays = real.replace(":", " in the background, until the run ends:")
        called = real.replace(":", ", which the agent calls the gate:")
        assert prompts == [real, called, stays, real + " (in answers)"]
        assert [l for l in lines if l.startswith("long")][0].startswith(f"long command: why {DENIED} "), lines
        screen = evil.result.stdout.decode("utf-8", "replace")
        assert "harmless" in screen and screen.rindex(real) > screen.rindex("harmless")
        assert "\x1b[2J" not in screen
    assert not os.path.exists(ran)
    # It is killed as it is hung up on; a word it still gets out in that instant changes nothing.
    assert "recorder dropped" in lines and "zygote KEPT" not in lines
    assert [e for e in evil.lab.events("approval.answer") if e["approved"]] == []
    ok, said = evil.verified()
    assert ok, said


def run_attended(evil, case, *then, spare=0):
    """At a terminal. then: (what is to be seen behind what was seen last, what is done) in that order; nobody types else. The last
    of them, so many, need not come."""
    report = os.path.join(evil.lab.ws, "evil.report")
    leader, follower = pty.openpty()
    p = subprocess.Popen([EVIL, "run", "evil " + case], cwd=evil.lab.ws, env=evil.lab.env, stdin=follower,
                         stdout=follower, stderr=follower, start_new_session=True)
    os.close(follower)
    out, at, then = b"", 0, list(then)
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
        while then and then[0][0] in out[at:]:
            seen, act = then.pop(0)
            at = out.index(seen, at) + len(seen)
            act(leader) if callable(act) else os.write(leader, act)
    os.close(leader)
    p.wait(timeout=300)
    evil.result = subprocess.CompletedProcess(p.args, p.returncode, out, b"")
    assert len(then) <= spare, out
    return evil.judge(report)


def test_one_message_against_the_rules_ends_that_channel(evil_of_each_profile):
    """Wrong types, directions, lengths, descriptors, numbers; records that are not its to write."""
    evil = evil_of_each_profile
    kept, seen = [], 0
    case, least = ("break", 60) if evil.lab.profile == "strict" else ("break-jails", 25)  # recorder and client are the same there
    for nth in range(1000):
        lines = evil.run(f"{case} {nth}")
        if any(l.startswith("no breach") for l in lines):
            break
        told = [l for l in lines if l.startswith("breach ")]
        # The monitor kills who breaks its rules, so the report may end before the word.
        kept += [l for l in told if l.endswith("KEPT")]
        seen += 1
        ok, said = evil.verified()
        assert ok, (told, said)
    assert seen > least and kept == []
    for run in evil.lab.run_dirs():
        assert sorted(os.listdir(run)) == ["answers", "record", "run.lock"], run
        assert os.listdir(os.path.join(run, "answers")) == []
        with open(os.path.join(run, "record", "manifest.json"), encoding="utf-8") as f:
            manifest = json.load(f)
        assert (manifest["base_branch"], manifest["base_sha"]) == ("main", evil.lab.git("rev-parse", "main").strip())
        assert manifest["user_task"].startswith(f"evil {case}") and manifest["policy"]["isolation"] != "none"
        assert "merged" not in manifest
    assert not os.path.exists(os.path.join(evil.lab.ws, "without-approval"))


def test_one_message_against_the_rules_to_the_monitor_ends_the_run(evil):
    """Who sent it stays and waits; a packet without a byte is no end of its channel, which would leave the run without one."""
    for nth in range(1000):
        if any(l.startswith("no breach") for l in evil.run(f"break-monitor {nth}")):
            break
        end = evil.lab.events("run.end")[-1]
        assert (evil.result.returncode, end["reason"]) == (1, "protocol"), (nth, end)
        assert end["message"].startswith("the agent broke a rule of its channel: "), (nth, end)
    assert nth > 10


def test_what_a_merge_changes_and_a_diff_begins_with_is_not_the_agents_to_say(evil):
    """It says nothing of either here, and what it says is refused there (test_one_message_...): both are known."""
    lab, start = evil.lab, evil.lab.git("rev-parse", "main").strip()
    lab.git("branch", "release")
    evil.before, evil.refs = snapshot(lab), refs(lab)
    evil.run("break 9999")
    # The chain is the run's own, so the agent may have anything on it: two steps here, of which the last looks harmless.
    tip, run = start, os.path.basename(lab.run_dirs()[-1])
    for name in ("owned.txt", "harmless.txt"):
        lab.write(name, "x\n")
        lab.git("add", name)
        tree = lab.git("write-tree").strip()
        tip = lab.git("commit-tree", tree, "-p", tip, "-m", name).strip()
    lab.git("reset", "-q", "--hard")
    lab.git("update-ref", f"refs/agent6/{run}/head", tip)
    assert "owned.txt" in lab.agent6("runs", "diff", run).both
    merged = lab.agent6("runs", "merge", run)
    assert merged.returncode == 0, merged.both
    assert lab.git("show", "main:owned.txt") == "x\n" and lab.git("rev-parse", "release").strip() == start


def test_thousands_of_made_up_messages_on_every_channel_open_nothing(evil_of_each_profile):
    evil = evil_of_each_profile
    sent = [0] * 5
    for seed in range(FUZZ_RUNS):
        for line in evil.run(f"fuzz {seed}"):
            if line.startswith("sent "):
                sent = [a + int(b) for a, b in zip(sent, line.split()[1:])]
        assert evil.result.returncode != -signal.SIGKILL
        ok, said = evil.verified()
        assert ok, (seed, said)
        assert evil.mock.requests() == [], (seed, json.dumps(evil.mock.requests()))
    # Each channel had its share: how many go before one breaks a rule, and ends the run for all, is the dice's.
    assert sum(sent) >= 50 * FUZZ_RUNS and min(sent) >= 5 * FUZZ_RUNS, sent


def test_a_repository_that_a_taken_over_agent_makes_is_set_aside_when_nobody_can_make_another(lab):
    """It says that the run is over and goes on making it: the last look is the jail's, when the agent is dead."""
    if not os.path.exists(EVIL):
        missing(f"{EVIL} is not built (meson option tests)")
    mock = lab.mock(script(finish()))
    r = subprocess.run([EVIL, "run", "--auto-approve", "evil raw repository"], cwd=lab.ws, env=lab.env, timeout=300,
                       capture_output=True, stdin=subprocess.DEVNULL)
    assert "repository made" in lab.read("evil.report"), r
    assert mock.requests() == []
    found = lab.events("jail.git_quarantined")
    assert [e["moved_to"] for e in found] == [".git.quarantined-1"], (found, r)
    assert found[0]["path"] == os.path.join(lab.ws, ".git")
    assert b".git.quarantined-1 now" in r.stdout + r.stderr
    assert not os.path.lexists(os.path.join(lab.ws, ".git"))
    for where in (lab.ws, os.path.join(lab.ws, ".git.quarantined-1")):
        git = subprocess.run(["git", "status"], cwd=where, env=lab.env, capture_output=True, check=False)
        assert git.returncode == 128 and b"not a git repository" in git.stderr, (where, git)
        assert not os.path.exists(os.path.join(where, "owned"))
    assert lab.agent6("runs", "verify").returncode == 0
