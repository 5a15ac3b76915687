#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# Runs in the virtual machine as root. Each case is a claim and a shell line that is true when it holds.
passed=0
failed=0
G=/sys/fs/cgroup
U=$G/user

case_() { # CLAIM LINE
	rm -f /tmp/o
	if eval "$2" >/tmp/case.log 2>&1; then
		passed=$((passed + 1))
		echo "vm: ok: $1"
	else
		failed=$((failed + 1))
		echo "vm: FAILED: $1: $(tail -5 /tmp/case.log | tr '\n' '|')$(tail -40 /tmp/o 2>/dev/null | grep -v "PASS\]" | tr '\n' '|')"
	fi
}
as_user() { # GROUP LINE: as an ordinary user whose shell is in that group
	sh -c "echo \$\$ >$1/cgroup.procs && exec su user -c 'cd /home/user/w && $2'"
}
older() { # MAJOR MINOR: than that Linux
	uname -r | awk -F. -v a="$1" -v b="$2" '{ exit !($1 < a || ($1 == a && $2 < b)) }'
}
old_landlock() { # too old for hardened
	as_user $SH "agent6 check sandbox" | grep -aE "landlock_abi: [012]( |,)" >/dev/null
}
left() { ls -d $U/agent6-* 2>/dev/null | grep -q .; }
soon() { # LINE: true within ten seconds; nothing else tells of a directory's end
	for _ in $(seq 100); do
		eval "$1" && return 0
		usleep 100000
	done
	return 1
}

echo "vm: kernel $(uname -r), security modules $(cat /sys/kernel/security/lsm)"
mkdir -p /home/user/w /home/user/.config/agent6
printf '[sandbox]\nmemory_limit_mb = 128\n' >/home/user/.config/agent6/config.toml
chown -R user:user /home/user
chmod 700 /home/user/.config/agent6
chmod 600 /home/user/.config/agent6/config.toml
su user -c 'cd /home/user/w && git init -q .'
cat >/home/user/w/widen.sh <<'END'
G=/sys/fs/cgroup/user
case " $* " in *" out "*)
	for f in $G/cgroup.procs $G/shell/cgroup.procs $G/agent6-*/cgroup.procs; do (echo 0 >$f) && echo OUT; done
esac
case " $* " in *" wide "*)
	for f in $G/memory.max $G/agent6-*/memory.max $G/agent6-*/pids.max; do (echo max >$f) && echo WIDE; done
	mkdir $G/agent6-x && echo WIDE
esac
echo end
END

# What a manager of sessions does: a group that is the user's, and the shell in a group below it.
echo "+memory +pids" >$G/cgroup.subtree_control
mkdir $U $U/shell $G/other
echo "+memory +pids" >$U/cgroup.subtree_control
chown user $U $U/cgroup.procs $U/cgroup.subtree_control $U/shell $U/shell/cgroup.procs
SH=$U/shell

printf '[sandbox]\nprofile = "strict"\n' >/tmp/strict.toml
strict='agent6 exec --config /tmp/strict.toml --'
row() { grep -a "\] profile: " /tmp/o; }
printf '[mcp.idle]\ncommand = ["sleep", "600"]\nstartup_timeout_s = 120\n[sandbox]\nmemory_limit_mb = 128\n' >/tmp/idle.toml
printf '[mcp.greedy]\nstartup_timeout_s = 120\ncommand = ["sh", "-c", "for i in 1 2 3 4; do dd if=/dev/zero of=/dev/null bs=60M count=20 & done; wait; exit 1"]\n[sandbox]\nmemory_limit_mb = 128\n' >/tmp/greedy.toml
chmod 644 /tmp/idle.toml /tmp/greedy.toml

