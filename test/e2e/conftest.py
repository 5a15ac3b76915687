# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""What every end-to-end test needs: the built programs, an empty home, a repository, a scripted model.

The programs are real, the jail is real, git is real; only the model is scripted, by mockllm from the shared material
(AGENT6_SHARED). A test that needs it skips by name where it is absent; with AGENT6_TEST_STRICT=1 that is a failure.
"""
import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import pytest

from story import StoryFile

# Under nohup, or as a shell's background job, these are ignored; so would all programs here ignore them, which are to end of them.
for _number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(_number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

SOURCE = os.environ.get("AGENT6_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("AGENT6_BUILD") or os.path.join(SOURCE, "build")
SHARED = os.path.abspath(os.environ.get("AGENT6_SHARED") or os.path.join(SOURCE, "..", "shared"))
AGENT6 = os.path.join(BUILD, "agent6")
STRICT = os.environ.get("AGENT6_TEST_STRICT") == "1"


def missing(what):
    """Skips loudly, by name; in strict mode a test that cannot run has failed."""
    if STRICT:
        pytest.fail(f"cannot run: {what}")
    pytest.skip(f"SKIPPED: {what}")


def shared(*parts):
    path = os.path.join(SHARED, *parts)
    if not os.path.isdir(SHARED):
        missing(f"the shared material is not at {os.path.normpath(SHARED)} (set AGENT6_SHARED)")
    if not os.path.exists(path):
        missing(f"{path} is not there (set AGENT6_SHARED)")
    return path


@contextlib.contextmanager
def alone(path):
    """Whoever names the same file has the machine alone with it, whichever user it is: for what there is once, such as a port with a
    number of its own. Tests run side by side."""
    with open(path, "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def whole_lines(path):
    """What stands in a file of JSON lines that somebody else may be writing: its last line counts when it is ended."""
    with open(path, "rb") as f:
        return [json.loads(l) for l in f.read().split(b"\n")[:-1] if l.strip()]


class Mock:
    """A running mockllm with one scenario."""

    def __init__(self, folder, scenario, *options):
        self.log = os.path.join(folder, "requests.jsonl")
        self.report = os.path.join(folder, "report.json")
        port_file = os.path.join(folder, "port")
        path = scenario
        if not isinstance(scenario, str):
            path = os.path.join(folder, "scenario.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(scenario, f)
        for f in (port_file, self.log):
            if os.path.exists(f):
                os.remove(f)
        self.proc = subprocess.Popen(
            [sys.executable, shared("mockllm", "mockllm.py"), path, "--port", "0", "--port-file", port_file,
             "--log", self.log, "--report", self.report, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.proc.stdout.readline()  # "listening on ...": printed when it listens
        if "listening" not in line:
            raise RuntimeError(line + self.proc.stderr.read())
        self.url = line.split()[-1].strip()

    def requests(self):
        """Those that were answered. It writes one down when its answer is out: who has that may be here before, so it is asked something
        first, which it answers when it has done what it was about."""
        if self.proc.poll() is None:
            with contextlib.suppress(OSError):  # it is ending
                self.served()
        if not os.path.exists(self.log):
            return []
        return [r for r in whole_lines(self.log) if not r["path"].startswith("/_mock/")]

    def model_requests(self):
        return [r for r in self.requests() if r.get("api") in ("chat", "anthropic", "responses")]

    def served(self):
        """How often it was asked for each turn, answered or not; a request is in requests() when its exchange is over."""
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(self.url + "/_mock/report", timeout=300) as f:
            return json.load(f)["served"]

    def stop(self):
        """Ends it; returns (status, what it complained about)."""
        if self.proc.poll() is None:
            self.proc.terminate()
        out, err = self.proc.communicate(timeout=300)
        return self.proc.returncode, err


class Lab:
    """One empty home with one repository in it."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.home = os.path.join(self.folder, "home")
        self.ws = os.path.join(self.folder, "work", "project")
        os.makedirs(self.home)
        os.makedirs(self.ws)
        self.mocks = []
        self.held = contextlib.ExitStack()  # what is given back when the lab is over
        self.profile = None  # sandbox.profile of every configuration; None: what is the default
        self.owner = None  # whose the workspace becomes before agent6 looks at it
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("XDG_", "GIT_", "AGENT6_")) and "API_KEY" not in k}
        self.env.update(HOME=self.home, LANG="C.UTF-8", TERM="xterm-256color", MOCK_API_KEY="dummy-key-0123456789",
                        PYTHONDONTWRITEBYTECODE="1", CI="1")  # on a terminal too nobody says what comes next
        if os.geteuid() == 0:
            self.env["AGENT6_ALLOW_ROOT"] = "1"

    # ---- the repository ----
    def write(self, name, text, mode=None):
        path = os.path.join(self.ws, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        if mode is not None:
            os.chmod(path, mode)
        return path

    def read(self, name):
        with open(os.path.join(self.ws, name), "rb") as f:
            return f.read().decode("utf-8", "surrogateescape")

    def git(self, *args, check=True):
        r = subprocess.run(["git", "-c", "user.name=Lab", "-c", "user.email=lab@example.invalid", *args], cwd=self.ws,
                           env=self.env, capture_output=True, text=True)
        if check and r.returncode:
            raise AssertionError(f"git {args}: {r.stderr}")
        return r.stdout

    def repo(self, **files):
        """A repository with these files committed on main; a double underscore stands for '/', '_DOT_' for '.'."""
        for name, text in files.items():
            self.write(name.replace("__", "/").replace("_DOT_", "."), text)
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "start")
        return self

    def give_away(self):
        if self.owner is not None:
            subprocess.run(["chown", "-Rh", f"{self.owner}:{self.owner}", self.ws], check=True)

    # ---- configuration and model ----
    def config(self, text):
        self.give_away()
        path = os.path.join(self.home, ".config", "agent6")
        os.makedirs(path, mode=0o700, exist_ok=True)
        if self.profile:
            line = f'[sandbox]\nprofile = "{self.profile}"\n'
            text = text.replace("[sandbox]\n", line, 1) if "[sandbox]\n" in text else text + "\n" + line
        with open(os.path.join(path, "config.toml"), "w", encoding="utf-8") as f:
            f.write(text)

    def mock(self, scenario, *options, api="openai", extra="", top=""):
        """Starts mockllm and configures it as the worker's provider."""
        folder = os.path.join(self.folder, f"mock{len(self.mocks)}")
        os.makedirs(folder)
        m = Mock(folder, scenario, *options)
        self.mocks.append(m)
        base = m.url if api == "anthropic" else m.url + "/v1"
        self.config(f"""{top}
[git.commit]
name = "Lab"
email = "lab@example.invalid"

[providers.mock]
api_format = "{api}"
base_url = "{base}"
api_key_env = "MOCK_API_KEY"

[models.worker]
provider = "mock"
model = "mock-model"
{extra}
""")
        return m

    # ---- agent6 ----
    def agent6(self, *args, timeout=300, stdin=None, cwd=None, env=None, preexec_fn=None):
        """Runs it to its end; stdin is /dev/null unless text is given."""
        self.give_away()
        e = dict(self.env, **(env or {}))
        r = subprocess.run([AGENT6, *args], cwd=cwd or self.ws, env=e, capture_output=True, timeout=timeout, preexec_fn=preexec_fn,
                           **({"input": stdin.encode()} if stdin is not None else {"stdin": subprocess.DEVNULL}))
        r.out = r.stdout.decode("utf-8", "replace")
        r.err = r.stderr.decode("utf-8", "replace")
        r.both = r.out + r.err
        return r

    def run(self, task="do it", *flags, **kw):
        return self.agent6("run", "--auto-approve", *flags, task, **kw)

    def run_dirs(self):
        """The run directories, oldest first."""
        found = []
        state = os.path.join(self.home, ".local", "state", "agent6")
        for repo in sorted(os.listdir(state)) if os.path.isdir(state) else []:
            runs = os.path.join(state, repo, "runs")
            if os.path.isdir(runs):
                found += [os.path.join(runs, r) for r in os.listdir(runs)]
        return sorted(found, key=os.path.getmtime)

    def journal(self, index=-1):
        return whole_lines(os.path.join(self.run_dirs()[index], "record", "logs.jsonl"))

    def events(self, kind, index=-1):
        return [e for e in self.journal(index) if e["type"] == kind]

    def wait_for(self, what, timeout=300):
        """Waits until what() is true; the condition is the thing itself, time only bounds it."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            got = what()
            if got:
                return got
            select.select([], [], [], 0.005)  # the others need the processor more than this loop
        raise AssertionError("it did not happen in time")

    def close(self):
        self.held.close()
        for m in self.mocks:
            if m.proc.poll() is None:
                m.proc.kill()
                m.proc.communicate()


@contextlib.contextmanager
def new_lab():
    folder = tempfile.mkdtemp(prefix="agent6-e2e-")
    os.chmod(folder, 0o755)
    one = Lab(folder)
    try:
        yield one
    finally:
        one.close()
        subprocess.run(["chmod", "-R", "u+rwX", folder], stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def lab():
    with new_lab() as one:
        yield one


NOBODYS = 64123


def as_hardened(one, root=False):
    """Every run in this lab is hardened. Root, where a test has it tried by root too, becomes the owner of the workspace there, who
    must be somebody else."""
    if os.geteuid() == 0:
        if not root:
            pytest.skip("a run under hardened is an ordinary user's, who tries it in the other half")
        one.owner = NOBODYS
        with open(os.path.join(one.home, ".gitconfig"), "a", encoding="utf-8") as f:
            f.write("[safe]\n\tdirectory = *\n")  # root's git, and so agent6, works in no repository of somebody else
    one.profile = "hardened"
    return one


@pytest.fixture(params=["strict", "hardened"])
def lab_of_each_profile(request, lab):
    return as_hardened(lab) if request.param == "hardened" else lab


@pytest.fixture(autouse=True)
def nobodys_reaper():
    """A test that became a subreaper is none for the next one, whose dead orphans would stay as our zombies."""
    yield
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


@pytest.fixture(autouse=True)
def nobody_is_left_running(monkeypatch):
    """What a test started and never came to wait for, because it failed, ends with it: it would keep the processor from the others."""
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *args, **kw):
            super().__init__(*args, **kw)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    yield
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()


def pytest_terminal_summary(terminalreporter):
    """What was skipped, by name below its reason."""
    reasons = {}
    for r in terminalreporter.stats.get("skipped", []):
        why = r.longrepr[2] if isinstance(r.longrepr, tuple) else str(r.longrepr)
        why = why.removeprefix("Skipped: ").removeprefix("SKIPPED: ")
        reasons.setdefault(why, []).append(r.nodeid.removeprefix("test/e2e/"))
    for why, names in reasons.items():
        terminalreporter.write_line(f"{len(names)} skipped: {why}")
        for name in names:
            terminalreporter.write_line(f"  {name}")


def pytest_collect_file(file_path, parent):
    """A *.story file is a test (story.py says how it reads)."""
    if file_path.suffix != ".story":
        return None
    found = StoryFile.from_parent(parent, path=file_path)
    found.lab = new_lab
    return found


def call(name, **args):
    return {"name": name, "args": args}


def turn(*calls, text=None, **more):
    t = dict(more)
    if text is not None:
        t["text"] = text
    if calls:
        t["tool_calls"] = list(calls)
    return t


def finish(summary="done"):
    return turn(call("finish_run", summary=summary))


def script(*turns, **top):
    return dict({"turns": list(turns), "on_exhausted": "finish"}, **top)
