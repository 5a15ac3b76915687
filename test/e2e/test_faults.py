# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Deaths and bad places: each of our processes killed at several points of a run, signals to the run, a disk that is
full, a terminal that goes away, two runs at once. Whatever happens, nothing of the run stays, what was recorded
proves itself, the repository is where it was, and the next run works."""
import json
import os
import pty
import re
import signal
import subprocess
import threading

import pytest

from conftest import AGENT6, as_hardened, call, finish, missing, script, turn
from story import become_reaper, nobody_left
from test_terminal import screen  # noqa: F401  (a fixture)


# ---- processes ----

def parents():
    found = {}
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat", encoding="utf-8", errors="replace") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            if fields[0] != "Z":
                found[int(p)] = (int(fields[1]), fields[19])  # parent, start time
        except OSError:
            pass
    return found


def tree(top):
    """The living processes below one, itself included: {pid: start time}."""
    known = parents()
    inside = {top} & set(known)
    while True:
        more = {p for p, (parent, _) in known.items() if parent in inside} - inside
        if not more:
            return {p: known[p][1] for p in inside}
        inside |= more


def words(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def below(pid):
    return sorted(p for p, (parent, _) in parents().items() if parent == pid)


def is_role(pid, role):
    return words(pid)[:3] == ["agent6", "--role", role]


def process(top, name):
    """One process of the run whose monitor is top."""
    if name == "monitor":
        return top
    kids = below(top)
    programs = {"client": "agent6-net", "resolver": "agent6-resolver"}
    if name in programs:
        found = [p for p in kids if os.path.basename(words(p)[0]) == programs[name]]
    elif name in ("zygote", "git zygote", "cell", "git cell", "agent", "agent's jail"):
        jails = [p for p in kids if words(p)[1:2] == ["--zygote"]]
        agent = [p for p in tree(top) if is_role(p, "agent")]
        with_agent = [p for p in jails if set(agent) & set(tree(p))]
        found = with_agent if name in ("zygote", "cell") else [p for p in jails if p not in with_agent]
        if name in ("cell", "git cell"):
            found = below(found[0])
        if name == "agent":
            found = agent
        if name == "agent's jail":
            found = [parents()[agent[0]][0]]
    else:
        found = [p for p in kids if is_role(p, name)]
    assert len(found) == 1, (name, found)
    return found[0]


# ---- a run that stands still ----

class Held:
    """A run at one point: in a command, waiting for the model, or waiting to ask it again."""

    def __init__(self, lab, point, **kw):
        self.lab, self.point = lab, point
        lab.repo(a_DOT_txt="a\n")
        os.mkfifo(os.path.join(lab.ws, "hold"))
        edit = turn(call("apply_edit", path="a.txt", edits=[{"old_string": "a", "new_string": "b"}]))
        # One process and no other: nothing of it comes or goes while the test looks around.
        wait = {"command": turn(call("run_command", argv=["sh", "-c", ": >started; read x <hold; :"])),
                "model": turn(text="soon", fault={"stall": {"after_events": 1, "ms": 600000}}),
                "retry": turn(text="", fault={"status": 429, "retry_after": "120"})}[point]
        lab.mock(script(edit, wait, finish()), top='[sandbox]\nallow_urls = ["names.example"]\n')  # so that somebody looks names up
        self.place = self.where()
        self.p = subprocess.Popen([AGENT6, "run", "--auto-approve", "hold"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)
        lab.wait_for(self.stands)
        self.all = tree(self.p.pid)
        self.run_dir = lab.run_dirs()[-1]

    def stands(self):
        assert self.p.poll() is None, self.p.communicate()[0]
        if self.point == "command":
            return os.path.exists(os.path.join(self.lab.ws, "started"))
        kinds = [json.loads(l)["type"] for l in self.lines() if l.endswith("\n")]
        if self.point == "retry":
            return "loop.provider.retry" in kinds
        return kinds.count("role.call") == 2

    def lines(self):
        found = self.lab.run_dirs()
        log = os.path.join(found[-1], "record", "logs.jsonl") if found else ""
        if not os.path.exists(log):
            return []
        with open(log, encoding="utf-8") as f:
            return f.readlines()

    def where(self):
        return [self.lab.git(*w) for w in (("rev-parse", "HEAD"), ("symbolic-ref", "HEAD"), ("ls-files", "-s"))]

    def go_on(self):
        with open(os.path.join(self.lab.ws, "hold"), "w", encoding="ascii"):
            pass

    def gone(self):
        now = parents()
        return not any(p in now and now[p][1] == start for p, start in self.all.items())

    def ended(self, timeout=300):
        """The run's end: what it printed, when all of it is gone and the repository and the record are in order."""
        out = self.p.communicate(timeout=timeout)[0]
        self.lab.wait_for(self.gone)
        assert self.where() == self.place
        assert not [n for n in os.listdir(os.path.join(self.lab.ws, ".git")) if n.endswith(".lock")]
        r = self.lab.agent6("runs", "verify", os.path.basename(self.run_dir))
        assert r.returncode == 0, r.both
        shown = json.loads(self.lab.agent6("runs", "show", os.path.basename(self.run_dir), "--json").out)
        assert shown["status"] != "running", shown
        return out

    def next_run_works(self):
        self.lab.git("stash", "-q", "--include-untracked")
        self.lab.mock(script(turn(call("run_command", argv=["touch", "made"])), finish()))
        r = self.lab.run("again")
        assert r.returncode == 0, r.both
        assert os.path.exists(os.path.join(self.lab.ws, "made"))
        assert self.lab.events("run.end")[-1]["commits"] == 1


