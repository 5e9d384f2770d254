#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the tests, or a command, on another kernel: in a virtual machine without a disk, whose root is this machine's,
# read-only. So it has the programs and the build of here, and only the kernel differs. What the kernel decides shows:
# which BPF programs the verifier takes, which perf events and attributes there are. Emulated, without KVM: five to
# twenty times slower, so nothing about speed can be learned from it.
#
#	scripts/vm-test.sh [--kernel PACKAGE] [--deb FILE]... [--limit SECONDS] [-- COMMAND...]
#
#	--kernel	Debian package of the kernel; default: the one that linux-image-amd64 stands for. Downloaded
#			into .output/vm, not installed
#	--deb		a kernel from package files instead, for example of Ubuntu:
#			--deb linux-image-….deb --deb linux-modules-….deb
#	--limit		of the whole run, 3600
#	COMMAND		run as root in the current directory; default: the tests that depend on the kernel
#
# The exit status is the command's; 124 when the time is over, 125 when the machine did not come to an end by itself.
# /tmp, /var/tmp, /var/lib, /run and /dev/shm are empty there and can be written to.
set -u
self=$(realpath "$0")
tree=$(dirname "$(dirname "$self")")
cache=$tree/.output/vm

# What depends on the kernel: all other unit tests see files and buffers only.
KERNEL_TESTS=(test_detectors test_conditions test_rates test_syscall test_waits test_engine test_scope
	test_blkio test_irq test_reclaim test_btf_path test_tracepoint test_span test_user_probes test_settled
	test_settled_sources test_inject test_sideband test_proc_scan test_event_list test_location)
MODULES=(virtio_pci 9pnet_virtio 9p) # for the root file system

fail() { # MESSAGE...
	printf 'vm-test: %s\n' "$@" >&2
	exit 125
}

usage() {
	sed -n 's/^#\t\(scripts.*\)/usage: \1/p' "$self" >&2
	exit 125
}

# --- in the virtual machine

# Limits are those of scripts/check.sh, made long enough for an emulated machine.
inside() {
	local name file failed=0
	cd "$tree" || exit 125
	echo "# $(uname -sr), $(nproc) CPUs, $(perf version)"
	for name in "${KERNEL_TESTS[@]}"; do
		echo "# $name"
		CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 600 ".output/tests/unit/$name" || ((++failed))
	done
	for file in tests/e2e/*.bats; do
		echo "# ${file##*/}"
		FRBPF_LIMIT=120 BATS_TEST_TIMEOUT=300 timeout -k 10 1800 bats --tap "$file" || ((++failed))
	done
	echo "# $failed of the programs and files above failed"
	((failed == 0))
}

