# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# SELinux, enforcing, with the policy of the distribution, loaded here and not by an init of a system: what a person's session
# is started in, the domain of an unconfined user or of one whom the policy confines, is entered by hand.
S=/sys/fs/selinux
mount -t selinuxfs sel $S
dd if=/selinux/policy of=$S/load bs=64M 2>/dev/null
F=/etc/selinux/default/contexts/files/file_contexts # beside it stands which directories count as which
for f in sbin usr/sbin; do
	[ ! -e /selinux/sys/$f/setfiles ] || /selinux/run $f/setfiles -F $F / /home /run >/dev/null 2>&1 </dev/null
done
label() { # TYPE FILES...
	type=$1
	shift
	/selinux/run usr/bin/chcon -R "system_u:object_r:$type:s0" "$@"
}
label null_device_t /dev/null
label zero_device_t /dev/zero /dev/full
label urandom_device_t /dev/urandom
label random_device_t /dev/random
echo "vm: SELinux: files are labelled"
cp /tmp/strict.toml /home/user/
strict='agent6 exec --config /home/user/strict.toml --'
label user_home_t /home/user
/selinux/run usr/bin/chcon system_u:object_r:user_home_dir_t:s0 /home/user
/selinux/run usr/bin/chcon system_u:object_r:home_root_t:s0 /home

# The kernel's own domain may not become another, so the policy looks away while that is done, and no longer: who is in it says so,
# and goes on when it is told to. What the line says
# it writes itself, since what was opened outside is no more a confined domain's than this machine's console.
domain() { # USER_ROLE_TYPE LINE
	rm -f /home/user/w/here /home/user/w/go /home/user/w/o
	mkfifo -m 666 /home/user/w/here /home/user/w/go
	label user_home_t /home/user/w/here /home/user/w/go
	exec 7<>/home/user/w/here # so that nobody waits for the other end of it
	echo 0 >$S/enforce
	(
		su user -c "exec /selinux/run usr/bin/runcon $1:s0 /bin/sh -c 'cd /home/user/w; echo in >here; read -r x <go; exec >o 2>&1 </dev/null; $2'" 7>&-
		status=$?
		echo out >&7 # where it never came in
		exit $status
	) &
	inside=$!
	read -r said <&7
	exec 7>&-
	echo 1 >$S/enforce
	[ "$said" != in ] || echo >/home/user/w/go
	wait $inside
	status=$?
	cp /home/user/w/o /tmp/o
	return $status
}
free=unconfined_u:unconfined_r:unconfined_t
held=user_u:user_r:user_t
case_ "SELinux is there and enforces, in the domain that was asked for" \
	'domain $held "cat /proc/self/attr/current"; grep -aq ":user_t:" /tmp/o && [ "$(cat $S/enforce)" = 1 ]'
if grep -q . $S/class/user_namespace/index 2>/dev/null; then
	case_ "a confined user: strict is refused, and the domain is named" \
		'! domain $held "$strict true" && grep -q "strict.*not possible here: SELinux does not let the domain \"user_t\"" /tmp/o && grep -q "hint: .*user_namespace { create }" /tmp/o'
	case_ "a confined user: auto is hardened and says why" 'domain $held "agent6 check sandbox"; row | grep -q "hardened it is: .*SELinux.*\"user_t\""'
	case_ "a confined user: every probe of check sandbox holds under hardened" 'domain $held "agent6 check sandbox" && grep -q " 0 failed" /tmp/o'
	case_ "a confined user: a command runs, with that said" \
		'domain $held "agent6 exec -- echo hello" && grep -qx hello /tmp/o && grep -q "hardened.*instead of.*SELinux" /tmp/o'
	case_ "a confined user: nothing outside is changed" \
		'! domain $held "agent6 exec -- sh -c \"echo x >/home/user/outside\"" && [ ! -e /home/user/outside ]'
else
	echo "vm: skipped: SELinux about user namespaces: this policy or this kernel does not know them (they came with Linux 6.2)"
	case_ "a confined user: strict works, or is refused with the reason" \
		'domain $held "$strict echo hello"; grep -qx hello /tmp/o || grep -q "strict.*not possible here: .*SELinux" /tmp/o'
fi
case_ "an unconfined user: auto is strict, and every probe of check sandbox holds" \
	'domain $free "agent6 check sandbox" && row | grep -q "strict it is" && grep -q " 0 failed" /tmp/o'
case_ "an unconfined user: a whole run works" 'domain $free "agent6 demo" && grep -q "isolation strict" /tmp/o && grep -q "gate  *green" /tmp/o'
case_ "an unconfined user: nothing outside is changed" \
	'! domain $free "agent6 exec -- sh -c \"echo x >/home/user/outside\"" && [ ! -e /home/user/outside ]'
dmesg | grep 'avc:.*permissive=0' | sed 's/.*denied/denied/; s/ pid=[0-9]*//; s/ ino=[0-9]*//' | sort | uniq -c | sort -rn | head -20 | sed 's/^/vm: SELinux: /'