ENDS = {
    # who: the reason on record and the words the person reads, None where nobody is left to say it
    "monitor": (None, None),
    "zygote": ("jail_lost", "runs commands"),
    "cell": ("jail_lost", "runs commands"),
    "git zygote": ("jail_lost", "runs git"),
    "git cell": ("jail_lost", "runs git"),
    "agent": ("crashed", "signal 9"),
    "agent's jail": ("crashed", "agent"),
    "client": ("provider_error", "provider"),
    "broker": ("provider_error", "network"),
    "resolver": ("provider_error", "looks names up"),
    "recorder": (None, "record"),
}


@pytest.mark.parametrize("who,point,profile", [(w, p, "strict") for p in ("command", "model") for w in ENDS] +
                         [(w, "retry", "strict") for w in ("monitor", "agent", "client", "recorder")] +
                         [(w, "command", "hardened") for w in ENDS])
def test_a_process_that_is_killed_ends_the_run_cleanly(lab, who, point, profile):
    if profile == "hardened":
        as_hardened(lab, root=True)
    held = Held(lab, point)
    os.kill(process(held.p.pid, who), signal.SIGKILL)
    out = held.ended()
    reason, said = ENDS[who]
    assert held.p.returncode == (-signal.SIGKILL if who == "monitor" else 1), out
    if reason:
        assert lab.events("run.end")[-1]["reason"] == reason, lab.events("run.end")
    if said:
        assert said in out
    if point == "command":
        held.next_run_works()


def test_whose_end_takes_another_along_is_who_is_named(lab):
    """The resolver ends with the broker: though a monitor that was busy finds both ends at once, the broker's is the reason."""
    held = Held(lab, "command")
    broker, resolver = (process(held.p.pid, who) for who in ("broker", "resolver"))
    os.kill(held.p.pid, signal.SIGSTOP)
    os.kill(broker, signal.SIGKILL)
    lab.wait_for(lambda: not {broker, resolver} & set(parents()))
    os.kill(held.p.pid, signal.SIGCONT)
    out = held.ended()
    assert lab.events("run.end")[-1]["reason"] == "provider_error"
    assert "network" in out and "looks names up" not in out


@pytest.mark.parametrize("who", ["view", "spawner"])
def test_a_process_that_nothing_depends_on_may_die(lab, who):
    held = Held(lab, "command")
    os.kill(process(held.p.pid, who), signal.SIGKILL)
    held.go_on()
    held.ended()
    assert held.p.returncode == 0
    assert lab.events("run.end")[-1]["reason"] == "finish_run"


def test_a_command_that_is_killed_is_a_result(lab):
    held = Held(lab, "command")
    sh = [p for p in held.all if words(p)[:1] == ["sh"]]
    os.kill(sh[0], signal.SIGKILL)
    held.ended()
    assert held.p.returncode == 0
    assert [e["exit_code"] for e in lab.events("tool.result") if e["name"] == "run_command"] == [137]


