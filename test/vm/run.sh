#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# run.sh BUILD [CASES...]: boots a kernel of the distribution in a virtual machine and runs there, one after the other, the
# named files of test/vm/cases: what needs a machine of its own, since it sets a host up otherwise (a delegated control
# group, no user namespaces, AppArmor profiles, SELinux) or needs another kernel. Without names: those that fit every machine.
# The last line counts the cases.
#
# The kernel is fetched once into a directory of BUILD, from this machine's suite or from
#   AGENT6_VM_SUITE    trixie, or bookworm-backports; with the suite's AppArmor, where it has one
#   AGENT6_VM_ARCH     arm64: the libraries too (test/vm/arm64.sh), and the programs are built for it
#   AGENT6_VM_KERNEL   names the vmlinuz in an unpacked package instead
#   AGENT6_VM_EXTRA    a directory that is laid over the machine's root
# AGENT6_VM_ACCEL=kvm where that works; AGENT6_VM_APPEND is for the kernel's command line; AGENT6_VM_SECONDS, AGENT6_VM_MEMORY.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "$1" && pwd)
shift
cases=${*:-kernel groups apparmor switches}
for c in $cases; do
	[ -e "test/vm/cases/$c.sh" ] || { echo "vm: there are no cases \"$c\"; there are: $(cd test/vm/cases && ls | sed 's/\.sh$//' | tr '\n' ' ')" >&2; exit 2; }
done
suite=${AGENT6_VM_SUITE:-}
arch=${AGENT6_VM_ARCH:-}
vm=$build/vm${suite:+-$suite}${arch:+-$arch}
root=$vm/root
early=$vm/early
rm -rf "$root" "$early"
mkdir -p "$vm" "$root" "$early"

# Of another suite or machine: its lists and what is fetched lie apart, and this machine's apt is as it was.
if [ -n "$suite$arch" ]; then
	test/vm/apt-apart.sh "$vm" "$suite" "$arch"
	export APT_CONFIG="$vm/apt/conf"
fi

kernel=${AGENT6_VM_KERNEL:-$(ls "$vm"/kernel/boot/vmlinuz-* 2>/dev/null | tail -1)}
if [ -z "$kernel" ]; then
	meta=linux-image-${arch:-amd64}
	package=$(apt-cache depends ${suite:+-t "$suite"} "$meta" | awk '/Depends: linux-image/ { print $2; exit }')
	(cd "$vm" && apt-get -qq download "$package" && dpkg -x linux-image-*.deb kernel && rm linux-image-*.deb)
	kernel=$(ls "$vm"/kernel/boot/vmlinuz-* | tail -1)
fi