# Process 1 of the machine, in two parts: of the initramfs, with busybox; of the shared root, with bash. The first
# serial line is the kernel's, the second the command's, the third has its exit status.
write_init() { # DIR
	cat >"$1/init" <<-'INIT'
		#!/bin/busybox sh
		/bin/busybox mount -t proc proc /proc
		for module in $(/bin/busybox cat /modules); do
			/bin/busybox modprobe "$module"
		done
		options=trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro
		/bin/busybox mount -t 9p -o $options root /root || exec /bin/busybox poweroff -f
		cd /root
		/bin/busybox mount -t proc proc proc
		/bin/busybox mount -t sysfs sysfs sys
		/bin/busybox mount -t devtmpfs dev dev
		for dir in tmp var/tmp var/lib run; do
			/bin/busybox mount -t tmpfs -o mode=1777 tmpfs $dir
		done
		/bin/busybox ip link set lo up
		/bin/busybox hostname frbpf-vm
		tree=$(/bin/busybox cat /tree)
		/bin/busybox mkdir -p "/root$tree"
		/bin/busybox mount -t 9p -o $options tree "/root$tree"
		/bin/busybox cp /stage2 /command /modules_dir /bin/busybox run/
		exec /bin/busybox switch_root /root /bin/bash /run/stage2
	INIT
	cat >"$1/stage2" <<-'INIT'
		mkdir -p /dev/pts /dev/shm /run/lock
		mount -t devpts devpts /dev/pts
		mount -t tmpfs tmpfs /dev/shm
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
		mount -t tracefs tracefs /sys/kernel/tracing
		mount -t debugfs debugfs /sys/kernel/debug
		mount -t bpf bpf /sys/fs/bpf
		ln -sf /proc/self/fd /dev/fd
		ln -sf /proc/self/fd/0 /dev/stdin
		ln -sf /proc/self/fd/1 /dev/stdout
		ln -sf /proc/self/fd/2 /dev/stderr
		export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
		export HOME=/tmp TERM=dumb LANG=C.UTF-8
		# modules of this kernel, which the shared root does not have
		modules=$(cat /run/modules_dir)
		mkdir /run/bin
		ln -s /run/busybox /run/bin/modprobe
		ln -s /run/busybox /run/bin/rmmod
		PATH=$PATH:/run/bin
		if [ -d /lib/modules ] && [ -d "$modules" ]; then
			mount -t tmpfs tmpfs /lib/modules
			mkdir "/lib/modules/$(uname -r)"
			mount --bind "$modules" "/lib/modules/$(uname -r)"
			modprobe -q loop # no one else asks for it, and tests have their disks there
		fi
		ulimit -Hn 524288
		stty -F /dev/ttyS1 raw -echo
		# through cat: no terminal for the command
		bash /run/command </dev/null 2>&1 | cat >/dev/ttyS1
		echo "${PIPESTATUS[0]}" >/dev/ttyS2
		echo o >/proc/sysrq-trigger
		sleep 60
	INIT
	chmod +x "$1/init"
}

# --- here

need() { # COMMAND PACKAGE
	PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null || missing+=("$2")
}

