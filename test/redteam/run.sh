#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [user|root] [run.py options]: the red-team corpus against one of our programs, judged from outside.
#
# AGENT6_REDTEAM names the description of what is tested: agent6_jail (default), agent6_jail_hardened, agent6_exec,
# agent6_run (the commands of a live run with a scripted model; needs mockllm from the shared material; a killed one leaves
# the script of its model in /tmp), and both with _hardened behind.
# What is left in a repository meets the git of agent6 itself afterwards (live_run.py --git).
# The corpus is not in this repository: AGENT6_SHARED names the directory that holds it (default ../shared).
# AGENT6_JAIL_BIN is the launcher under test (default build/agent6-jail), AGENT6_BUILD the programs of agent6_exec (default
# build). Run it as root, on a machine of your own.
# AGENT6_REDTEAM_BASELINE=no leaves out the run without a jail, which tells what this host has not (N-A) from what was stopped.
# proc.launcher_killed cannot be judged of agent6-jail: it answers in one line at its end, so a killed one takes the probe's
# words with it. once_killed_takes_its_command_along makes that claim instead. Of a live run live_run.py tells that it began.
# As root a hardened run becomes the owner of the workspace, and refuses one of root's own: its launcher gives it away first.
set -eu
cd "$(dirname "$0")/../.."
corpus=${AGENT6_SHARED:-../shared}/redteam
as=${1:-user}
[ $# -eq 0 ] || shift
if ! [ -f "$corpus/run.py" ]; then
	echo "SKIPPED: the red-team corpus is not at $corpus (AGENT6_SHARED)" >&2
	[ "${AGENT6_TEST_STRICT:-}" != 1 ]
	exit
fi
launcher=${AGENT6_REDTEAM:-agent6_jail}
git="python3 /usr/local/lib/rt/live_run.py --git"
# What a command writes is passed on without bound, so the flood only shows that it ends: a small one will do.
case $launcher in
agent6_jail*) # it has no git of its own: the corpus' model of one
	git="sh $corpus/hostgit/hardened.sh {gitdir} {ws}"
	set -- --skip proc.launcher_killed "$@" ;;
# Under hardened a change in .git is noticed and ends the run, so there is no answer to judge: test_hardened.py makes that claim.
agent6_run_hardened) set -- --flood-mb 64 --skip git.write_config --skip git.write_hooks --skip git.write_refs --skip git.rename_away \
	--skip git.metadata --skip git.worktree_gitfile "$@" ;;
*) set -- --flood-mb 64 "$@" ;;
esac
# In a session of its own: without a jail the probes lower the priority of the whole session that they are started in.
if [ "${AGENT6_REDTEAM_BASELINE:-}" != no ]; then
	none=$(mktemp)
	trap 'rm -f "$none"' EXIT
	setsid -w python3 "$corpus/run.py" --launcher "$corpus/launchers/none.json" --as root --out "$none" --jobs 2 >/dev/null || :
	set -- --baseline "$none" "$@"
fi
python3 "$corpus/run.py" --launcher "test/redteam/$launcher.json" --as "$as" --jobs 2 \
	--build-dir "${TMPDIR:-/tmp}/agent6-redteam-$launcher-$(id -u)" --host-git "$git" "$@"