def test_the_killed_monitor_leaves_a_run_that_is_known_to_be_dead_and_a_checkout_that_is_free(lab):
    held = Held(lab, "command")
    os.kill(held.p.pid, signal.SIGKILL)
    held.ended()
    shown = json.loads(lab.agent6("runs", "show", "--json").out)
    assert shown["status"] == "stale" and not [e for e in lab.journal() if e["type"] == "run.end"]
    assert "not running" in lab.agent6("runs", "stop").err
    held.next_run_works()


DEAF = ["view", "spawner", "client", "broker", "resolver", "recorder", "zygote", "cell", "git zygote", "git cell", "agent", "agent's jail"]


@pytest.mark.parametrize("who", DEAF)
def test_a_process_that_answers_nobody_does_not_keep_a_run_from_ending(lab, who):
    """It is stopped here; one that hangs or was taken over would not answer either."""
    held = Held(lab, "command")
    os.kill(process(held.p.pid, who), signal.SIGSTOP)
    os.kill(held.p.pid, signal.SIGTERM)
    held.ended()
    assert held.p.returncode == (1 if who == "recorder" else 130)


@pytest.mark.parametrize("who", DEAF)
def test_a_process_that_answers_nobody_dies_with_the_monitor(lab, who):
    held = Held(lab, "command")
    os.kill(process(held.p.pid, who), signal.SIGSTOP)
    os.kill(held.p.pid, signal.SIGKILL)
    held.ended()


# ---- signals and terminals ----

@pytest.mark.parametrize("point", ["command", "model", "retry"])
@pytest.mark.parametrize("number,source", [(signal.SIGTERM, "sigterm"), (signal.SIGHUP, "sighup")])
def test_a_run_that_is_told_to_end_ends_now_and_says_so(lab, number, source, point):
    held = Held(lab, point)
    os.kill(held.p.pid, number)
    held.ended()
    assert held.p.returncode == 130
    assert lab.events("run.stop_requested")[0]["source"] == source
    assert lab.events("run.end")[-1]["reason"] == "interrupted"


@pytest.mark.parametrize("point", ["model", "retry"])
def test_one_interrupt_ends_a_run_that_waits_for_nothing_of_its_own(lab, point):
    """Nothing is under way that a step would lose: a retry ends at once, a half answer at the second Ctrl-C."""
    held = Held(lab, point)
    os.kill(held.p.pid, signal.SIGINT)
    if point == "model":
        lab.wait_for(lambda: lab.events("run.stop_requested"))
        os.kill(held.p.pid, signal.SIGINT)
    held.ended()
    assert held.p.returncode == 130


def test_a_stopped_run_tells_what_is_not_committed(lab):
    lab.repo(a_DOT_txt="a\n")
    os.mkfifo(os.path.join(lab.ws, "hold"))
    lab.write("verify.sh", "exit 1\n")
    lab.git("add", "verify.sh")
    lab.git("commit", "-q", "-m", "gate")
    lab.mock(script(turn(call("apply_edit", path="a.txt", edits=[{"old_string": "a", "new_string": "b"}])),
                    turn(call("run_command", argv=["sh", "-c", "touch started; cat hold"])), finish()))
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "x"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    p.send_signal(signal.SIGTERM)
    out = p.communicate(timeout=300)[0]
    assert p.returncode == 130 and "a.txt" in out and "not committed" in out
    assert lab.git("for-each-ref", "refs/agent6") == "" and lab.read("a.txt") == "b\n"