# The control group of a cell: what it limits, and that it goes with everything in it.
group_cases() { # PROFILE PLACE: one whose files are memory
	place=$2
	case_ "$1: no group is left" '! left'
	case_ "$1: what fills a memory file system is killed, and the key is named" \
		'as_user $SH "agent6 exec -- dd if=/dev/zero of=$place/x bs=1M count=200" >/tmp/o 2>&1; rm -f /home/user/w/x; grep -q sandbox.memory_limit_mb /tmp/o'
	case_ "$1: many small ones are killed together, and the key is named" \
		'as_user $SH "agent6 exec -- sh -c \"for i in 1 2 3 4; do dd if=/dev/zero of=/dev/null bs=60M count=20 & done; wait; exit 1\"" 2>&1 | grep -q sandbox.memory_limit_mb'
	case_ "$1: what stays below is left alone" \
		'as_user $SH "agent6 exec -- dd if=/dev/zero of=/dev/null bs=60M count=2"'
	case_ "$1: no group is left after that" '! left'
	as_user $SH "exec agent6 exec -- sleep 600" &
	case_ "$1: a command is in a group with its limits" \
		'soon "left && grep -q . $U/agent6-*/cgroup.procs" && grep -qx 134217728 $U/agent6-*/memory.max && grep -qx 4096 $U/agent6-*/pids.max && grep -qx 0 $U/agent6-*/memory.swap.max'
	case_ "$1: without a jail its user may leave the group" 'as_user $SH "sh widen.sh out" | grep -qx OUT'
	case_ "$1: a command neither leaves its group nor widens it" \
		'as_user $SH "agent6 exec -- sh widen.sh out wide" >/tmp/o 2>&1; grep -qx end /tmp/o && ! grep -Eqx "OUT|WIDE" /tmp/o && grep -qx 134217728 $U/agent6-*/memory.max && [ "$(ls -d $U/agent6-* | wc -l)" = 1 ]'
	case_ "$1: the jail cannot see where" '! cat /proc/$(pidof sleep)/cgroup | grep -q "^0::/$"'
	killall -9 agent6
	case_ "$1: a kill -9 of who started it leaves no group and no process" 'soon "! left && ! pidof sleep"'
	as_user $SH "exec agent6 exec -- sleep 600" &
	soon 'left && pidof sleep'
	killall -9 agent6-jail agent6
	case_ "$1: a kill -9 of all leaves no process" 'soon "! pidof sleep"'
	case_ "$1: and the next start takes away what was left" 'as_user $SH "agent6 exec -- true"; ! left'
	as_user $SH "exec agent6 mcp list --config /tmp/idle.toml" &
	case_ "$1: an MCP server is in a group of its own with the same limits" \
		'soon "left && pidof sleep && grep -qx \$(pidof sleep) $U/agent6-*/cgroup.procs" && grep -qx 134217728 $U/agent6-*/memory.max && grep -qx 4096 $U/agent6-*/pids.max'
	killall -9 agent6
	case_ "$1: which goes with who started it" 'soon "! left && ! pidof sleep"'
	case_ "$1: one that wants more is killed, and the key is named" \
		'as_user $SH "agent6 mcp list --config /tmp/greedy.toml" >/tmp/o 2>&1; cat /tmp/o; grep -q sandbox.memory_limit_mb /tmp/o'
	case_ "$1: and no group is left of it" 'soon "! left"'
	echo 64000000 >$SH/memory.max
	as_user $SH "exec agent6 exec -- sleep 600" &
	case_ "$1: the limit of the group it was started in holds inside" 'soon "grep -qx 63999\\|64000 -c /dev/null; left" && [ $(cat $U/agent6-*/memory.max) -le 64000000 ]'
	killall -9 agent6
	soon '! left'
	case_ "$1: who is killed for that is told so, and no key" \
		'as_user $SH "agent6 exec -- dd if=/dev/zero of=/dev/null bs=100M count=2" >/tmp/o 2>&1; cat /tmp/o; grep -q "started where no more is allowed" /tmp/o && ! grep -q sandbox.memory_limit_mb /tmp/o'
	echo max >$SH/memory.max
	echo 90000000 >$U/memory.max
	case_ "$1: who is killed because a group further out is full is told nothing" \
		'as_user $SH "agent6 exec -- dd if=/dev/zero of=/dev/null bs=110M count=2" >/tmp/o 2>&1; [ $? = 137 ]; killed=$?; cat /tmp/o; [ $killed = 0 ] && ! grep -q "MiB of memory" /tmp/o'
	echo max >$U/memory.max
}

for c in $(cat /vm/cases); do
	. "/vm/$c.sh"
done
echo "vm: $passed passed, $failed failed"
