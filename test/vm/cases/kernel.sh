# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# What differs from kernel to kernel: each feature that is used where there is one, and what is said or refused where not.
by_hand() { # POLICY...: agent6-jail as whoever calls
	echo "{$1}" | agent6-jail
}
as_root() { # LINE: root, on the disk
	sh -c "cd /srv/w && AGENT6_ALLOW_ROOT=1 HOME=/root $1"
}
has() { grep -q "\"returncode\":0,.*$1" /tmp/o; }
mkdir -p /srv/w /var/tmp/w
chown user /var/tmp/w
(cd /srv/w && git init -q . && echo x >kept)
printf '[sandbox]\nprofile = "hardened"\n' >/tmp/hardened.toml
chmod 644 /tmp/hardened.toml
P='"env":[["PATH","/usr/bin"]],"cwd":'

case_ "auto is strict for a user, and every probe of check sandbox holds" \
	'as_user $SH "agent6 check sandbox" >/tmp/o && row | grep -q "strict it is" && grep -q " 0 failed" /tmp/o'
case_ "auto is strict for root, and every probe of check sandbox holds" \
	'as_root "agent6 check sandbox" >/tmp/o && row | grep -q "strict it is" && grep -q " 0 failed" /tmp/o'
case_ "a whole run works as a user" 'as_user $SH "agent6 demo" >/tmp/o 2>&1 && grep -q "isolation strict" /tmp/o && grep -q "gate  *green" /tmp/o'
case_ "a whole run works as root" 'as_root "agent6 demo" >/tmp/o 2>&1 && grep -q "isolation strict" /tmp/o && grep -q "gate  *green" /tmp/o'
case_ "a user's command on a disk" 'cd /var/tmp/w && by_hand "\"argv\":[\"sh\",\"-c\",\"echo a >made && id -u\"],$P\"/var/tmp/w\"" >/tmp/o; cd /; has 64006 && [ "$(stat -c %u /var/tmp/w/made)" = 1000 ]'
case_ "root's command is nobody of this machine, and what it makes is root's on an id-mapped disk" \
	'by_hand "\"argv\":[\"sh\",\"-c\",\"echo a >made && id -u\"],$P\"/srv/w\"" >/tmp/o; has 64006 && [ "$(stat -c %u /srv/w/made)" = 0 ]'
mkdir -p /home/rw
if older 6 3; then
	case_ "root's workspace in memory, where such files cannot be id-mapped yet, is refused, and where it can be is said" \
		'! by_hand "\"argv\":[\"true\"],$P\"/home/rw\"" >/tmp/o 2>&1 && grep -q "map the owner of /home/rw" /tmp/o && grep -q "hint: .*ext4.*from Linux 6.3 on, tmpfs" /tmp/o'
else
	case_ "root's workspace in memory is id-mapped too" \
		'by_hand "\"argv\":[\"sh\",\"-c\",\"echo a >made\"],$P\"/home/rw\"" >/tmp/o 2>&1; has "" && [ "$(stat -c %u /home/rw/made)" = 0 ]'
fi

# Whatever this kernel's Landlock does not know, mounts, namespaces and filters hold under strict.
case_ "strict: no file outside is cut short by its name, nor a protected one" \
	'as_user $SH "echo long >/home/user/outside; git config --file .git/config a.b c; agent6 exec -- sh -c \"truncate -s 0 /home/user/outside; truncate -s 0 .git/config; truncate -s 0 /etc/passwd; echo x >mine; truncate -s 0 mine\"" >/tmp/o 2>&1; [ "$(cat /home/user/outside)" = long ] && [ -s /home/user/w/.git/config ] && [ -s /etc/passwd ] && [ ! -s /home/user/w/mine ]'
