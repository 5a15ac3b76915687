# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# Hosts without user namespaces: by Debian's switch for all but root, then for everybody. There everything runs under
# hardened, or, where Landlock is too old for that, nothing.
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
N=/proc/sys/user/max_user_namespaces
max=$(cat $N)
echo 0 >$N
case_ "without user namespaces strict is refused, with the remedy" \
	'! as_user $SH "$strict true" >/tmp/o 2>&1 && grep -q "hint: .*max_user_namespaces" /tmp/o'
if old_landlock; then
	case_ "without user namespaces and with an old Landlock nothing runs, and the remedy is said" \
		'! as_user $SH "agent6 exec -- true" && as_user $SH "agent6 exec -- true" 2>&1 | grep -q "use Linux 6.2 or newer"'
else
	case_ "without user namespaces auto is hardened and says why" \
		'as_user $SH "agent6 check sandbox" | grep -a profile | grep -q "hardened it is.*max_user_namespaces"'
	group_cases hardened .
fi
echo "$max" >$N
