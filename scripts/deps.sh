#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs the packages that are missing to build and test frbpf. Silent and quick if none is missing.
#
#	scripts/deps.sh [--build|--soak]	--build: only what the build needs; --soak: load for soak.sh, too
#
# On Debian and Ubuntu, it uses apt-get, with sudo if needed. Elsewhere, it prints the packages to install.
set -u

# use | how to detect it | package on Debian (alternatives after a comma) | Fedora | Arch | openSUSE | Alpine
#
# `build-MACHINE` is needed on that machine only. A probe, which detects a package, is a command, the path of a header
# below /usr/include, or a glob.
table='
build|gcc|gcc|gcc|gcc|gcc|gcc musl-dev
build|make|make|make|make|make|make
build|clang|clang|clang|clang|clang|clang
build|pkg-config|pkg-config|pkgconf-pkg-config|pkgconf|pkgconf|pkgconf
build|bpftool|bpftool,linux-tools-common|bpftool|bpf|bpftool|bpftool
build|bpf/libbpf.h|libbpf-dev|libbpf-devel|libbpf|libbpf-devel|libbpf-dev
build|libelf.h|libelf-dev|elfutils-libelf-devel|libelf|libelf-devel|elfutils-dev
build|elfutils/libdw.h|libdw-dev|elfutils-devel|elfutils|libdw-devel|elfutils-dev
build|lzma.h|liblzma-dev|xz-devel|xz|xz-devel|xz-dev
build|sys/capability.h|libcap-dev|libcap-devel|libcap|libcap-devel|libcap-dev
build|jansson.h|libjansson-dev|jansson-devel|jansson|libjansson-devel|jansson-dev
build|uthash.h|uthash-dev|uthash-devel|uthash|uthash-devel|uthash-dev
build-x86_64|Zydis/Zydis.h|libzydis-dev|zydis-devel|zydis|zydis-devel|zydis-dev
build|zstd.h|libzstd-dev|libzstd-devel|zstd|libzstd-devel|zstd-dev
build|zlib.h|zlib1g-dev|zlib-devel|zlib|zlib-devel|zlib-dev
test|cmocka.h|libcmocka-dev|libcmocka-devel|cmocka|libcmocka-devel|cmocka-dev
test|ld.lld|lld|lld|lld|lld|lld
test|bats|bats|bats|bash-bats|bats|bats
test|jq|jq|jq|jq|jq|jq
test|perf|linux-perf,linux-tools-generic|perf|perf|perf|perf
test|strace|strace|strace|strace|strace|strace
soak|stress-ng|stress-ng|stress-ng|stress-ng|stress-ng|stress-ng
soak|sqlite3|sqlite3|sqlite|sqlite|sqlite3|sqlite
test|/usr/lib*/{llvm*/lib*/,}clang/*/lib/{linux,*-linux-*}/libclang_rt.fuzzer[-.]*|libclang-rt-dev,libclang-rt-@-dev,libclang-common-@-dev|compiler-rt|compiler-rt|clang|compiler-rt
'

here() { # PROBE
	case $1 in
	/*)
		brace_glob "$1"
		;;
	*.h)
		compgen -G "/usr/include/$1" >/dev/null ||
			compgen -G "/usr/include/*-linux-*/$1" >/dev/null ||
			compgen -G "/usr/local/include/$1" >/dev/null
		;;
	*)
		# bpftool is in /usr/sbin, which is not in the PATH of users
		PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin command -v "$1" >/dev/null
		;;
	esac
}

# Succeeds if a file matches a glob with braces, which compgen -G does not know. The pattern is from our own table.
brace_glob() {
	local paths path
	eval "paths=($1)"
	for path in "${paths[@]}"; do
		[[ -e $path ]] && return 0
	done
	return 1
}

# Prints one column of the table for each missing package, one a line.
missing() { # USE COLUMN
	local use probe packages
	while IFS='|' read -r use probe packages; do
		[[ $use == build || $use == "build-$(uname -m)" || $use == "$1" ]] || continue
		here "$probe" || cut -d'|' -f"$2" <<<"$packages"
	done < <(grep . <<<"$table")
}

# Prints the first of several alternative packages that this release has. @ stands for the version of its clang.
pick_deb() { # PACKAGE,PACKAGE...
	local clang_major candidate
	local -a candidates
	clang_major=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
	IFS=, read -ra candidates <<<"${1//@/${clang_major:-0}}"
	for candidate in "${candidates[@]}"; do
		if apt-cache show --no-all-versions "$candidate" 2>/dev/null | grep -q '^Filename:'; then
			echo "$candidate"
			# the wrapper alone is not enough: perf and bpftool are built for one kernel version
			[[ $candidate == linux-tools-* ]] && apt-cache show "linux-tools-$(uname -r)" \
				>/dev/null 2>&1 && echo "linux-tools-$(uname -r)"
			return 0
		fi
	done
	return 1
}

pick_all_debs() { # USE; sets packages; 1: some are not in the lists
	local need found
	packages=()
	while read -r need; do
		found=$(pick_deb "$need") || return 1
		mapfile -t -O ${#packages[@]} packages <<<"$found"
	done < <(missing "$1" 1)
}

as_root() {
	if ((EUID == 0)); then
		"$@"
	else
		sudo "$@"
	fi
}

apt_update() {
	echo "deps: apt-get update"
	as_root apt-get -qq update || { sleep 5 && as_root apt-get -qq update; }
}

apt_install() {
	echo "deps: apt-get install ${packages[*]}"
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -y --no-install-recommends install "${packages[@]}" >/dev/null
}

may_be_root() {
	((EUID == 0)) && return 0
	command -v sudo >/dev/null || return 1
	[[ -t 0 ]] || sudo -n true 2>/dev/null
}

install_debs() { # USE
	local updated=
	if ! pick_all_debs "$1"; then
		if ! may_be_root; then
			echo "deps: the package lists lack some of what is missing. As root:" >&2
			echo "    apt-get update && scripts/deps.sh${build_only:+ --build}" >&2
			return 1
		fi
		apt_update && updated=1
		if ! pick_all_debs "$1"; then
			echo "deps: no package of this release is any of: $(missing "$1" 1 | xargs)" >&2
			return 1
		fi
	fi
	if ! may_be_root; then
		echo "deps: some packages are missing. As root:" >&2
		echo "    apt-get install ${packages[*]}" >&2
		return 1
	fi
	# old package lists name versions that the mirror no longer has
	apt_install || { [[ ! $updated ]] && apt_update && apt_install; }
}

say_packages() { # USE
	local i
	local -a distributions=(Fedora Arch openSUSE Alpine)
	local -a commands=("dnf install" "pacman -S" "zypper install" "apk add")
	echo "deps: missing: $(missing "$1" 1 | sed 's/,.*//' | xargs) (names of Debian). Install:" >&2
	for i in "${!distributions[@]}"; do
		printf '    %-9s %s %s\n' "${distributions[i]}" "${commands[i]}" \
			"$(missing "$1" $((i + 2)) | tr ' ' '\n' | sort -u | xargs)" >&2
	done
}

build_only=
case ${1-} in
'') use='test' ;;
--build) use=build build_only=1 ;;
--soak) use=soak ;;
*)
	echo "usage: scripts/deps.sh [--build|--soak]" >&2
	exit 2
	;;
esac

[[ -z $(missing "$use" 1) ]] && exit 0

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
	install_debs "$use" || exit 1
else
	say_packages "$use"
	exit 1
fi

still=$(missing "$use" 1 | xargs)
if [[ $still ]]; then
	echo "deps: still missing after the installation: $still" >&2
	exit 1
fi