python3 -c 'import socket,signal
s = socket.socket(socket.AF_UNIX); s.bind("\0vm"); s.listen()
signal.pause()' &
listener=$!
soon 'grep -q @vm /proc/net/unix'
cp /usr/bin/netprobe /home/user/w/
case_ "an abstract socket of the host is reached without a jail" 'as_user $SH "./netprobe abstract=vm" >/tmp/o; grep -q "^abstract reached" /tmp/o'
case_ "strict: it is not from a command" 'as_user $SH "agent6 exec -- ./netprobe abstract=vm" >/tmp/o; grep -q "^abstract refused" /tmp/o'
printf '[sandbox]\ntool_network = "allow"\n' >/tmp/allow.toml
chmod 644 /tmp/allow.toml
case_ "strict: nor from one that has the host's network" \
	'as_user $SH "agent6 exec --config /tmp/allow.toml -- ./netprobe abstract=vm" >/tmp/o 2>&1; grep -q "^abstract refused" /tmp/o'
case_ "strict: no process outside is signalled" \
	'as_user $SH "sleep 600 & p=\$!; agent6 exec -- kill -9 \$p; kill -0 \$p && kill \$p" >/tmp/o 2>&1'
kill $listener

# The other entry to a 64-bit kernel, with numbers of its own: a program of 32 bits that only ends, with 42.
python3 -c 'import os, struct
machine, code = {"x86_64": (3, "bb2a000000 b801000000 cd80"), "aarch64": (40, "2a00a0e3 0170a0e3 000000ef")}[os.uname().machine]
code = bytes.fromhex(code)
head = struct.pack("<4sBBBBQHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 0, 0, 2, machine, 1, 0x10054, 52, 0, 0x5000000 if machine == 40 else 0, 52, 32, 1, 0, 0, 0)
open("/home/user/w/small", "wb").write(head + struct.pack("<8I", 1, 0, 0x10000, 0x10000, 84 + len(code), 84 + len(code), 5, 0x1000) + code)'
chmod 755 /home/user/w/small
if as_user $SH ./small || [ $? != 42 ]; then
	echo "vm: skipped: programs of 32 bits: this kernel or processor runs none"
else
	case_ "a call by the 32-bit entry ends the process: SIGSYS" 'as_user $SH "agent6 exec -- ./small" >/tmp/o 2>&1; [ $? = 159 ]'
fi

if old_landlock; then
	case_ "check sandbox says what this kernel's Landlock does not know" \
		'as_user $SH "agent6 check sandbox" >/tmp/o; grep -aq "landlock_abi: 2, which does not know: truncation, TCP ports, .*signals and abstract sockets" /tmp/o'
	case_ "hardened is refused by name, with the reason and the remedy" \
		'! as_user $SH "agent6 exec --config /tmp/hardened.toml -- touch made" >/tmp/o 2>&1 && grep -q "hardened.*not possible here: .*any file can be truncated" /tmp/o && grep -q "hint: use Linux 6.2 or newer" /tmp/o && [ ! -e /home/user/w/made ]'
	case_ "hardened by hand is refused: exit status 2" \
		'by_hand "\"profile\":\"hardened\",\"argv\":[\"touch\",\"made2\"],$P\"/srv/w\"" >/tmp/o 2>&1; [ $? = 2 ] && grep -q "needs Landlock ABI 3" /tmp/o && [ ! -e /srv/w/made2 ]'
else
	case_ "hardened runs by name" 'as_user $SH "agent6 exec --config /tmp/hardened.toml -- echo hello" >/tmp/o 2>&1; grep -qx hello /tmp/o'
	case_ "hardened: every probe of check sandbox holds" 'as_user $SH "agent6 check sandbox --config /tmp/hardened.toml" >/tmp/o && grep -q " 0 failed" /tmp/o'
	case_ "hardened: no file outside is cut short by its name" \
		'as_user $SH "echo long >/home/user/outside; agent6 exec --config /tmp/hardened.toml -- truncate -s 0 /home/user/outside" >/tmp/o 2>&1; [ "$(cat /home/user/outside)" = long ]'
fi
