#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""live_run.py --timeout S CMD...: a real `agent6 run` whose scripted model asks for CMD by run_command; prints what it printed.
live_run.py --git: what agent6 itself does with git in this directory, whatever was left here: a run that edits a file and
records a step, then runs diff, commits and merge.

A launcher for the red-team corpus (agent6_run.json) and its --host-git: agent6, its helpers and mockllm.py lie beside this
file. The exit status is the command's; with --git it is 0 when agent6 worked or said why it refuses."""
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    folder = tempfile.mkdtemp(prefix="live-", dir="/tmp")
    try:
        return our_git(folder) if sys.argv[1:] == ["--git"] else one_command(folder, sys.argv[2], sys.argv[3:])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def die_with_parent():
    """This file is only the launcher's outside: what kills it is meant for agent6."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Model:
    """A scripted model, and agent6 configured for it."""

    def __init__(self, folder, calls, policy, git, workflow=""):
        path = lambda name: os.path.join(folder, name)
        turns = [{"tool_calls": [{"name": name, "args": args}]} for name, args in calls]
        with open(path("scenario.json"), "w", encoding="utf-8") as f:
            json.dump({"turns": turns, "on_exhausted": "finish"}, f)
        self.log, self.config = path("log"), path("config.toml")
        self.env = dict(os.environ, LIVE_KEY="dummy-key-0123456789")
        self.mock = subprocess.Popen([sys.executable, os.path.join(HERE, "mockllm.py"), path("scenario.json"), "--port", "0", "--log",
                                      self.log], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                     preexec_fn=die_with_parent)
        url = self.mock.stdout.readline().split()[-1]
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(policy + f'run_commands = "yes"\n[git]\n{git}require_clean_worktree = false\n[git.commit]\nname = "agent"\nemail = "a@x"\n'
                    f'[workflow]\n{workflow}verify_infer = false\n[providers.mock]\napi_format = "openai"\n'
                    f'base_url = "{url}/v1"\napi_key_env = "LIVE_KEY"\n[models.worker]\nprovider = "mock"\nmodel = "mock-model"\n')

    def agent6(self, *words):
        root = ["--allow-root"] if os.geteuid() == 0 else []
        return subprocess.run([os.path.join(HERE, "agent6"), "--config", self.config, *root, *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", env=self.env, check=False,
                              preexec_fn=die_with_parent)

    def stop(self):
        self.mock.terminate()
        self.mock.wait()


def tell_start():
    """What the command says comes through the model, at the end: a launcher that is killed takes it along, and nobody could
    judge what lives on. A probe that waits for that kill says so in a file; then it has begun, and that can be told already."""
    said = ""
    while '"hold":"kill"' not in said:
        select.select([], [], [], 0.02)  # nothing tells of it
        if os.path.exists(".rt/rt_hold"):
            with open(".rt/rt_hold", encoding="utf-8") as f:
                said = f.read()
    print('{"start": 1}', flush=True)


def one_command(folder, timeout, argv):
    with open(os.path.join(HERE, "agent6_exec.toml"), encoding="utf-8") as f:
        policy = f.read()
    m = Model(folder, [("run_command", {"argv": argv}), ("finish_run", {"summary": "done"})], policy,
              "branch_per_run = false\ncommit_per_step = false\n", f"command_timeout_s = {max(1, int(float(timeout)))}\n")
    try:
        threading.Thread(target=tell_start, daemon=True).start()
        ran = m.agent6("run", "--unattended", "probe")
        with open(m.log, encoding="utf-8") as f:
            asked = [json.loads(l) for l in f]
        said = [x["content"] for r in asked if r.get("api") == "chat" for x in r["body"]["messages"] if x["role"] == "tool"]
        if not said:
            sys.stderr.write(ran.stdout[-2000:] + ran.stderr[-2000:])
            return 2
        result = json.loads(said[0])
        sys.stdout.write(result.get("stdout", ""))
        sys.stderr.write(result.get("stderr", json.dumps(result)))
        return result.get("returncode", 2)
    finally:
        m.stop()


def our_git(folder):
    m = Model(folder, [("apply_edit", {"path": "rt_host_git.txt", "edits": [{"kind": "create", "old_string": "", "new_string": "x\n"}]}), ("finish_run", {"summary": "done"})],
              "[sandbox]\n", "")
    m.env.update({f"AGENT6_{what}_HOME": os.path.join(folder, what) for what in ("CONFIG", "STATE")})
    try:
        statuses = [m.agent6("run", "--unattended", "work").returncode]
        listed = m.agent6("runs", "list", "--json").stdout
        for run in [r["run_id"] for r in json.loads(listed or "[]")][:1]:
            statuses += [m.agent6("runs", what, run).returncode for what in ("diff", "commits", "merge")]
        return 0 if all(0 <= s <= 5 for s in statuses) else 1
    finally:
        m.stop()


if __name__ == "__main__":
    sys.exit(main())
