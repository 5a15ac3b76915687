#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# run.sh BUILD: boots a kernel of the distribution in a virtual machine and runs test/vm/inside.sh there: what needs a
# machine of its own, since it sets a host up otherwise (a delegated control group, no user namespaces, AppArmor profiles).
# AGENT6_VM_KERNEL names a vmlinuz; without it one is fetched once into BUILD/vm, from this machine's suite or from
# AGENT6_VM_SUITE (trixie, say), then with that suite's AppArmor. The last line counts the cases.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "$1" && pwd)
suite=${AGENT6_VM_SUITE:-}
vm=$build/vm${suite:+-$suite}
root=$vm/root
rm -rf "$root"
mkdir -p "$vm" "$root"

# Of another suite: its lists and what is fetched lie apart, and this machine's apt is as it was.
if [ -n "$suite" ]; then
	mkdir -p "$vm/apt/lists/partial" "$vm/apt/cache/archives/partial"
	# shellcheck disable=SC2016
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/*$')
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" >"$vm/apt/sources.list"
	cat >"$vm/apt/conf" <<-END
		Dir::State::lists "$vm/apt/lists";
		Dir::Cache "$vm/apt/cache";
		Dir::Etc::sourcelist "$vm/apt/sources.list";
		Dir::Etc::sourceparts "-";
		APT::Sandbox::User "root";
	END
	export APT_CONFIG="$vm/apt/conf"
	[ -e "$vm/apparmor" ] || apt-get -qq update
fi

kernel=${AGENT6_VM_KERNEL:-$(ls "$vm"/kernel/boot/vmlinuz-* 2>/dev/null | tail -1)}
if [ -z "$kernel" ]; then
	package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
	(cd "$vm" && apt-get -qq download "$package" && dpkg -x linux-image-*.deb kernel && rm linux-image-*.deb)
	kernel=$(ls "$vm"/kernel/boot/vmlinuz-* | tail -1)
fi

# A root with what the programs load, a shell, and what a jail shows of a system.
for d in bin dev etc proc sys tmp run home/user root usr/bin usr/lib usr/lib64 var/tmp opt; do mkdir -p "$root/$d"; done
rmdir "$root/bin"
ln -s usr/bin "$root/bin"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
cp "$(command -v busybox)" "$root/usr/bin/busybox"
for t in $("$root/usr/bin/busybox" --list); do
	[ -e "$root/usr/bin/$t" ] || ln -s busybox "$root/usr/bin/$t"
done
bring() { # PROGRAM PLACE: with its libraries, at the names they have here
	cp "$1" "$root/$2"
	ldd "$1" 2>/dev/null | awk '{ for (i = 1; i <= NF; i++) if ($i ~ "^/") print $i }' | while read -r lib; do
		mkdir -p "$root/$(dirname "$lib")"
		[ -e "$root/$lib" ] || cp -L "$lib" "$root/$lib"
	done
}
bring "$(command -v git)" usr/bin/git
for p in agent6 agent6-jail agent6-net agent6-index agent6-resolver unit; do [ ! -e "$build/$p" ] || bring "$build/$p" "usr/bin/$p"; done
printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"
# AppArmor's parser and what it includes, where this machine has one that knows user namespaces (4.0), or from a directory
# that is laid over the root.
if [ -n "${AGENT6_VM_EXTRA:-}" ]; then
	cp -a "$AGENT6_VM_EXTRA/." "$root/"
elif [ -n "$suite" ]; then
	if ! [ -e "$vm/apparmor" ]; then
		(cd "$vm" && apt-get -qq download "apparmor/$suite" "libc6/$suite" && for p in apparmor libc6; do
			dpkg -x "$p"_*.deb apparmor.new && rm "$p"_*.deb
		done && mv apparmor.new apparmor)
	fi
	# It was linked with a newer C library than this machine's.
	mkdir -p "$root/usr/sbin" "$root/usr/lib/parser" "$root/usr/share"
	cp "$vm/apparmor/usr/sbin/apparmor_parser" "$root/usr/lib/parser/"
	find "$vm/apparmor" \( -name libc.so.6 -o -name 'ld-linux*.so.*' \) -type f -exec cp {} "$root/usr/lib/parser/" \;
	printf '#!/bin/sh\nexec /usr/lib/parser/ld-linux-x86-64.so.2 --library-path /usr/lib/parser /usr/lib/parser/apparmor_parser "$@"\n' \
		>"$root/usr/sbin/apparmor_parser"
	chmod 755 "$root/usr/sbin/apparmor_parser"
	cp -a "$vm/apparmor/etc/apparmor" "$vm/apparmor/etc/apparmor.d" "$root/etc/"
	cp -a "$vm/apparmor/usr/share/apparmor-features" "$root/usr/share/"
elif [ -x /usr/sbin/apparmor_parser ] && [ -e /etc/apparmor.d/abi/4.0 ]; then
	mkdir -p "$root/usr/sbin"
	bring /usr/sbin/apparmor_parser usr/sbin/apparmor_parser
	cp -a /etc/apparmor /etc/apparmor.d "$root/etc/"
	[ ! -e /usr/share/apparmor-features ] || { mkdir -p "$root/usr/share" && cp -a /usr/share/apparmor-features "$root/usr/share/"; }
fi
cp test/vm/inside.sh test/vm/init "$root/"
chmod 755 "$root/init" "$root/inside.sh"
(cd "$root" && find . | LC_ALL=C sort | busybox cpio -o -H newc -R 0:0 2>/dev/null | gzip -1) >"$vm/initramfs.gz"

rm -f "$vm/log"
: >"$vm/log"
tail -n +1 -f --pid=$$ "$vm/log" | grep -a --line-buffered '^vm: ' &
timeout "${AGENT6_VM_SECONDS:-1800}" qemu-system-x86_64 -machine "accel=${AGENT6_VM_ACCEL:-tcg}" -cpu max -nic none -smp 1 -m 2048 \
	-display none -serial "file:$vm/log" -no-reboot -kernel "$kernel" -initrd "$vm/initramfs.gz" \
	-append "console=ttyS0 quiet no_timer_check panic=-1 ${AGENT6_VM_APPEND:-}" </dev/null >&2 || true
grep -aq '^vm: .* 0 failed' "$vm/log"