check_machine() {
	local -a missing=()
	[[ $(uname -m) == x86_64 ]] || fail "only for x86_64: the virtual machine runs the programs of this one"
	need qemu-system-x86_64 qemu-system-x86
	need cpio cpio
	need dpkg-deb dpkg
	need timeout coreutils
	((${#missing[@]} == 0)) || fail "these packages are missing: ${missing[*]}. As root:" \
		"    apt-get install --no-install-recommends ${missing[*]}"
}

# Prints the path of the package's file, after a download when it is not there yet.
package() { # NAME
	local -a files
	mapfile -t files < <(compgen -G "$cache/$1_*.deb")
	if ((${#files[@]} == 0)); then
		command -v apt-get >/dev/null || fail "no apt-get here to download $1 with: use --deb"
		echo "vm-test: downloading $1" >&2
		(cd "$cache" && apt-get -qq -o APT::Sandbox::User=root download "$1" >&2) ||
			fail "apt-get download $1 failed; are the package lists up to date (apt-get update)?"
		mapfile -t files < <(compgen -G "$cache/$1_*.deb")
	fi
	echo "${files[-1]}"
}

default_kernel() {
	apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image-[0-9]/ {print $2; exit}'
}

# Unpacks packages into a directory of their own, once.
unpack() { # DIR DEB...
	local dir=$1 deb
	shift
	[[ -e $dir ]] && return
	rm -rf "$dir.tmp"
	for deb in "$@"; do
		dpkg-deb -x "$deb" "$dir.tmp" || fail "$deb cannot be unpacked"
	done
	mv "$dir.tmp" "$dir"
}

# Puts the modules and what they depend on into the initramfs.
copy_modules() { # MODULES-DIR DESTINATION
	local name file
	for name in "${MODULES[@]}"; do
		if grep -q "/$name\.ko" "$1/modules.builtin"; then
			continue
		fi
		file=$(grep -E "(^|/)$name\.ko[^/:]*:" "$1/modules.dep") ||
			fail "the kernel has no module $name: $1" "Ubuntu has it in linux-modules-VERSION: --deb"
		echo "$name" >>"$run/initramfs/modules"
		for file in ${file/:/}; do
			mkdir -p "$2/$(dirname "$file")"
			cp "$1/$file" "$2/$file"
		done
	done
	cp "$1"/modules.{dep,builtin} "$2/"
}

make_initramfs() { # KERNEL-DIR BUSYBOX
	local modules version
	modules=$(compgen -G "$1/lib/modules/*" || compgen -G "$1/usr/lib/modules/*") ||
		fail "no modules in the kernel's package"
	version=${modules##*/}
	[[ -e $modules/modules.dep ]] || "$2" depmod -b "${modules%/lib/modules/*}" "$version" ||
		fail "depmod failed on $modules"
	mkdir -p "$run/initramfs"/{bin,proc,root,"lib/modules/$version"}
	cp "$2" "$run/initramfs/bin/busybox"
	: >"$run/initramfs/modules"
	copy_modules "$modules" "$run/initramfs/lib/modules/$version"
	echo "$tree" >"$run/initramfs/tree"
	realpath "$modules" >"$run/initramfs/modules_dir"
	write_init "$run/initramfs"
	printf 'cd %q || exit 125\n%s\n' "$PWD" "$(printf '%q ' "${command[@]}")" >"$run/initramfs/command"
	(cd "$run/initramfs" && find . | cpio --quiet -o -H newc) >"$run/initramfs.cpio" || fail "no initramfs"
}

# Emulated, so that it runs anywhere and the same everywhere. The terminal's signals end the machine.
boot() { # KERNEL
	timeout --foreground -k 5 "$limit" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
		-accel tcg -cpu max -smp 2 -m 2G \
		-kernel "$1" -initrd "$run/initramfs.cpio" \
		-append "console=ttyS0 panic=-1 quiet loglevel=5 nokaslr" \
		-virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
		-virtfs "local,path=$tree,mount_tag=tree,security_model=none,readonly=on,multidevs=remap" \
		-serial "file:$run/console" -chardev stdio,id=out,signal=on -serial chardev:out \
		-serial "file:$run/status" </dev/null
}

run_command() {
	local kernel status
	run=$(mktemp -d "$cache/run.XXXXXX") || fail "no directory for the run"
	trap 'rm -rf "$run"' EXIT
	kernel=$(compgen -G "$1/boot/vmlinuz-*") || fail "no kernel in the packages: $1"
	make_initramfs "$1" "$2"
	boot "$kernel" 2>"$run/errors"
	status=$?
	grep -v "warning: TCG doesn't support requested feature" "$run/errors" >&2
	cp "$run/console" "$cache/console.log" 2>/dev/null
	((status == 124)) && fail_status 124 "out of time after $limit s"
	[[ -s $run/status ]] || fail_status 125 "the machine ended before the command did; its kernel's last words:" \
		"$(tail -n 20 "$run/console" 2>/dev/null)"
	return "$(tr -cd 0-9 <"$run/status")"
}

fail_status() { # STATUS MESSAGE...
	printf 'vm-test: %s\n' "${@:2}" >&2
	exit "$1"
}

kernel='' limit=3600
debs=() command=()
while (($#)); do
	[[ $1 == --inside || $1 == -- || ${2-} ]] || usage
	case $1 in
	--kernel) kernel=${2-} && shift ;;
	--deb) debs+=("$(realpath "${2-}")") && shift ;;
	--limit) limit=${2-} && shift ;;
	--inside) inside && exit 0 || exit 1 ;;
	--)
		shift
		command=("$@")
		break
		;;
	*) usage ;;
	esac
	shift || usage
done

check_machine
mkdir -p "$cache" || exit 125
if ((${#command[@]} == 0)); then
	make -C "$tree" -j"$(nproc)" all unit workloads || fail "what is to be tested does not build"
	command=("$self" --inside)
fi
if ((${#debs[@]})); then
	kernel_dir=$cache/${debs[0]##*/}.unpacked
else
	kernel=${kernel:-$(default_kernel)}
	[[ $kernel ]] || fail "no package linux-image-amd64 here: name one with --kernel, or use --deb"
	debs=("$(package "$kernel")") || exit 125
	kernel_dir=$cache/$kernel
fi
unpack "$kernel_dir" "${debs[@]}"
busybox_deb=$(package busybox-static) || exit 125
unpack "$cache/busybox" "$busybox_deb"
busybox=$(compgen -G "$cache/busybox/bin/busybox" || compgen -G "$cache/busybox/usr/bin/busybox")
run_command "$kernel_dir" "$busybox"
