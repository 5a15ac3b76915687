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
old_landlock() { # too old for hardened
	as_user $SH "agent6 check sandbox" | grep -a "landlock_abi: [012] " >/dev/null
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

printf '[mcp.idle]\ncommand = ["sleep", "600"]\nstartup_timeout_s = 120\n[sandbox]\nmemory_limit_mb = 128\n' >/tmp/idle.toml
printf '[mcp.greedy]\nstartup_timeout_s = 120\ncommand = ["sh", "-c", "for i in 1 2 3 4; do dd if=/dev/zero of=/dev/null bs=60M count=20 & done; wait; exit 1"]\n[sandbox]\nmemory_limit_mb = 128\n' >/tmp/greedy.toml
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
	echo max >$SH/memory.max
}
tests strict /dev/shm
[ -z "${AGENT6_VM_UNITS:-}" ] || case_ "the unit tests of the sandbox pass on this kernel" 'su user -c "cd /tmp && timeout 200 unit cell_" && su user -c "cd /tmp && timeout 200 unit zygote_"'

printf '[sandbox]\nprofile = "strict"\n' >/tmp/strict.toml
strict='agent6 exec --config /tmp/strict.toml --'

# A host that restricts user namespaces: by Ubuntu's switch where the kernel has it, and, from Linux 6.7 on, by a profile
# around whoever starts agent6: one that does not let them be made, one that lets nothing be done in them (which is what
# the switch does), one of agent6-jail's own.
P=/usr/sbin/apparmor_parser
R=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
profile() { # NAME HEAD RULES: all is allowed but user namespaces; every program goes on in it that has no profile of its own
	cat >/etc/apparmor.d/$1 <<-END
		abi <abi/4.0>,
		profile $1 $2 {
		  /{,**} rwlkm,
		  /{,**} pix,
		  network, mount, remount, umount, pivot_root, ptrace, signal, unix, dbus, mqueue, io_uring,
		  $3
		}
	END
	$P -r -K /etc/apparmor.d/$1
}
within() { # PROFILE LINE: as an ordinary user whose shell has that profile around it
	sh -c "echo 'exec $1' >/proc/self/attr/apparmor/exec && exec su user -c 'cd /home/user/w && $2'"
}
as_on_ubuntu() { # PROFILE LINE
	as_user $SH "$2"
}
row() { grep -a "\] profile: " /tmp/o; }
allowed() { # HOW PROFILE REASON: what is refused in it, and what the installed profile of ours changes
	how=$1
	in=$2
	why=$3
	here="AppArmor: $how $in"
	case_ "$here: auto is hardened, and who refuses and what helps are said" \
		'$how $in "agent6 check sandbox" >/tmp/o && row | grep -a "hardened it is: .*$why" | grep -q "sudo agent6 system apparmor install"'
	case_ "$here: a command runs, with that said" \
		'$how $in "agent6 exec -- echo hello" >/tmp/o 2>&1 && grep -qx hello /tmp/o && grep -q "hardened.*instead of.*$why" /tmp/o'
	case_ "$here: strict is refused, with the reason and the remedy" \
		'! $how $in "$strict true" >/tmp/o 2>&1 && grep -q "strict.*not possible here: .*$why" /tmp/o && grep -q "hint: .*apparmor install" /tmp/o'
	case_ "$here: no ordinary user installs the profile" \
		'! su user -c "agent6 system apparmor install" >/tmp/o 2>&1 && grep -q "root.s to change" /tmp/o && [ ! -e /etc/apparmor.d/agent6-jail ]'
	case_ "$here: root does, and one profile is more than before" \
		'sort $K >/tmp/k && agent6 system apparmor install && [ "$(sort $K | grep -vxFf /tmp/k)" = "agent6-jail (unconfined)" ]'
	case_ "$here: status tells of it" \
		'agent6 system apparmor status >/tmp/o && grep -q "agent6-jail: there$" /tmp/o && grep -q "^loaded *yes" /tmp/o'
	case_ "$here: it is strict, and every probe holds" '$how $in "agent6 check sandbox" >/tmp/o && row | grep -q "strict it is"'
	case_ "$here: a command runs in a strict jail" '[ "$($how $in "$strict ls /home/user")" = w ]'
	case_ "$here: a command in it makes no namespace" '! $how $in "$strict unshare -U true"'
	case_ "$here: a whole run works there" '$how $in "agent6 demo" >/tmp/o 2>&1 && ! grep -q hardened /tmp/o'
	case_ "$here: no other program makes one" '! $how $in "unshare -Ur mount -t tmpfs x /home/user/w"'
	case_ "$here: nor does a copy of agent6-jail" \
		'cp /usr/bin/agent6-jail /home/user/w/j && ! $how $in "./j --probe" && $how $in "AGENT6_JAIL_BIN=/home/user/w/j agent6 check sandbox" >/tmp/o && row | grep -q "hardened it is"'
	case_ "$here: removed, nothing of it is left" \
		'agent6 system apparmor remove && sort $K | cmp - /tmp/k && [ ! -e /etc/apparmor.d/agent6-jail ] && $how $in "agent6 check sandbox" >/tmp/o && row | grep -q "hardened it is"'
}
K=/sys/kernel/security/apparmor/profiles
if [ -x $P ] && grep -qw userns_create /sys/kernel/security/apparmor/features/namespaces/mask; then
	case_ "AppArmor: without a profile and a switch it is strict" \
		'as_user $SH "agent6 check sandbox" >/tmp/o && row | grep -q "strict it is"'
	profile office "" "capability,"
	allowed within office 'AppArmor profile "office"'
	profile powerless "" "userns, capability setuid, capability setgid,"
	allowed within powerless 'AppArmor profile "powerless"'
	profile jailer /usr/bin/agent6-jail "capability,"
	case_ "AppArmor: a profile of somebody else's for agent6-jail that refuses is named, and it is hardened" \
		'as_user $SH "agent6 check sandbox" >/tmp/o && row | grep -a "hardened it is: .*AppArmor profile \"jailer\"" | grep -q "agent6-jail.s, allow"'
	case_ "AppArmor: strict is refused there" \
		'! as_user $SH "$strict true" >/tmp/o 2>&1 && grep -q "strict.*not possible here: .*\"jailer\"" /tmp/o'
	case_ "AppArmor: a command runs there" 'as_user $SH "agent6 exec -- echo hello" | grep -qx hello'
	$P -R /etc/apparmor.d/jailer
