# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# arm64.sh, read by run.sh: what is of another machine. The packages of its libraries are fetched and laid out in a
# directory, with what they need; the programs are built against them with a cross compiler (gcc-aarch64-linux-gnu).
sysroot=$vm/sysroot
if ! [ -e "$sysroot/usr/bin/git" ]; then
	mkdir -p "$vm/debs/partial"
	apt-get -qq install -d -y -o "Dir::Cache::archives=$vm/debs" libc6-dev libjansson-dev libmd-dev libpcre2-dev libcmocka-dev \
		libcurl4-openssl-dev libssl-dev busybox-static git python3-minimal coreutils dash util-linux mount grep sed >"$vm/apt.log" 2>&1 || { cat "$vm/apt.log" >&2; exit 1; }
	mkdir -p "$sysroot"
	for d in "$vm"/debs/*.deb; do dpkg -x "$d" "$sysroot"; done
fi
programs=$vm/build
if ! [ -e "$programs/build.ninja" ]; then
	cat >"$vm/cross.ini" <<-CROSS
		[constants]
		sysroot = '$sysroot'
		[binaries]
		c = 'aarch64-linux-gnu-gcc'
		ar = 'aarch64-linux-gnu-ar'
		strip = 'aarch64-linux-gnu-strip'
		pkgconfig = 'pkg-config'
		[properties]
		sys_root = sysroot
		pkg_config_libdir = sysroot / 'usr/lib/aarch64-linux-gnu/pkgconfig'
		[built-in options]
		c_args = ['--sysroot=' + sysroot]
		c_link_args = ['--sysroot=' + sysroot]
		[host_machine]
		system = 'linux'
		cpu_family = 'aarch64'
		cpu = 'aarch64'
		endian = 'little'
	CROSS
	(unset CC && meson setup "$programs" --cross-file "$vm/cross.ini" -Dtests=true -Dmusl=disabled -Dgrammars=disabled >"$vm/setup.log" 2>&1) ||
		{ cat "$vm/setup.log" >&2; exit 1; }
fi
ninja -C "$programs" >"$vm/ninja.log" 2>&1 || { grep -v '^\[' "$vm/ninja.log" >&2; exit 1; }
# Debian's packages lie below /usr or beside it; here there is /usr alone.
for d in bin sbin lib; do
	mkdir -p "$root/usr/$d"
	[ ! -d "$sysroot/$d" ] || cp -a "$sysroot/$d/." "$root/usr/$d/"
	[ ! -d "$sysroot/usr/$d" ] || cp -a "$sysroot/usr/$d/." "$root/usr/$d/"
done
find "$root/usr/lib" \( -name '*.a' -o -name '*.o' \) -delete
rm -rf "$root/usr/lib/aarch64-linux-gnu/perl" "$root/usr/lib/aarch64-linux-gnu/perl-base" "$root/usr/bin/su"
mkdir -p "$root/usr/share"
cp -a "$sysroot/usr/share/git-core" "$root/usr/share/"
for p in agent6 agent6-jail agent6-net agent6-index agent6-resolver unit netprobe; do cp "$programs/$p" "$root/usr/bin/"; done
rm -f "$root/usr/bin/sh"
ln -s dash "$root/usr/bin/sh"
busybox=$sysroot/bin/busybox