@pytest.mark.parametrize("leader", ["agent6", "another"])
def test_a_terminal_that_is_closed_ends_the_run(lab, leader):
    """The person closes the window: the kernel sends SIGHUP to the session's first process, which may be one that passes nothing
    on, and nothing is left."""
    lab.repo(a_DOT_txt="a\n")
    os.mkfifo(os.path.join(lab.ws, "hold"))
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "touch started; cat hold"])), finish()))
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(lab.ws)
        if leader == "another":
            signal.signal(signal.SIGHUP, lambda *_: None)
            env = {k: v for k, v in lab.env.items() if k != "CI"}  # somebody sits there
            os._exit(subprocess.run([AGENT6, "run", "--auto-approve", "x"], env=env).returncode)
        os.execve(AGENT6, ["agent6", "run", "--auto-approve", "x"], lab.env)
    lab.wait_for(lambda: os.path.exists(os.path.join(lab.ws, "started")))
    all_of_it = tree(pid)
    os.close(master)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 130, status
    now = parents()
    assert not [p for p, start in all_of_it.items() if p in now and now[p][1] == start]
    assert lab.events("run.end")[-1]["reason"] == "interrupted"


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_an_answer_that_cannot_be_written_is_no_success(lab, words):
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(text="It is a."), turn(text="It is a.")))
    with open("/dev/full", "w", encoding="ascii") as full:
        p = subprocess.run([AGENT6, "ask", *words, "what is it"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL, stdout=full,
                           stderr=subprocess.PIPE, text=True, timeout=120)
    assert p.returncode == 1 and "the result was not written: write: No space left on device" in p.stderr, p.stderr
    assert "goes on" not in p.stderr
    here, there = os.pipe()
    os.close(here)
    p = subprocess.run([AGENT6, "ask", *words, "what is it"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL, stdout=there,
                       stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(there)
    assert p.returncode == 0 and "not written" not in p.stderr, p.stderr


@pytest.mark.parametrize("close", ["stdout", "stderr", "both"])
def test_a_reader_that_goes_away_does_not_hurt_the_run(lab, close):
    """`agent6 run ... | head -1`: the run ends as if somebody had read it."""
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(call("run_command", argv=["touch", "made"])), turn(call("list_dir", path=".")), finish()))
    here, there = os.pipe()
    os.close(here)
    to = {"stdout": {"stdout": there, "stderr": subprocess.PIPE}, "stderr": {"stdout": subprocess.PIPE, "stderr": there},
          "both": {"stdout": there, "stderr": there}}[close]
    p = subprocess.Popen([AGENT6, "run", "--auto-approve", "x"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL, **to)
    os.close(there)
    p.communicate(timeout=300)
    assert p.returncode == 0
    assert lab.events("run.end")[-1]["reason"] == "finish_run"
    assert os.path.exists(os.path.join(lab.ws, "made"))


def test_closed_standard_descriptors_are_no_channel_of_ours(lab):
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(call("run_command", argv=["touch", "made"])), finish()))
    r = subprocess.run(["sh", "-c", f"exec '{AGENT6}' run --auto-approve x <&- >&- 2>&-"], cwd=lab.ws, env=lab.env, timeout=300)
    assert r.returncode == 0
    assert os.path.exists(os.path.join(lab.ws, "made"))
    assert lab.agent6("runs", "verify").returncode == 0


# ---- two at once ----

def test_a_second_run_in_the_same_checkout_is_refused_naming_the_first(lab):
    held = Held(lab, "command")
    r = lab.run("me too")
    assert r.returncode == 2 and os.path.basename(held.run_dir) in r.err and "parked" in r.err, r.both
    assert [os.listdir(os.path.join(d, "record")) for d in lab.run_dirs() if d != held.run_dir] == [["manifest.json"]]
    held.go_on()
    held.ended()
    assert held.p.returncode == 0


def test_runs_in_two_checkouts_go_on_side_by_side(lab):
    held = Held(lab, "command")
    other = os.path.join(lab.folder, "work", "other")
    subprocess.run(["git", "clone", "-q", lab.ws, other], check=True, env=lab.env)
    lab.mock(script(finish()))
    r = lab.run("me too", cwd=other)
    assert r.returncode == 0, r.both
    held.go_on()
    assert held.p.communicate(timeout=300) and held.p.returncode == 0


# ---- disks ----

def mounted(lab, options, folder, *command, **env):
    """Runs a command with a file system of its own over a folder, in a mount namespace of its own."""
    enter = ["unshare", *([] if os.geteuid() == 0 else ["-Ur"]), "-m"]
    if subprocess.run([*enter, "true"], capture_output=True).returncode:
        missing("unshare -m")
    os.makedirs(folder, mode=0o700)
    return subprocess.run([*enter, "sh", "-c", 'mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@"', "sh", options, folder, *command],
                          cwd=lab.ws, env=dict(lab.env, AGENT6_ALLOW_ROOT="1", **env), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)


def test_a_full_disk_under_the_record_is_said_at_once_and_ends_the_run(lab):
    lab.repo(a_DOT_txt="a\n")
    noise = [turn(call("run_command", argv=["sh", "-c", f"head -c 30000{n} /dev/urandom | base64"])) for n in range(10, 50)]
    m = lab.mock(script(*noise, turn(call("run_command", argv=["touch", "late"])), finish()))
    become_reaper()
    state = os.path.join(lab.home, ".local", "state")
    r = mounted(lab, "size=900k,mode=700", state, AGENT6, "run", "--auto-approve", "fill it")
    assert r.returncode == 1, r.stdout + r.stderr
    assert "No space left" in r.stderr, r.stderr
    assert "resume   agent6" not in r.stderr, r.stderr  # nothing is offered that was not saved
    assert len(m.model_requests()) < 40 and not os.path.exists(os.path.join(lab.ws, "late"))
    nobody_left(lab)