# The first file system holds busybox and what the second one needs to be seen; that one is a disk, so that files may be there
# which are not memory.
release=${kernel##*/vmlinuz-}
modules=$(dirname "$kernel")/../lib/modules/$release
[ -d "$modules" ] || modules=$(dirname "$kernel")/../usr/lib/modules/$release
[ -d "$modules" ] || { echo "vm: there are no modules beside $kernel" >&2; exit 2; }
dep=$vm/dep
if ! [ -e "$dep/lib/modules/$release/modules.dep" ]; then
	mkdir -p "$dep/lib/modules"
	cp -a "$modules" "$dep/lib/modules/"
	find "$dep" -name '*.ko.xz' -exec xz -d {} +
	busybox depmod -b "$dep" "$release"
fi
for m in virtio_pci virtio_mmio virtio_blk crc32c_generic ext4 overlay veth loop; do
	# A line is a module, and after the colon everything that it needs; one that is not there is in the kernel itself.
	sed -n "s|^\\(.*/$m\\.ko\\):|\\1|p" "$dep/lib/modules/$release/modules.dep"
done | tr ' ' '\n' | sort -u | while read -r m; do
	[ -n "$m" ] || continue
	mkdir -p "$early/lib/modules/$release/$(dirname "$m")"
	cp "$dep/lib/modules/$release/$m" "$early/lib/modules/$release/$m"
done
mkdir -p "$early/lib/modules/$release" "$early/bin" "$early/dev" "$early/proc" "$early/sys" "$early/new"
cp "$dep/lib/modules/$release/modules.dep" "$early/lib/modules/$release/"

# A root with what the programs load, a shell, and what a jail shows of a system.
for d in dev etc proc sys tmp run home/user root usr/bin usr/sbin usr/lib usr/lib64 var/tmp opt vm srv; do mkdir -p "$root/$d"; done
for d in bin sbin lib lib64; do ln -s "usr/$d" "$root/$d"; done
bring() { # PROGRAM PLACE: with its libraries, at the names they have here
	mkdir -p "$(dirname "$root/$2")"
	cp -L "$1" "$root/$2"
	ldd "$1" 2>/dev/null | awk '{ for (i = 1; i <= NF; i++) if ($i ~ "^/") print $i }' | while read -r lib; do
		mkdir -p "$root/$(dirname "$lib")"
		[ -e "$root/$lib" ] || cp -L "$lib" "$root/$lib"
	done
}
programs=$build
append=
if [ "$arch" = arm64 ]; then
	. test/vm/arm64.sh
else
	busybox=$(command -v busybox)
	bring "$(command -v git)" usr/bin/git
	for p in agent6 agent6-jail agent6-net agent6-index agent6-resolver unit netprobe; do
		[ ! -e "$build/$p" ] || bring "$build/$p" "usr/bin/$p"
	done
fi
cp "$busybox" "$early/bin/busybox"
rm -f "$root/usr/bin/busybox"
cp "$busybox" "$root/usr/bin/busybox"
for t in $(busybox --list); do
	[ -e "$root/usr/bin/$t" ] || ln -s busybox "$root/usr/bin/$t"
done
printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"

apparmor() { # its parser and what that includes, where there is one that knows user namespaces (4.0)
	if [ "$suite" = trixie ] && [ -z "$arch" ]; then
		if ! [ -e "$vm/apparmor" ]; then
			(cd "$vm" && apt-get -qq download "apparmor/$suite" "libc6/$suite" && for p in apparmor libc6; do
				dpkg -x "$p"_*.deb apparmor.new && rm "$p"_*.deb
			done && mv apparmor.new apparmor)
		fi
		# It was linked with a newer C library than this machine's.
		mkdir -p "$root/usr/lib/parser" "$root/usr/share"
		cp "$vm/apparmor/usr/sbin/apparmor_parser" "$root/usr/lib/parser/"
		find "$vm/apparmor" \( -name libc.so.6 -o -name 'ld-linux*.so.*' \) -type f -exec cp {} "$root/usr/lib/parser/" \;
		printf '#!/bin/sh\nexec /usr/lib/parser/ld-linux-x86-64.so.2 --library-path /usr/lib/parser /usr/lib/parser/apparmor_parser "$@"\n' \
			>"$root/usr/sbin/apparmor_parser"
		chmod 755 "$root/usr/sbin/apparmor_parser"
		cp -a "$vm/apparmor/etc/apparmor" "$vm/apparmor/etc/apparmor.d" "$root/etc/"
		cp -a "$vm/apparmor/usr/share/apparmor-features" "$root/usr/share/"
	elif [ -z "$arch" ] && [ -x /usr/sbin/apparmor_parser ] && [ -e /etc/apparmor.d/abi/4.0 ]; then
		bring /usr/sbin/apparmor_parser usr/sbin/apparmor_parser
		cp -a /etc/apparmor /etc/apparmor.d "$root/etc/"
		[ ! -e /usr/share/apparmor-features ] || { mkdir -p "$root/usr/share" && cp -a /usr/share/apparmor-features "$root/usr/share/"; }
	fi
}

userland() { # as Debian has it: busybox knows fewer words, and says others
	for p in $(dpkg -L coreutils dash grep sed util-linux mount procps iproute2 findutils | grep -E '^(/usr)?/s?bin/[^/]*$'); do
		[ -x "$p" ] && [ ! -d "$p" ] || continue
		[ "${p##*/}" != su ] || continue # it wants PAM
		rm -f "$root/usr/bin/${p##*/}" "$root/usr/sbin/${p##*/}"
		bring "$p" "usr/bin/${p##*/}"
	done
	rm -f "$root/usr/bin/sh"
	ln -s dash "$root/usr/bin/sh"
	# The interpreter that Debian's packages made, not one of a machine's own beside it.
	bring /usr/bin/python3 usr/bin/python3
	lib=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
	mkdir -p "$root/$lib"
	tar -C "$lib" --exclude=test --exclude=__pycache__ --exclude=dist-packages --exclude=idlelib --exclude=tkinter --exclude='config-*' -cf - . |
		tar -C "$root/$lib" -xf -
	for so in "$lib"/lib-dynload/*.so; do # what these load
		ldd "$so" | awk '{ for (i = 1; i <= NF; i++) if ($i ~ "^/") print $i }'
	done | sort -u | while read -r so; do
		mkdir -p "$root/$(dirname "$so")"
		[ -e "$root/$so" ] || cp -L "$so" "$root/$so"
	done
	cp -a /usr/lib/git-core "$root/usr/lib/"
	mkdir -p "$root/usr/share"
	cp -a /usr/share/git-core "$root/usr/share/"
}

redteam() { # the corpus and its programs
	corpus=${AGENT6_SHARED:-../shared}/redteam
	[ -f "$corpus/run.py" ] || { echo "vm: the red-team corpus is not at $corpus (AGENT6_SHARED)" >&2; exit 2; }
	mkdir -p "$root/shared" "$root/source/test" "$root/srv/rt" "$root/mnt" "$root/var/lib" "$root/var/spool"
	for d in bin sbin lib; do mkdir -p "$root/usr/local/$d"; done
	cp -a "$corpus" "$root/shared/"
	cp -a test/redteam "$root/source/test/"
	find "$root/shared" -name __pycache__ -prune -exec rm -r {} +
	for p in probe helper; do
		gcc -static -O1 -s -w -o "$root/srv/rt/$p" "$corpus/$p.c" -lpthread
	done
	gcc -static -O1 -s -w -o "$root/srv/rt/gitbox" "$corpus/hostgit/gitbox.c" -lpthread
	gcc -O1 -s -w -o "$root/srv/rt/payload_dyn" "$corpus/payload.c" -lpthread
}

[ "$arch" = arm64 ] || userland
for c in $cases; do
	cp "test/vm/cases/$c.sh" "$root/vm/"
	case $c in
	apparmor) apparmor ;;
	redteam) redteam ;;
	selinux) . test/vm/selinux.sh ;;
	esac
done
echo "$cases" >"$root/vm/cases"
[ -z "${AGENT6_VM_EXTRA:-}" ] || cp -a "$AGENT6_VM_EXTRA/." "$root/" # laid over all that
cp test/vm/inside.sh test/vm/init "$root/"
cp test/vm/init "$early/"
chmod 755 "$root/init" "$root/inside.sh" "$early/init"
(cd "$early" && find . | LC_ALL=C sort | busybox cpio -o -H newc -R 0:0 2>/dev/null | gzip -1) >"$vm/initramfs.gz"
rm -f "$vm/disk"
PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -O ^has_journal -d "$root" "$vm/disk" 3g >/dev/null

rm -f "$vm/log"
: >"$vm/log"
tail -n +1 -f --pid=$$ "$vm/log" | grep -a --line-buffered '^vm: ' &
qemu=qemu-system-x86_64
accel=${AGENT6_VM_ACCEL:-tcg}
machine=accel=$accel
# An emulated processor counts its own time, so that a busy host makes nothing too late there and nobody waits for a clock.
clock=
[ "$accel" != tcg ] || clock="-icount shift=3,sleep=off"
console=ttyS0
[ "$arch" != arm64 ] || { qemu=qemu-system-aarch64 machine=virt,gic-version=3,$machine console=ttyAMA0; }
# shellcheck disable=SC2086
timeout "${AGENT6_VM_SECONDS:-1800}" $qemu -machine "$machine" $clock -cpu max -nic none -smp 1 -m "${AGENT6_VM_MEMORY:-2048}" \
	-display none -serial "file:$vm/log" -no-reboot -kernel "$kernel" -initrd "$vm/initramfs.gz" \
	-drive "file=$vm/disk,format=raw,if=virtio,cache=unsafe" \
	-append "console=$console quiet no_timer_check panic=-1 $append ${AGENT6_VM_APPEND:-}" </dev/null >&2 || true
rm -f "$vm/disk"
grep -aq '^vm: .* 0 failed' "$vm/log"
