# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# The red-team corpus against agent6-jail by hand, judged as on any machine: what must hold holds, and every control works.
# VM_REDTEAM on the kernel's command line gives run.py options (--only=fsw.*, say).
mkdir -p /tmp/rt
corpus() { # DESCRIPTION WHO
	b=/tmp/rt/$1-$2
	mkdir -p $b
	cp -p /srv/rt/* $b/
	python3 run.py --launcher /source/test/redteam/$1.json --as "$2" --baseline /tmp/rt/none.jsonl --build-dir $b --skip proc.launcher_killed \
		--host-git "sh /shared/redteam/hostgit/hardened.sh {gitdir} {ws}" --out /tmp/rt/$1-$2.jsonl $options >/tmp/rt/$1-$2.log 2>&1
}
told() { # DESCRIPTION WHO: what did not hold or work, and the sums
	grep -aE "^(ESCAPED|BROKEN|ERROR)" /tmp/rt/$1-$2.log | sed "s/^/vm: $1 $2: /" | cut -c1-300
	tail -12 /tmp/rt/$1-$2.log | sed "s/^/vm: $1 $2: /"
}
options=$(tr ' ' '\n' </proc/cmdline | sed -n 's/^VM_REDTEAM=//p' | tr ',' ' ')
profiles="agent6_jail agent6_jail_hardened"
old_landlock && profiles=agent6_jail
users="user root"
older 6 3 && users=user # the corpus puts its workspace on tmpfs, which is refused to root there (cases/kernel.sh)
cd /shared/redteam
export AGENT6_JAIL_BIN=/usr/bin/agent6-jail
mkdir -p /tmp/rt/none
cp -p /srv/rt/* /tmp/rt/none/
setsid -w python3 run.py --as root --out /tmp/rt/none.jsonl --build-dir /tmp/rt/none $options >/tmp/rt/none.log 2>&1
case_ "the corpus runs without a jail" 'cp /tmp/rt/none.log /tmp/o; test -s /tmp/rt/none.jsonl'
for p in $profiles; do
	for who in $users; do
		case_ "the red-team corpus: what must hold of $p as $who holds, and the controls work" \
			"corpus $p $who"
		told $p $who
	done
done
cd /
