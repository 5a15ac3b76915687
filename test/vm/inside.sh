#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# Runs in the virtual machine as root. Each case is a claim and a shell line that is true when it holds.
passed=0
failed=0
G=/sys/fs/cgroup
U=$G/user

case_() { # CLAIM LINE
	if eval "$2" >/tmp/case.log 2>&1; then
		passed=$((passed + 1))
		echo "vm: ok: $1"
	else
		failed=$((failed + 1))
		echo "vm: FAILED: $1: $(tail -5 /tmp/case.log | tr '\n' '|')"
	fi
}
as_user() { # GROUP LINE: as an ordinary user whose shell is in that group
	sh -c "echo \$\$ >$1/cgroup.procs && exec su user -c 'cd /home/user/w && $2'"
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

# What a manager of sessions does: a group that is the user's, and the shell in a group below it.
echo "+memory +pids" >$G/cgroup.subtree_control
mkdir $U $U/shell $G/other
echo "+memory +pids" >$U/cgroup.subtree_control
chown user $U $U/cgroup.procs $U/cgroup.subtree_control $U/shell $U/shell/cgroup.procs
SH=$U/shell

printf '[mcp.idle]\ncommand = ["sleep", "600"]\nstartup_timeout_s = 120\n[sandbox]\nmemory_limit_mb = 128\n' >/tmp/idle.toml
printf '[mcp.greedy]\ncommand = ["sh", "-c", "for i in 1 2 3 4; do dd if=/dev/zero of=/dev/null bs=60M count=20 & done; wait; exit 1"]\n[sandbox]\nmemory_limit_mb = 128\n' >/tmp/greedy.toml
chmod 644 /tmp/idle.toml /tmp/greedy.toml

case_ "an ordinary command runs" 'as_user $SH "agent6 exec -- echo hello" | grep -q hello'
case_ "check sandbox says that a group can be made" 'as_user $SH "agent6 check sandbox" | grep -a memory_group | grep -q 128'
case_ "check sandbox says why where nothing is delegated" \
	'as_user $G/other "agent6 check sandbox" | grep -a memory_group | grep -q "is not delegated"'
case_ "a command runs where nothing is delegated" 'as_user $G/other "agent6 exec -- echo hello" | grep -q hello'

tests() { # PROFILE PLACE: one whose files are memory
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
	echo max >$SH/memory.max
}
tests strict /dev/shm
[ -z "${AGENT6_VM_UNITS:-}" ] || case_ "the unit tests of the sandbox pass on this kernel" 'su user -c "cd /tmp && timeout 200 unit cell_" && su user -c "cd /tmp && timeout 200 unit zygote_"'

R=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
if [ -e $R ] && [ -x /usr/sbin/apparmor_parser ]; then
	echo 1 >$R
	case_ "AppArmor: where it restricts user namespaces auto is hardened and says so" \
		'as_user $SH "agent6 check sandbox" | grep -a profile | grep -qi "hardened it is.*apparmor"'
	case_ "AppArmor: a command runs there" 'as_user $SH "agent6 exec -- echo hello" | grep -q hello'
	case_ "AppArmor: the profile can be installed" 'agent6 system apparmor install'
	case_ "AppArmor: it is strict again" 'as_user $SH "agent6 check sandbox" | grep -a profile | grep -q "strict it is"'
	case_ "AppArmor: a command runs in it" 'as_user $SH "agent6 exec -- echo hello" | grep -q hello'
	case_ "AppArmor: nobody else makes one" '! as_user $SH "unshare -U true"'
	case_ "AppArmor: status tells of it" 'agent6 system apparmor status | grep -q loaded'
	case_ "AppArmor: it can be removed" 'agent6 system apparmor remove && as_user $SH "agent6 check sandbox" | grep -a profile | grep -q "hardened it is"'
	echo 0 >$R
else
	echo "vm: skipped: AppArmor's restriction of user namespaces: this kernel or this machine has it not"
fi
echo 0 >/proc/sys/user/max_user_namespaces
if as_user $SH "agent6 check sandbox" | grep -a "landlock_abi: [012] " >/dev/null; then
	case_ "without user namespaces and with an old Landlock nothing runs, and the remedy is said" \
		'! as_user $SH "agent6 exec -- true" && as_user $SH "agent6 exec -- true" 2>&1 | grep -q "use Linux 6.2 or newer"'
	echo "vm: $passed passed, $failed failed"
	exit
fi
case_ "without user namespaces auto is hardened and says why" \
	'as_user $SH "agent6 check sandbox" | grep -a profile | grep -q "hardened it is.*max_user_namespaces"'
tests hardened .
printf '[sandbox]\nprofile = "strict"\n' >/tmp/strict.toml
case_ "strict is refused there, with the remedy" \
	'as_user $SH "agent6 exec --config /tmp/strict.toml -- true" 2>&1 | grep -q "max_user_namespaces"'
echo "vm: $passed passed, $failed failed"