def test_a_run_that_the_disk_ended_goes_on_when_there_is_room(lab):
    lab.repo(a_DOT_txt="a\n")
    noise = [turn(call("run_command", argv=["sh", "-c", f"head -c 3000{n} /dev/urandom | base64"])) for n in range(4)]
    lab.mock(script(*noise, turn(call("run_command", argv=["touch", "late"])), finish(), order="depth"))
    become_reaper()
    state = os.path.join(lab.home, ".local", "state")
    r = mounted(lab, "size=900k,mode=700", state, "sh", "-c",
                'head -c 700000 /dev/zero > "$0/fill"; "$@" run --auto-approve --run-id mine "fill it"; echo $?; rm "$0/fill";'
                ' [ -e late ] && echo early; "$@" resume --auto-approve mine && "$@" runs verify mine', state, AGENT6)
    assert r.stdout.splitlines()[0] == "1" and "when the cause is gone: agent6 resume mine" in r.stderr, r.stdout + r.stderr
    assert "early" not in r.stdout and r.returncode == 0 and os.path.exists(os.path.join(lab.ws, "late")), r.stdout + r.stderr
    nobody_left(lab)


def test_a_state_directory_that_cannot_be_written_refuses_the_run(lab):
    lab.repo(a_DOT_txt="a\n")
    m = lab.mock(script(finish()))
    state = os.path.join(lab.home, ".local", "state")
    r = mounted(lab, "ro", state, AGENT6, "run", "--auto-approve", "x")
    assert "Read-only file system" in r.stderr and state in r.stderr, r.stdout + r.stderr
    assert r.returncode in (1, 2) and m.model_requests() == []


@pytest.mark.parametrize("words_", [("run", "--auto-approve", "x"), ("ask", "--no-commands", "x"), ("memory", "add", "build", "make"),
                                    ("config", "set", "--repo", "workflow.max_iterations", "3")])
def test_a_disk_that_is_full_from_the_start_is_said_with_the_file_and_nothing_is_left(lab, words_):
    lab.repo(a_DOT_txt="a\n")
    m = lab.mock(script(finish()))
    state = os.path.join(lab.home, ".local", "state")
    r = mounted(lab, "size=4k,mode=700", state, "sh", "-c", 'head -c 9000 /dev/zero > "$0/fill"; "$@"; r=$?; find "$0" -type f -o -name "*-*-*"; exit $r',
                state, AGENT6, *words_)
    assert r.returncode in (1, 2) and m.model_requests() == [], r.stdout + r.stderr
    assert re.search(r"ERROR: .*(run\.lock|repo\.lock|m-\w+\.md|config\.toml).*: No space left on device", r.stderr), r.stderr
    left = [os.path.basename(x) for x in r.stdout.split()]
    assert not [x for x in left if x not in ("fill", "repo.lock", "config.lock", ".lock") and not x.startswith("-")], r.stdout


def test_a_full_runtime_directory_stops_no_run(lab):
    """The private directory where connections are named needs a name there and no more; the commands' /tmp is their own."""
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(call("run_command", argv=["sh", "-c", "echo x > /tmp/x && cat /tmp/x > made"])), finish()))
    small = os.path.join(lab.folder, "runtime")
    r = mounted(lab, "size=4k,mode=700", small, "sh", "-c", 'head -c 9000 /dev/zero > "$XDG_RUNTIME_DIR/full"; exec "$@"', "sh",
                AGENT6, "run", "--auto-approve", "x", XDG_RUNTIME_DIR=small, TMPDIR=small)
    assert r.returncode == 0, r.stdout + r.stderr
    assert lab.read("made") == "x\n"


# ---- another terminal ----

