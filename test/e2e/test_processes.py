# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The processes of a run's commands: what a time limit takes along, what a command is given and what it reports, and that
many commands one after another leave nothing behind."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess

import pytest

import conftest
from conftest import AGENT6, call, finish, script, turn
from story import become_reaper, nobody_left
from test_faults import process, tree

MANY = 1000 if os.environ.get("AGENT6_SOAK") else 150

STUBBORN = """
import fcntl, os, resource, signal, sys

how = sys.argv[1]
lock = open("lock", "w")  # every child holds it too: whoever lives, it is taken
fcntl.flock(lock, fcntl.LOCK_EX)
for s in set(range(1, 32)) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(s, signal.SIG_IGN)
print("up", flush=True)
if how == "daemon" and os.fork() == 0:
    os.setsid()
    os.fork()
if how == "stopped":
    os.fork()
    os.kill(os.getpid(), signal.SIGSTOP)
if how == "bomb":
    resource.setrlimit(resource.RLIMIT_NPROC, (200, 200))
while True:
    if how == "bomb":
        try:
            os.fork()
        except OSError:
            pass
    else:
        signal.pause()
"""


def results(m):
    """What the model was told of each call, in order."""
    messages = m.model_requests()[-1]["body"]["messages"]
    return [json.loads(x["content"]) for x in messages if x["role"] == "tool"]


@pytest.mark.parametrize("how,end", [("daemon", "limit"), ("stopped", "limit"), ("bomb", "limit"), ("bomb", "stop")])
def test_a_command_ends_with_all_it_started_whatever_that_does(lab, how, end):
    lab.repo(stubborn_DOT_py=STUBBORN)
    argv = ["python3", "stubborn.py", how]
    free = call("run_command", argv=["flock", "-n", "lock", "echo", "free"])
    if end == "limit":
        steps = [turn(call("run_command", argv=argv), free)]
    else:
        up = "import fcntl\nf = open('lock', 'a')\nwhile 1:\n try:\n  fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)\n" \
             "  fcntl.flock(f, fcntl.LOCK_UN)\n except OSError: break"
        steps = [turn(call("run_command", argv=argv, background=True), call("run_command", argv=["python3", "-c", up]),
                      call("stop_background", id="bg1"), free)]
    become_reaper()
    for limit in (2, 20, 200) if end == "limit" else (120,):
        m = lab.mock(script(*steps, finish()), extra=f"[workflow]\ncommand_timeout_s = {limit}\n")
        r = lab.run()
        assert r.returncode == 0, r.both
        got = results(m)
        if end != "limit" or got[0]["stdout"] == "up\n":  # it was what it is to be when its time was over
            break
    if end == "limit":
        assert got[0]["returncode"] == 124 and got[0]["timed_out"] is True and got[0]["timeout_s"] == limit, got[0]
        assert got[0]["stdout"] == "up\n"
    else:
        assert got[2]["shells"] == ["[bg1] stopped: python3 stubborn.py bomb"], got
    assert got[-1]["stdout"] == "free\n", got
    nobody_left(lab)


