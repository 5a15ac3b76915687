# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
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
