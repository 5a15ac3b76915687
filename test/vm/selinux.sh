# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# selinux.sh, read by run.sh: the distribution's SELinux policy, compiled from its package, and what labels files by it.
# Its programs are of the policy's suite and run with that suite's C library, here and there.
sel=$vm/selinux
if ! [ -e "$sel/policy" ]; then
	test/vm/apt-apart.sh "$vm" "$suite" "$arch"
	rm -rf "$sel.new"
	mkdir -p "$sel.new/cil" "$sel.new/debs"
	(cd "$sel.new/debs" && APT_CONFIG=$vm/apt/conf apt-get -qq download selinux-policy-default secilc policycoreutils libsepol2 libselinux1 \
		libpcre2-8-0 libaudit1 libcap-ng0 libbz2-1.0 libc6 coreutils)
	for d in "$sel.new"/debs/*.deb; do dpkg -x "$d" "$sel.new/sys"; done
	mv "$sel.new/debs" "$sel.new/packages"
	cat >"$sel.new/run" <<-'RUN'
		#!/bin/sh
		# run PROGRAM...: with the libraries beside it
		here=${0%/*}/sys
		program=$1
		shift
		for l in "$here/usr/lib/x86_64-linux-gnu" "$here/lib/x86_64-linux-gnu"; do
			[ ! -e "$l/ld-linux-x86-64.so.2" ] || ld=$l/ld-linux-x86-64.so.2
		done
		exec "$ld" --library-path "$here/usr/lib/x86_64-linux-gnu:$here/lib/x86_64-linux-gnu" "$here/$program" "$@"
	RUN
	chmod +x "$sel.new/run"
	for p in "$sel.new"/sys/usr/share/selinux/default/*.pp.bz2; do
		n=${p##*/}
		bzip2 -dc "$p" >"$sel.new/module"
		"$sel.new/run" usr/libexec/selinux/hll/pp "$sel.new/module" >"$sel.new/cil/${n%.pp.bz2}.cil"
	done
	"$sel.new/run" usr/bin/secilc -m -M true -N -c 33 -o "$sel.new/policy" -f "$sel.new/file_contexts" "$sel.new"/cil/*.cil
	mv "$sel.new" "$sel"
fi
mkdir -p "$root/selinux/sys/usr" "$root/etc/selinux/default/contexts/files"
cp "$sel/policy" "$sel/file_contexts" "$sel/run" "$root/selinux/"
for d in lib sbin bin usr/lib usr/sbin usr/bin; do
	[ ! -d "$sel/sys/$d" ] || { mkdir -p "$root/selinux/sys/$d" && cp -a "$sel/sys/$d/." "$root/selinux/sys/$d/"; }
done
cp -a "$sel/sys/etc/selinux/." "$root/etc/selinux/"
printf 'SELINUX=enforcing\nSELINUXTYPE=default\n' >"$root/etc/selinux/config"
cp "$sel/file_contexts" "$root/etc/selinux/default/contexts/files/"
append="security=selinux selinux=1 enforcing=0"
