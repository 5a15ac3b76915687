#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""live_run.py CMD...: a real `agent6 run` whose scripted model asks for CMD by run_command; prints what it printed.

A launcher for the red-team corpus (agent6_run.json): agent6, its helpers and mockllm.py lie beside this file. The exit
status is the command's."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    folder = tempfile.mkdtemp(prefix="live-", dir="/tmp")
    try:
        return play(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def play(folder):
    path = lambda name: os.path.join(folder, name)
    turns = [{"tool_calls": [{"name": "run_command", "args": {"argv": sys.argv[1:]}}]},
             {"tool_calls": [{"name": "finish_run", "args": {"summary": "done"}}]}]
    with open(path("scenario.json"), "w", encoding="utf-8") as f:
        json.dump({"turns": turns, "on_exhausted": "finish"}, f)
    mock = subprocess.Popen([sys.executable, os.path.join(HERE, "mockllm.py"), path("scenario.json"), "--port", "0", "--log",
                             path("log")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = mock.stdout.readline().split()[-1]
        with open(os.path.join(HERE, "agent6_exec.toml"), encoding="utf-8") as f:
            config = f.read()
        with open(path("config.toml"), "w", encoding="utf-8") as f:
            f.write(config + f'run_commands = "yes"\n[git]\nbranch_per_run = false\ncommit_per_step = false\n'
                    f'require_clean_worktree = false\n[workflow]\nverify_infer = false\n[providers.mock]\napi_format = "openai"\n'
                    f'base_url = "{url}/v1"\napi_key_env = "LIVE_KEY"\n[models.worker]\nprovider = "mock"\nmodel = "mock-model"\n')
        root = ["--allow-root"] if os.geteuid() == 0 else []
        ran = subprocess.run([os.path.join(HERE, "agent6"), "--config", path("config.toml"), *root, "run", "--unattended", "probe"],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                             env=dict(os.environ, LIVE_KEY="dummy-key-0123456789"))
        with open(path("log"), encoding="utf-8") as f:
            asked = [json.loads(l) for l in f]
        said = [m["content"] for r in asked if r.get("api") == "chat" for m in r["body"]["messages"] if m["role"] == "tool"]
        if not said:
            sys.stderr.write(ran.stdout[-2000:] + ran.stderr[-2000:])
            return 2
        result = json.loads(said[0])
        sys.stdout.write(result.get("stdout", ""))
        sys.stderr.write(result.get("stderr", json.dumps(result)))
        return result.get("returncode", 2)
    finally:
        mock.terminate()
        mock.wait()


if __name__ == "__main__":
    sys.exit(main())