REPORTS = [
    # the words, the status, and what the result says besides
    (["sh", "-c", "exit 7"], 7, {}),
    (["sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM, {}),
    (["sh", "-c", "kill -SEGV $$"], 128 + signal.SIGSEGV, {}),
    (["no-such-program"], 127, {"exec_failed": True}),
    (["./stubborn.py"], 127, {"exec_failed": True}),
    (["sh", "-c", "cat; echo $?"], 0, {"stdout": "0\n"}),
    (["printf", r"a\377b\000c"], 0, {"stdout": "a\ufffdb\0c"}),
    (["sh", "-c", "echo out; echo err >&2"], 0, {"stdout": "out\n", "stderr": "err\n", "exec_failed": False}),
    (["sh", "-c", "(sleep 1000 &) ; echo held"], 0, {"stdout": "held\n"}),
    (["python3", "-c", "import os; print(*[(f, os.readlink('/proc/self/fd/' + f).split(':')[0]) for f in "
      "sorted(os.listdir('/proc/self/fd')) if os.path.islink('/proc/self/fd/' + f)])"], 0,
     {"stdout": "('0', '/dev/null') ('1', 'pipe') ('2', 'pipe')\n"}),
    (["sh", "-c", "tr '\\0' '\\n' < /proc/self/environ | sed 's/=.*//' | sort | tr '\\n' ' '"], 0,
     {"stdout": re.compile(r"(HOME|LANG|LC_ALL|PATH|TERM|TMPDIR|USER|LOGNAME|SHELL|GIT_\w+| )*")}),
    (["sh", "-c", "cat /proc/1/environ /proc/1/cmdline 2>/dev/null | tr '\\0' ' '"], None, {"stdout": re.compile(r"(?!.*KEY)(?!.*TASKWORD).*")}),
    (["python3", "-c", "x = bytearray(200 << 20)"], 1, {"stderr": re.compile(r"(?s).*MemoryError.*")}),
]


def test_a_command_reports_how_it_ended_and_is_given_nothing_of_ours(lab):
    """Status, streams and flags of every kind of end; its descriptors, its environment and its memory limit."""
    lab.repo(stubborn_DOT_py=STUBBORN)
    os.chmod(os.path.join(lab.ws, "stubborn.py"), 0o644)
    m = lab.mock(script(turn(*(call("run_command", argv=argv) for argv, _, _ in REPORTS)), finish()),
                 extra="[sandbox]\nmemory_limit_mb = 100\n")
    become_reaper()
    r = lab.run("TASKWORD", env={"SECRET_KEY": "not-for-commands"})
    assert r.returncode == 0, r.both
    for (argv, status, more), got in zip(REPORTS, results(m)):
        assert status is None or got["returncode"] == status, (argv, got)
        assert got["duration_s"] >= 0, got
        for key, want in more.items():
            assert want.fullmatch(got[key]) if isinstance(want, re.Pattern) else got[key] == want, (argv, got)
    nobody_left(lab)


# ---- many, one after another ----

def grown(pid):
    """What of a process may grow: memory, and, where the process does not keep an ordinary user out, descriptors and mounts."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        status = dict(l.rstrip("\n").split(":\t", 1) for l in f if ":\t" in l)
    n = {"kib": int(status["VmRSS"].split()[0])}
    try:
        with open(f"/proc/{pid}/mountinfo", "rb") as f:
            n["mounts"] = len(f.readlines())
        n["fds"] = len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        assert os.geteuid() != 0, pid
    return n


def zombies_below(top):
    inside, dead = set(tree(top)), 0
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat", encoding="utf-8", errors="replace") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        dead += fields[0] == "Z" and int(fields[1]) in inside
    return dead


GROWN_KIB = {"agent": 8 * 1024}  # the conversation is in it; of the others a page here and there
GROWN_OTHERS_KIB = 512


def test_many_commands_leave_no_descriptor_mount_zombie_or_memory_behind(lab):
    """Counted at two commands that stand still, the tenth and the last."""
    lab.repo()
    os.mkfifo(os.path.join(lab.ws, "hold"))
    held = [10, MANY - 1]
    commands = [call("run_command", argv=["sh", "-c", f": >at-{i}; read x <hold; rm at-{i}"] if i in held else ["true", str(i)])
                for i in range(MANY)]
    lab.mock(script(*(turn(*commands[i:i + 50]) for i in range(0, MANY, 50)), finish()))
    become_reaper()
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "many"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    who = ["monitor", "zygote", "cell", "git zygote", "git cell", "agent", "client", "broker", "recorder", "spawner", "view"]
    seen = []
    for i in held:
        lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, f"at-{i}")) or p.poll() is not None, 300)
        assert p.poll() is None, p.communicate()[0]
        seen.append({name: grown(process(p.pid, name)) for name in who})
        assert zombies_below(p.pid) == 0
        with open(os.path.join(lab.ws, "hold"), "w", encoding="ascii"):
            pass
    out = p.communicate(timeout=300)[0]
    assert p.returncode == 0, out
    for name in who:
        first, last = (s[name] for s in seen)
        spare = 2 if name in ("client", "broker") else 0  # a connection that is kept, or is not
        assert all(abs(last[k] - first[k]) <= spare for k in first if k != "kib"), (name, first, last)
        assert last["kib"] - first["kib"] <= GROWN_KIB.get(name, GROWN_OTHERS_KIB), (name, first, last)
    took = [e["duration_s"] for e in lab.events("tool.result") if "duration_s" in e]
    assert len(took) == MANY
    nobody_left(lab)


# ---- background commands and deaths ----

def test_a_killed_run_takes_its_background_commands_along_and_the_next_leg_is_told(lab):
    lab.repo(stubborn_DOT_py=STUBBORN)
    os.mkfifo(os.path.join(lab.ws, "hold"))
    lab.mock(script(turn(call("run_command", argv=["python3", "stubborn.py", "daemon"], background=True)),
                    turn(call("run_command", argv=["sh", "-c", "touch started; cat hold"])), finish()))
    become_reaper()
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "hold"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "lock")))
    live = [{"id": "bg1", "command": "python3 stubborn.py daemon"}]
    assert json.loads(lab.agent6("runs", "show", "--json").out)["background"] == live
    os.kill(p.pid, signal.SIGKILL)
    p.wait(300)
    nobody_left(lab)
    assert json.loads(lab.agent6("runs", "show", "--json").out)["background"] == []
    m = lab.mock(script(finish()))
    r = lab.agent6("resume", "--auto-approve")
    assert r.returncode == 0, r.both
    told = json.dumps(m.model_requests()[0]["body"]["messages"][-1])
    assert "ended with the last leg: bg1: python3 stubborn.py daemon" in told, told
    assert "in the background, ended with the last leg: bg1" in r.both


def test_under_hardened_a_background_command_ends_with_all_it_started_too(lab):
    lab.repo()
    os.mkfifo(os.path.join(lab.ws, "ready"))
    if os.geteuid() == 0:  # it becomes the workspace's owner there
        subprocess.run(["chown", "-R", "65533:65533", lab.ws], check=True)
        subprocess.run(["git", "config", "--global", "safe.directory", lab.ws], env=lab.env, check=True)
    daemon = "echo up; setsid sh -c 'trap \"\" TERM; while :; do sleep 100; done' & sleep 1000"
    m = lab.mock(script(turn(call("run_command", argv=["sh", "-c", daemon.replace(";", "; echo now >ready;", 1)], background=True)),
                        turn(call("run_command", argv=["sh", "-c", "read said <ready; setsid sleep 1000 & echo $said"])),
                        turn(call("stop_background", id="bg1")),
                        turn(call("run_command", argv=["sh", "-c", daemon], background=True)), finish()),
                 extra='[sandbox]\nprofile = "hardened"\n')
    become_reaper()
    keep = ("HOME", "LANG", "TERM", "MOCK_API_KEY", "AGENT6_ALLOW_ROOT")  # no tools of a home that the owner cannot enter
    lab.env = dict({k: v for k, v in lab.env.items() if k in keep}, PATH="/usr/bin:/bin")
    r = lab.run()
    assert r.returncode == 0, r.both
    got = results(m)
    assert got[1]["stdout"] == "now\n" and got[2]["shells"][0].startswith("[bg1] stopped") and got[2]["output"] == "up\n", got
    assert [e["state"] for e in lab.events("command.ended")] == ["stopped", "stopped with the run"]
    nobody_left(lab)


# ---- fork bombs without a namespace around them ----

BOMB, JAIL = (os.path.join(conftest.BUILD, name) for name in ("bomb", "agent6-jail"))
ROOM = 640           # RLIMIT_NPROC of who starts the jail, above what the user runs already
MADE_IN_ALL = 40000  # what no jail bounds for root ends by itself
LIMIT = ["python3", "-c", "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC)[1])"]
FREE = ["flock", "-n", "lock", "echo", "free"]  # each process of a bomb holds it


def threads_of(uid):
    """How much of that user's RLIMIT_NPROC is used."""
    n = 0
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/status", encoding="utf-8", errors="replace") as f:
                status = dict(l.split(":\t", 1) for l in f if ":\t" in l)
            n += int(status["Threads"]) if int(status["Uid"].split()[0]) == uid else 0
        except (OSError, KeyError):
            pass
    return n


def bombs(where):
    """The living processes of a bomb that stands in this directory."""
    found = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/cmdline", "rb") as f:
                found += [int(p)] if f.read().startswith(os.path.join(where, "bomb").encode() + b"\0") else []
        except OSError:
            pass
    return found


def bomb_in(lab, uid):
    """Its words, and what who starts it has to bound it by. The bomb itself keeps below that for root, whom no limit holds."""
    if not os.path.exists(BOMB):
        conftest.missing(f"{BOMB} is not built (meson option tests)")
    shutil.copy(BOMB, lab.write("bomb", "", 0o755))
    room = threads_of(uid) + ROOM

    def before():
        resource.setrlimit(resource.RLIMIT_NPROC, (room, room))

    before.room = room
    return [os.path.join(lab.ws, "bomb"), "0", str(MADE_IN_ALL if uid else ROOM)], before


def left_to_commands(room):
    """Of what a user may have in all; the rest is for what that user starts meanwhile."""
    return room - min(room // 8, 256)


def one_hardened(lab, argv, limit, before=None):
    policy = {"profile": "hardened", "cwd": lab.ws, "argv": argv, "network": "none", "env": [["PATH", "/usr/bin:/bin"]], "timeout_s": limit}
    r = subprocess.run([JAIL], input=json.dumps(policy), capture_output=True, text=True, timeout=300, preexec_fn=before)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


def test_under_hardened_a_fork_bomb_of_one_command_ends_with_its_time(lab):
    lab.repo()
    argv, before = bomb_in(lab, os.geteuid())
    assert int(one_hardened(lab, LIMIT, 100, before)["stdout"]) == left_to_commands(before.room)
    for limit in (2, 20, 100):
        r = one_hardened(lab, argv, limit, before)
        assert r["returncode"] == 124 and r["timed_out"] is True, r
        assert bombs(lab.ws) == []
        if r["stdout"] == "up\n":  # it was what it is to be when its time was over
            break
    assert r["stdout"] == "up\n", r
    assert one_hardened(lab, FREE, 100)["stdout"] == "free\n"


def test_under_hardened_a_fork_bomb_ends_with_its_time_and_the_run_goes_on(lab):
    lab = conftest.as_hardened(lab, root=True)
    lab.repo()
    argv, before = bomb_in(lab, lab.owner or os.geteuid())
    become_reaper()
    for limit in (2, 20, 100):
        m = lab.mock(script(turn(call("run_command", argv=argv), call("run_command", argv=FREE), call("run_command", argv=LIMIT)), finish()),
                     extra=f"[workflow]\ncommand_timeout_s = {limit}\n")
        r = lab.run(preexec_fn=before)
        assert r.returncode == 0, r.both
        got = results(m)
        assert got[0]["returncode"] == 124 and got[0]["timed_out"] is True and got[1]["stdout"] == "free\n", got
        assert int(got[2]["stdout"]) == left_to_commands(before.room), got
        if got[0]["stdout"] == "up\n":
            break
    assert got[0]["stdout"] == "up\n", got
    nobody_left(lab)


# ---- what surrounds them ----

def test_a_command_that_shuts_the_work_tree_is_told_and_ends_with_status_5(lab):
    """No later step can be recorded: the model hears it, and the end says what is in no step."""
    lab.repo()
    m = lab.mock(script(turn(call("apply_edit", path="a.txt", edits=[{"kind": "create", "new_string": "x\n"}])),
                        turn(call("run_command", argv=["chmod", "000", "."])), finish()))
    r = lab.run()
    os.chmod(lab.ws, 0o755)
    assert r.returncode == 5 and "what was done last is in no step: " in r.both, r.both
    assert "could not be recorded as a step" in json.dumps(m.model_requests()[-1]["body"]["messages"][-1])
    end = lab.events("run.end")[-1]
    assert end["exit_code"] == 5 and end["reason"] == "finish_run" and "uncommitted" not in end, end
    assert end["commits"] == 1 and "Permission denied" in lab.events("loop.auto_commit.failed")[-1]["error"]


@pytest.mark.parametrize("broken,words,status,said", [
    ("agent6-net", ["run", "--auto-approve", "hi"], 1, "agent6-net died while it was starting"),
    ("agent6-resolver", ["run", "--auto-approve", "hi"], 1, "agent6-resolver died while it was starting"),
    ("agent6-jail", ["run", "--auto-approve", "hi"], 1, "died while it was starting"),
    ("agent6-jail", ["check", "sandbox"], 1, "agent6-jail gave no result"),
])
def test_a_program_that_answers_nothing_is_named(lab, broken, words, status, said):
    """What an interrupted installation leaves: a program that ends without a word."""
    lab.repo()
    lab.mock(script(finish()), top='[sandbox]\nallow_urls = ["names.example"]\n')
    place = os.path.join(lab.folder, "installed")
    os.mkdir(place)
    for name in ("agent6", "agent6-jail", "agent6-net", "agent6-index", "agent6-resolver"):
        shutil.copy(os.path.join(os.path.dirname(AGENT6), name), place)
    shutil.copy("/bin/false", os.path.join(place, broken))
    r = subprocess.run([os.path.join(place, "agent6"), *words], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=300)
    assert r.returncode == status and said in r.stdout + r.stderr, r.stdout + r.stderr
    assert not lab.run_dirs()


@pytest.mark.parametrize("absent", ["agent6-jail", "agent6-net", "agent6-index", "agent6-resolver"])
def test_a_program_that_is_not_installed_is_named(lab, absent):
    lab.repo()
    lab.mock(script(finish()))
    place = os.path.join(lab.folder, "installed")
    os.mkdir(place)
    for name in {"agent6", "agent6-jail", "agent6-net", "agent6-index", "agent6-resolver"} - {absent}:
        shutil.copy(os.path.join(os.path.dirname(AGENT6), name), place)
    r = subprocess.run([os.path.join(place, "agent6"), "run", "--auto-approve", "hi"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=300)
    assert r.returncode != 0 and f"{absent} is not beside agent6 in {place}" in r.stderr and "five programs" in r.stderr, r.stderr
    assert not lab.run_dirs()


def test_a_stack_that_is_too_small_is_said(lab):
    lab.repo()

    def small():
        resource.setrlimit(resource.RLIMIT_STACK, (64 * 1024, 64 * 1024))

    for program, stdin in ((AGENT6, None), (os.path.join(os.path.dirname(AGENT6), "agent6-jail"), "{}")):
        r = subprocess.run([program] + (["check"] if stdin is None else []), cwd=lab.ws, env=lab.env, input=stdin,
                           capture_output=True, text=True, preexec_fn=small, timeout=300)
        assert r.returncode == 2 and "the limit of the stack's size is 64 KiB here, and 512 KiB are needed" in r.stderr, r.stderr
    # A soft limit is no obstacle: it is raised.
    r = subprocess.run([AGENT6, "exec", "echo", "works"], cwd=lab.ws, env=lab.env, capture_output=True, text=True, timeout=300,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (64 * 1024, resource.RLIM_INFINITY)))
    assert r.stdout == "works\n", r.stderr


@pytest.mark.parametrize("profile,said", [("strict", "running as root: commands run as the unprivileged id 64006"),
                                          ("hardened", "running as root: commands run as the owner of the workspace, id 65533"),
                                          ("none", "UNSANDBOXED: the model's commands run as root")])
def test_root_is_told_once_as_whom_commands_run_and_that_is_true(lab, profile, said):
    root = os.geteuid() == 0
    lab.repo()
    if root:
        subprocess.run(["chown", "-R", "65533:65533", lab.ws], check=True)
        subprocess.run(["git", "config", "--global", "safe.directory", lab.ws], env=lab.env, check=True)
    lab.env = dict({k: v for k, v in lab.env.items() if k in ("HOME", "LANG", "TERM", "MOCK_API_KEY", "AGENT6_ALLOW_ROOT")}, PATH="/usr/bin:/bin")
    lab.mock(script(turn(call("run_command", argv=["id", "-u"])), finish()), extra=f'[sandbox]\nprofile = "{profile}"\n')
    r = lab.agent6("exec", "id", "-u")
    assert r.err.count(said) == root and r.err.count("as root") == root, r.both
    whose = {"strict": "64006", "hardened": "65533", "none": "0"}[profile] if root else str(os.geteuid())
    assert r.out == whose + "\n", r.both
    r = lab.run()
    assert r.returncode == 0 and r.both.count(said) == root and r.both.count("as root") == root, r.both


def test_root_hears_nothing_of_commands_where_none_runs(lab):
    lab.repo()
    for words in (["exec", "--nosuchflag", "true"], ["run"], ["config", "show"], ["init", "--help"], ["runs", "list"], ["plan", "show"],
                  ["config", "set", "budget.max_usd", "1"]):
        r = lab.agent6(*words)
        assert "as root" not in r.err, (words, r.both)


def test_the_demo_says_as_whom_commands_run_once(lab):
    r = lab.agent6("demo")
    assert r.returncode == 0 and r.both.count("running as root") == (os.geteuid() == 0), r.both