def test_watch_in_another_terminal_answers_a_question_to_the_model(lab, screen):  # noqa: F811
    lab.repo(a_DOT_txt="a\n")
    m = lab.mock(script(turn(call("ask_user", questions=[{"question": "Which colour?", "options": ["red", "blue"]}])), finish()))
    first = screen("run", "--auto-approve", "paint it")
    first.until("your answer:")
    second = screen("watch")
    second.until("your answer:")
    second.keys("2", "Enter")
    assert first.status() == 0 and second.status() == 0
    assert "blue" in json.dumps(m.model_requests()[1]["body"])
    assert lab.events("question.answer")[0]["answers"] == ["blue"]


def test_two_watchers_and_the_run_see_the_same_end(lab):
    held = Held(lab, "command")
    watchers = [subprocess.Popen([AGENT6, "watch"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for w in watchers:
        w.stdout.readline()  # it follows
    watchers[0].send_signal(signal.SIGKILL)
    watchers[0].communicate()
    held.go_on()
    out = held.ended()
    other = watchers[1].communicate(timeout=300)[0]
    assert watchers[1].returncode == 0 and "finished" in other and "finished" in out




class OnPty:
    """A run on a terminal of its own, whose first process we are the parent of."""

    def __init__(self, lab, *flags):
        self.lab, self.text = lab, ""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(lab.ws)
            os.execve(AGENT6, ["agent6", "run", *flags, "do it"], lab.env)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                self.text += os.read(self.master, 65536).decode("utf-8", "replace")
            except OSError:
                return

    def status(self):
        end = []
        self.lab.wait_for(lambda: (lambda r: r[0] and (end.append(r[1]) or True))(os.waitpid(self.pid, os.WNOHANG)))
        return os.waitstatus_to_exitcode(end[0])


def asking(lab, *flags):
    lab.repo(a_DOT_txt="a\n")
    lab.mock(script(turn(call("run_command", argv=["touch", "made"])), finish()))
    run = OnPty(lab, *flags)
    lab.wait_for(lambda: "N never:" in run.text)
    return run, tree(run.pid)


def all_gone(lab, all_of_it):
    def gone():
        now = parents()
        return not [p for p, start in all_of_it.items() if p in now and now[p][1] == start]
    lab.wait_for(gone)


@pytest.mark.parametrize("who", ["monitor", "zygote", "agent", "client", "recorder"])
def test_a_death_while_a_question_stands_ends_the_run_and_asks_no_more(lab, who):
    run, all_of_it = asking(lab)
    os.kill(process(run.pid, who), signal.SIGKILL)
    assert run.status() == (-signal.SIGKILL if who == "monitor" else 1), run.text
    all_gone(lab, all_of_it)
    assert not os.path.exists(os.path.join(lab.ws, "made"))
    assert lab.agent6("runs", "verify").returncode == 0


def test_a_question_outlives_the_view_that_showed_it(lab, screen):  # noqa: F811
    run, all_of_it = asking(lab)
    os.kill(process(run.pid, "view"), signal.SIGKILL)
    other = screen("watch")
    other.until("N never:")
    other.keys("y", "Enter")
    assert other.status() == 0 and run.status() == 0
    all_gone(lab, all_of_it)
    assert os.path.exists(os.path.join(lab.ws, "made"))


def test_a_killed_run_is_resumed(lab):
    held = Held(lab, "command")
    os.kill(held.p.pid, signal.SIGKILL)
    held.ended()
    lab.mock(script(turn(call("run_command", argv=["touch", "after"])), finish()))
    r = lab.agent6("resume", "--auto-approve", os.path.basename(held.run_dir))
    assert r.returncode == 0, r.both
    assert os.path.exists(os.path.join(lab.ws, "after"))
    assert [e["reason"] for e in lab.events("run.end")] == ["finish_run"]
    assert lab.agent6("runs", "verify").returncode == 0


def test_output_that_cannot_be_written_is_a_failure_and_says_so(lab):
    with open("/dev/full", "wb") as full:
        r = subprocess.run([AGENT6, "--help"], cwd=lab.ws, env=lab.env, stdin=subprocess.DEVNULL, stdout=full,
                           stderr=subprocess.PIPE, timeout=300)
    assert r.returncode == 1
    assert r.stderr == b"ERROR: the output could not be written to the end\n"


def test_a_file_size_limit_is_an_error_that_is_told_and_no_death(lab):
    lab.repo(a_DOT_txt="one\n")
    lab.mock(script(finish()))
    r = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", AGENT6, "run", "--auto-approve", "do it"], cwd=lab.ws,
                       env=lab.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert r.returncode in (1, 2), r
    assert "File too large" in r.stderr, r.stderr
