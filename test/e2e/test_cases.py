# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
"""Situations that users of agents reported, each with the right behaviour, from the shared material."""
import os
import shlex
import subprocess
import sys

import pytest

from conftest import AGENT6, missing, shared

# The ones whose parts this version has. A case that is not listed waits for its part. E11 is ours in test_run.py: its
# check wants a tab character in the raw result, and our results are JSON, where a tab is spelled \\t.
CASES = """
E01 E03 E04 E06 E08 E09 E13 E14 E15 E17 E18 E21
P01 P02 P04 P05 P07 P08 P09 P11 P14 P15
G01 G03 G04 G06 G08
V01 V02 V03 V06 V08 V09 V11 V12 V14 V18 B03
S01 S02 S03 S05 S08 S09 S10 S11 S12 S13 S17 S21 S23 S25 S26 S28 S31 S35 S36 S37
R01 R03 R05 R08 R09 R10 R11 R12 R14 R17 R19
W04
""".split()

# Cases whose agent has a terminal; nobody sits at it, as in a job of a CI system.
ON_A_TERMINAL = ("W04",)

# Cases whose agent is started by a program of their own.
WRAPPED = {"S12": "host_sockets.py"}

ADAPTER = """
mkdir -p "$HOME/.config/agent6" && chmod 700 "$HOME/.config" "$HOME/.config/agent6" &&
cat > "$HOME/.config/agent6/config.toml" <<EOF &&
[git]
require_clean_worktree = false
[git.commit]
name = "case"
email = "case@example.invalid"
[workflow]
command_timeout_s = {timeout}
{more}
[providers.mock]
api_format = "{wire}"
base_url = "{base}"
api_key_env = "{key}"
[models.worker]
provider = "mock"
model = "gpt-case"
EOF
{after}
"""

RUN = "{agent6} run --auto-approve {prompt}"
# Cases that want more than one leg. DAMAGE is what the case does to every journal in between.
RESUME = "{agent6} resume --auto-approve --steer 'go on'"
AFTER = {
    "R01": RUN + "; find \"$HOME/.local/state\" -name '*.jsonl' -exec {folder}/damage.py {} torn \\; ; " + RESUME + "; " + RESUME,
    "R03": RUN + "; find \"$HOME/.local/state\" -name '*.jsonl' -exec {folder}/damage.py {} fuse \\; ; " + RESUME + "; " + RESUME,
    "R05": "(" + RUN + ") & while ! ls \"$HOME\"/.local/state/agent6/*/runs/*/record/logs.jsonl >/dev/null 2>&1; do :; done; "
           + RESUME + "; echo second=$?; wait",
    # Killed while a command runs: the record tells of its call, then the monitor is gone.
    "V09": RUN + " & run=$!; while ! grep -qs 'tool.call.*run_command' \"$HOME\"/.local/state/agent6/*/runs/*/record/logs.jsonl; do :; done; "
           + "kill -9 $run; wait $run; " + RESUME,
    "V14": RUN + "; sed -i s/gpt-case/another-model/ \"$HOME/.config/agent6/config.toml\"; " + RESUME,
}


def adapter(wire, timeout, case, more=""):
    after = AFTER.get(case, "exec " + RUN).replace("{folder}/damage.py", sys.executable + " " + shared("cases", "open", case, "damage.py")
                                                   if case in ("R01", "R03") else "")
    return (ADAPTER.replace("{after}", after).replace("{wire}", wire).replace("{timeout}", str(timeout)).replace("{more}", more)
            .replace("{base}", "$MOCK_URL" + ("/v1" if wire == "openai" else ""))
            .replace("{key}", "OPENAI_API_KEY" if wire == "openai" else "ANTHROPIC_API_KEY")
            .replace("{agent6}", shlex.quote(AGENT6)))


def drive(case, wire, more=""):
    folder = shared("cases", "open", case)
    if not os.path.exists(os.path.join(folder, "check.py")):
        missing(f"{case} has no check")
    env = dict(os.environ)
    if os.geteuid() == 0:
        env["AGENT6_ALLOW_ROOT"] = "1"
    agent = adapter(wire, 10, case, more)
    if case in WRAPPED:
        agent = f"exec {sys.executable} {shlex.quote(os.path.join(folder, WRAPPED[case]))} sh -c {shlex.quote(agent)}"
    if case in ON_A_TERMINAL:
        agent = f"CI=1 exec {sys.executable} {shlex.quote(shared('cases', 'common', 'ptyrun.py'))} -- sh -c {shlex.quote(agent)}"
    r = subprocess.run([sys.executable, shared("cases", "common", "drive.py"), folder, "--agent", agent, "--wire", wire],
                       capture_output=True, text=True, env=env, timeout=300)
    assert r.returncode == 0, r.stdout[-4000:] + r.stderr[-2000:]


# What must hold with the host's network as well, or only shows there.
ONLINE = "S10 S12 S13 S37".split()


@pytest.mark.parametrize("case", ONLINE)
def test_case_with_the_hosts_network(case):
    drive(case, "openai", '[sandbox]\ntool_network = "allow"')


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("case", CASES)
def test_case(case, wire):
    if wire == "anthropic" and case[0] != "E" and case not in ("V06", "V11", "V12"):
        return  # the wire makes no difference to what these try, or their streams are of the other one
    drive(case, wire)
