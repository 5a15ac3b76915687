#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [user|root] [run.py options]: the red-team corpus against agent6-jail, judged from outside.
#
# The corpus is not in this repository: AGENT6_SHARED names the directory that holds it (default ../shared).
# AGENT6_JAIL_BIN is the launcher under test (default build/agent6-jail). Run it as root, on a machine of your own.
# proc.launcher_killed cannot be judged here: the launcher answers in one line at its end, so a killed one takes the
# probe's words with it. The unit test once_killed_takes_its_command_along makes that claim instead.
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
none=$(mktemp)
trap 'rm -f "$none"' EXIT
python3 "$corpus/run.py" --launcher "$corpus/launchers/none.json" --as root --out "$none" --jobs 2 >/dev/null || :
python3 "$corpus/run.py" --launcher test/redteam/${AGENT6_REDTEAM:-agent6_jail}.json --as "$as" --baseline "$none" --jobs 2 \
	--skip proc.launcher_killed --host-git "sh $corpus/hostgit/hardened.sh" "$@"