else
	echo "vm: skipped: AppArmor profiles about user namespaces: this kernel or this machine has them not"
fi
if [ -e $R ] && [ -x $P ]; then
	echo 1 >$R
	allowed as_on_ubuntu unconfined 'apparmor_restrict_unprivileged_userns = 1'
	echo 0 >$R
else
	echo "vm: skipped: AppArmor's switch for all programs: this kernel or this machine has it not"
fi
C=/proc/sys/kernel/unprivileged_userns_clone
if [ -e $C ]; then
	echo 0 >$C
	case_ "Debian's switch: strict is refused, and the switch is named" \
		'! as_user $SH "$strict true" >/tmp/o 2>&1 && grep -q "strict.*not possible here: .*unprivileged_userns_clone = 0" /tmp/o && grep -q "hint: .*unprivileged_userns_clone = 1" /tmp/o'
	case_ "Debian's switch: root has them all the same" 'agent6 --allow-root check sandbox >/tmp/o; row | grep -q "strict it is"'
	old_landlock || case_ "Debian's switch: auto is hardened and says why" \
		'as_user $SH "agent6 check sandbox" >/tmp/o && row | grep -q "hardened it is: .*unprivileged_userns_clone = 0"'
	echo 1 >$C
fi
echo 0 >/proc/sys/user/max_user_namespaces
if old_landlock; then
	case_ "without user namespaces and with an old Landlock nothing runs, and the remedy is said" \
		'! as_user $SH "agent6 exec -- true" && as_user $SH "agent6 exec -- true" 2>&1 | grep -q "use Linux 6.2 or newer"'
	echo "vm: $passed passed, $failed failed"
	exit
fi
case_ "without user namespaces auto is hardened and says why" \
	'as_user $SH "agent6 check sandbox" | grep -a profile | grep -q "hardened it is.*max_user_namespaces"'
tests hardened .
case_ "strict is refused there, with the remedy" \
	'as_user $SH "$strict true" 2>&1 | grep -q "max_user_namespaces"'
echo "vm: $passed passed, $failed failed"
