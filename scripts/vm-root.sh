#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes the root directory of a Debian system of another architecture. scripts/vm-test.sh boots it, and links programs
# with its libraries. The packages are those of the release installed here. They are downloaded and unpacked, but not
# installed: no script of a package runs. The few files that programs miss without these scripts are made here.
#
#	scripts/vm-root.sh ARCH DIR
#
#	ARCH	as Debian names it: arm64
#	DIR	gets root/ and apt.conf; with APT_CONFIG=DIR/apt.conf, apt-get and apt-cache know the packages of ARCH
#
# Silent and quick if the directory is already complete.
set -u

# the first lines are needed to run the tests, the last two to link programs
PACKAGES=('?essential' bats bpftool busybox-static e2fsprogs file gawk gcc iproute2 jq libxml2-utils linux-perf mount
	procps psmisc python3-minimal strace sudo xxd xz-utils libc6-dbg
	g++ libbpf-dev libc6-dev libcap-dev libcmocka-dev liblzma-dev libdw-dev libelf-dev libjansson-dev
	uthash-dev zlib1g-dev)

fail() { # MESSAGE...
	printf 'vm-root: %s\n' "$@" >&2
	exit 1
}

# Writes a configuration of apt with state, lists and cache below DIR. It does not depend on the packages installed
# here.
write_apt_conf() {
	mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" || exit 1
	: >"$dir/apt/status"
	cat >"$dir/apt.conf" <<-EOF
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Dir::State "$dir/apt";
		Dir::State::status "$dir/apt/status";
		Dir::Cache "$dir/apt";
	EOF
}

download() {
	apt-get -qq update ||
		fail "no package lists for $arch from the sources of this machine's apt"
	apt-get -qq -y --download-only install "${PACKAGES[@]}" >/dev/null ||
		fail "not all packages for $arch can be had; those of another run: $dir/apt/archives"
}

unpack() { # ROOT
	local name deb
	mkdir -p "$1" || exit 1
	for name in bin lib sbin; do
		mkdir -p "$1/usr/$name" && ln -s "usr/$name" "$1/$name" || exit 1
	done
	for deb in "$dir"/apt/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$1" --keep-directory-symlink --warning=no-timestamp ||
			fail "$deb cannot be unpacked"
	done
}

# Makes the files that package scripts would make, and makes absolute links of libraries relative, for the linker here.
finish() { # ROOT
	local name link
	cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd" &&
		cp "$1/usr/share/base-passwd/group.master" "$1/etc/group" &&
		cp "$1/usr/share/libc-bin/nsswitch.conf" "$1/etc/nsswitch.conf" || return 1
	echo "127.0.0.1 localhost" >"$1/etc/hosts"
	ln -sf gawk "$1/usr/bin/awk"
	ln -sf gcc "$1/usr/bin/cc"
	ln -sf ../proc/self/mounts "$1/etc/mtab"
	# only programs of ARCH can make this cache: scripts/vm-test.sh makes it in the virtual machine
	ln -sf /run/ld.so.cache "$1/etc/ld.so.cache"
	for name in dev lib/modules proc run sys tmp var/tmp var/lib; do
		mkdir -p "$1/$name"
	done
	for link in "$1"/usr/lib/*/*.so; do
		name=$(readlink "$link")
		[[ $name == /* ]] && ln -sfr "$1$name" "$link"
	done
	return 0
}

(($# == 2)) || fail "usage: scripts/vm-root.sh ARCH DIR"
arch=$1
mkdir -p "$2" || exit 1
dir=$(realpath "$2")
[[ $(cat "$dir/root.packages" 2>/dev/null) == "$arch ${PACKAGES[*]}" ]] && exit 0

command -v apt-get >/dev/null || fail "no apt-get here to download packages with"
echo "vm-root: making $dir/root" >&2
write_apt_conf
export APT_CONFIG=$dir/apt.conf
download
rm -rf "$dir/root" "$dir/root.tmp"
unpack "$dir/root.tmp"
finish "$dir/root.tmp" || fail "the packages are not what they used to be"
mv "$dir/root.tmp" "$dir/root" && echo "$arch ${PACKAGES[*]}" >"$dir/root.packages"
