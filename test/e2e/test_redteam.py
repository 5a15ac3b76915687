# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""One probe of each family of the red-team corpus, through `agent6 exec` and through the commands of a live run.

The whole corpus is `./dev redteam`. The corpus judges from outside, in a scratch host of its own, which needs root."""
import os
import re
import subprocess
import sys

import pytest

from conftest import BUILD, SOURCE, shared

ONE_EACH = ["fsw.symlink_file", "fsr.credentials", "git.write_hooks", "net.tcp4_loopback", "priv.userns", "term.tiocsti",
            "proc.double_fork", "res.fifo_device_files", "inh.fds", "inh.env_secrets", "seq.config_in_tree", "py.dns_resolver",
            "sh.background_jobs", "fsw.ws_works_control", "sh.toolchain_control", "git.read_control"]


# As root, hardened becomes the owner of the workspace, which is the corpus' other user.
@pytest.mark.parametrize("launcher, who", [("agent6_exec", "user"), ("agent6_exec", "root"), ("agent6_run", "user"), ("agent6_run", "root"),
                                           ("agent6_exec_hardened", "user")])
def test_one_probe_of_each_family_is_held_and_ordinary_work_works(tmp_path, launcher, who):
    corpus = shared("redteam")
    if os.geteuid() != 0:
        pytest.skip("the red-team corpus needs root for its scratch host; as root the tests run it for both users")
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
