# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""The red-team corpus: all of it against `agent6-jail` and `agent6 exec`, one probe of each family against the commands of a live run.

All of it against a live run too is `./dev redteam`. The corpus judges from outside, in a scratch host of its own, which needs root."""
import json
import os
import re
import subprocess
import sys

import pytest

from conftest import BUILD, SOURCE, shared

ONE_EACH = ["fsw.symlink_file", "fsr.credentials", "git.write_hooks", "net.tcp4_loopback", "priv.userns", "term.tiocsti",
            "proc.double_fork", "res.fifo_device_files", "inh.fds", "inh.env_secrets", "seq.config_in_tree", "py.dns_resolver",
            "sh.background_jobs", "fsw.ws_works_control", "sh.toolchain_control", "git.read_control"]


def corpus_for_root():
    corpus = shared("redteam")
    if os.geteuid() != 0:
        pytest.skip("the red-team corpus needs root for its scratch host; as root the tests run it for both users")
    return corpus


@pytest.mark.parametrize("who", ["user", "root"])
@pytest.mark.parametrize("profile", ["", "_hardened"])
@pytest.mark.parametrize("launcher", ["agent6_jail", "agent6_exec"])
def test_the_whole_corpus_is_held_and_ordinary_work_works(tmp_path, launcher, profile, who):
    corpus = corpus_for_root()
    env = dict(os.environ, AGENT6_BUILD=BUILD, AGENT6_JAIL_BIN=os.path.join(BUILD, "agent6-jail"), AGENT6_SHARED=os.path.dirname(corpus),
               AGENT6_REDTEAM=launcher + profile, AGENT6_REDTEAM_BASELINE="no", TMPDIR=str(tmp_path))
    r = subprocess.run([os.path.join(SOURCE, "test", "redteam", "run.sh"), who, "--flood-mb", "8", "--out",
                        str(tmp_path / "rows")], cwd=SOURCE,
                       capture_output=True, text=True, timeout=900, env=env)
    assert r.returncode == 0 and re.search(r"must hold under \w+ and does not: 0", r.stdout), r.stdout[-6000:] + r.stderr[-2000:]
    rows = [json.loads(l) for l in (tmp_path / "rows").read_text(encoding="utf-8").splitlines()]
    # What Landlock alone has no mechanism for: a server on the loopback, and a pool of processes (SECURITY.md, "Profiles").
    broken = {r["probe"] for r in rows if r["promise"] == "W" and r["verdict"] != "WORKS"}
    assert broken == ({"net.own_loopback_control", "py.multiprocess_control"} if profile else set())
    verdicts = [r["verdict"] for r in rows]
    assert len(rows) > 180 and verdicts.count("BLOCKED") > 130 and "ERROR" not in verdicts
    assert profile or "ESCAPED" not in verdicts, [r for r in rows if r["verdict"] == "ESCAPED"]


# As root, hardened becomes the owner of the workspace, which is the corpus' other user.
@pytest.mark.parametrize("launcher, who", [("agent6_exec", "user"), ("agent6_exec", "root"), ("agent6_run", "user"), ("agent6_run", "root"),
                                           ("agent6_exec_hardened", "user")])
def test_one_probe_of_each_family_is_held_and_ordinary_work_works(tmp_path, launcher, who):
    corpus = corpus_for_root()
    only = [w for p in ONE_EACH for w in ("--only", p)]
    if launcher.startswith("agent6_exec"):
        only += ["--only", "term.osc_stdout", "--only", "proc.exit_codes_control"]
    r = subprocess.run([sys.executable, os.path.join(corpus, "run.py"), "--launcher",
                        os.path.join(SOURCE, "test", "redteam", launcher + ".json"), "--as", who, "--build-dir", str(tmp_path),
                        *only], cwd=SOURCE, capture_output=True, text=True, timeout=300,
                       env=dict(os.environ, AGENT6_BUILD=BUILD, AGENT6_SHARED=os.path.dirname(corpus)))
    assert r.returncode == 0 and re.search(r"must hold under \w+ and does not: 0", r.stdout), r.stdout[-4000:] + r.stderr[-2000:]
    works = [l for l in r.stdout.splitlines() if l.startswith("WORKS")]
    assert len(works) >= 3, r.stdout[-4000:]
