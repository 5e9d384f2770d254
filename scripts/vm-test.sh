#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the tests, or a command, on another kernel, in a virtual machine without a disk. The machine has the root file
# system of this machine, read-only. So its programs and its build of frbpf are the same, and only the kernel differs.
# This shows what the kernel decides: which BPF programs the verifier accepts, and which perf events and attributes
# exist. The machine is emulated, without KVM. It is five to twenty times slower, so the results say nothing about
# speed.
#
# A machine of another architecture has its own root (vm-root.sh). A cross compiler builds frbpf, tests and workloads
# for it into .output/vm/ARCH/build.
#
#	scripts/vm-test.sh [--arch ARCH] [--kernel PACKAGE | --deb FILE...] [--cpus N] [--memory SIZE]
#			[--limit SECONDS] [-- COMMAND...]
#
#	--arch		amd64 (default) or arm64
#	--kernel	Debian package of the kernel; default: the package that linux-image-ARCH depends on. It is
#			downloaded into .output/vm, not installed
#	--deb		a kernel from package files instead, for example of Ubuntu:
#			--deb linux-image-….deb --deb linux-modules-….deb
#	--cpus		as -smp of qemu: 2 (default), 64, or 2,maxcpus=64 for CPUs that are possible but not present
#	--memory	as -m of qemu, 2G
#	--limit		of the whole run, 3600
#	COMMAND		run as root in the current directory; default: the tests that depend on the kernel. FRBPF and
#			FRBPF_WORKLOADS are set as the tests in tests/e2e expect them, FRBPF_UNIT is the directory of
#			the unit tests
#
# The exit status is that of the command. 124: the time limit is over. 125: the machine ended without a status, or an
# error here.
# In the machine, /tmp, /var/tmp, /var/lib, /run and /dev/shm are empty and writable.
set -u
self=$(realpath "$0")
tree=$(dirname "$(dirname "$self")")
cache=$tree/.output/vm

# Unit tests that depend on the kernel. All other unit tests only use files and buffers.
KERNEL_TESTS=(test_detectors test_conditions test_rates test_syscall test_waits test_engine test_scope
	test_blkio test_irq test_reclaim test_connect test_btf_path test_tracepoint test_event_fields test_span
	test_user_probes test_usdt test_limits test_inject test_sideband test_sideband_bpf test_proc_scan test_event_list
	test_location test_learners test_shares test_together test_pending test_pending_cases test_followed test_ended_cases
	test_absent test_probe_spans test_call_peer test_lost_events test_feed test_rule_trial)
MODULES=(virtio_pci 9pnet_virtio 9p) # needed for the root file system

fail() { # MESSAGE...
	printf 'vm-test: %s\n' "$@" >&2
	exit 125
}

usage() {
	sed -n 's/^#\t\(scripts.*\)/usage: \1/p' "$self" >&2
	exit 125
}

# --- in the virtual machine

# Runs the tests with the limits of scripts/check.sh, longer for an emulated machine.
inside() {
	local name file failed=0
	cd "$tree" || exit 125
	echo "# $(uname -sr), $(nproc) CPUs, $(perf version)"
	for name in "${KERNEL_TESTS[@]}"; do
		echo "# $name"
		CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 600 "$FRBPF_UNIT/$name" || ((++failed))
	done
	for file in tests/e2e/*.bats; do
		echo "# ${file##*/}"
		FRBPF_LIMIT=120 BATS_TEST_TIMEOUT=300 timeout -k 10 1800 bats --tap "$file" || ((++failed))
	done
	echo "# $failed of the programs and files above failed"
	((failed == 0))
}

# Writes process 1 of the machine, in two parts: one runs in the initramfs with busybox, one in the shared root with
# bash. One serial line belongs to the kernel. /run/lines names two more: one for the output of the command, one for its
# exit status.
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
		/bin/busybox cp /stage2 /command /lines /modules_dir /bin/busybox run/
		exec /bin/busybox switch_root /root /bin/bash /run/stage2
	INIT
	cat >"$1/stage2" <<-'INIT'
		mkdir -p /dev/pts /dev/shm /run/lock
		mount -t devpts devpts /dev/pts
		mount -t tmpfs tmpfs /dev/shm
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control
		mount -t tracefs tracefs /sys/kernel/tracing
		mount -t debugfs debugfs /sys/kernel/debug
		mount -t bpf bpf /sys/fs/bpf
		ln -sf /proc/self/fd /dev/fd
		ln -sf /proc/self/fd/0 /dev/stdin
		ln -sf /proc/self/fd/1 /dev/stdout
		ln -sf /proc/self/fd/2 /dev/stderr
		export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
		export HOME=/tmp TERM=dumb LANG=C.UTF-8
		# The shared root lacks the modules of this kernel; it may even lack /lib/modules.
		modules=/lib/modules/$(uname -r)
		mkdir -p /run/bin /run/kmod/proc "/run/kmod$modules"
		cp /run/busybox /run/kmod
		mount --bind /proc /run/kmod/proc
		mount --bind "$(cat /run/modules_dir)" "/run/kmod$modules"
		printf '%s\n' '#!/bin/sh' 'exec /run/busybox chroot /run/kmod /busybox modprobe "$@"' >/run/bin/modprobe
		chmod +x /run/bin/modprobe
		ln -s /run/busybox /run/bin/rmmod
		PATH=$PATH:/run/bin
		modprobe -q loop # tests have their disks on loop devices, and nothing else loads the module
		echo /run/bin/modprobe >/proc/sys/kernel/modprobe
		if [ -d /lib/modules ]; then
			mount -t tmpfs tmpfs /lib/modules
			mkdir "$modules"
			mount --bind "/run/kmod$modules" "$modules"
		fi
		[ -e /etc/ld.so.cache ] || ldconfig -C /run/ld.so.cache
		echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent # keeps sampling rates on this slow machine
		ulimit -Hn 524288
		read -r output status </run/lines
		stty -F "/dev/$output" raw -echo
		# the output goes through cat, so the command has no terminal
		bash /run/command </dev/null 2>&1 | cat >"/dev/$output"
		echo "${PIPESTATUS[0]}" >"/dev/$status"
		echo o >/proc/sysrq-trigger
		sleep 60
	INIT
	chmod +x "$1/init"
}

# --- on this machine

need() { # COMMAND PACKAGE
	PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null || missing+=("$2")
}

check_machine() {
	local -a missing=()
	[[ $(uname -m) == x86_64 ]] || fail "only on x86_64: what it knows as another machine is arm64"
	if [[ $arch == arm64 ]]; then
		need qemu-system-aarch64 qemu-system-arm
		need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
		need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
	else
		need qemu-system-x86_64 qemu-system-x86
	fi
	need cpio cpio
	need dpkg-deb dpkg
	need timeout coreutils
	((${#missing[@]} == 0)) || fail "these packages are missing: ${missing[*]}. As root:" \
		"    apt-get install --no-install-recommends ${missing[*]}"
}

# Sets the machine, what is built for it, and where.
set_machine() {
	case $arch in
	amd64)
		machine=(qemu-system-x86_64 -cpu max)
		console=ttyS0 lines="ttyS1 ttyS2" serials=(-serial chardev:out -serial chardev:status)
		root=/ build=$tree/.output frbpf=$tree/frbpf
		make_options=()
		;;
	arm64)
		# without impdef, the instructions that sign pointers take most of the time
		machine=(qemu-system-aarch64 -machine virt -cpu "max,pauth-impdef=on")
		console=ttyAMA0 lines="ttyS0 ttyS1" serials=(-device "pci-serial-2x,chardev1=out,chardev2=status")
		root=$cache/arm64/root build=$cache/arm64/build frbpf=$cache/arm64/build/frbpf
		make_options=(CROSS_COMPILE=aarch64-linux-gnu- SYSROOT="$root" O="${build#"$tree/"}")
		;;
	*) usage ;;
	esac
}

# Prints the path of the package's file, and downloads it if needed.
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
	apt-cache depends "linux-image-$arch" 2>/dev/null | awk '/Depends: linux-image-[0-9]/ {print $2; exit}'
}

# Unpacks packages into a directory of their own, unless that was done before.
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

# Copies MODULES, and the modules that they depend on, into the initramfs.
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

# Unpacks a static busybox for the architecture of this machine.
unpack_busybox() {
	local deb
	deb=$(package busybox-static) || exit 125
	unpack "$cache/busybox" "$deb"
	busybox=$(compgen -G "$cache/busybox/bin/busybox" || compgen -G "$cache/busybox/usr/bin/busybox")
}

# Makes the root for the other architecture. From then on, packages are those of that architecture.
make_root() {
	cache=$cache/$arch
	"$tree/scripts/vm-root.sh" "$arch" "$cache" || exit 125
	mkdir -p "$root$tree" || exit 125
	busybox=$root/bin/busybox
	export APT_CONFIG=$cache/apt.conf
}

make_initramfs() { # KERNEL-DIR
	local modules version
	modules=$(compgen -G "$1/lib/modules/*" || compgen -G "$1/usr/lib/modules/*") ||
		fail "no modules in the kernel's package"
	version=${modules##*/}
	[[ -e $modules/modules.dep ]] || "$own_busybox" depmod -b "${modules%/lib/modules/*}" "$version" ||
		fail "depmod failed on $modules"
	mkdir -p "$run/initramfs"/{bin,proc,root,"lib/modules/$version"}
	cp "$busybox" "$run/initramfs/bin/busybox"
	: >"$run/initramfs/modules"
	copy_modules "$modules" "$run/initramfs/lib/modules/$version"
	echo "$tree" >"$run/initramfs/tree"
	realpath "$modules" >"$run/initramfs/modules_dir"
	echo "$lines" >"$run/initramfs/lines"
	write_init "$run/initramfs"
	printf 'cd %q || exit 125\n%s\n' "$PWD" "$(printf '%q ' env FRBPF="$frbpf" \
		FRBPF_WORKLOADS="$build/tests/workloads" FRBPF_UNIT="$build/tests/unit" "${command[@]}")" \
		>"$run/initramfs/command"
	(cd "$run/initramfs" && find . | cpio --quiet -o -H newc) >"$run/initramfs.cpio" || fail "no initramfs"
}

# Boots the machine, emulated, so that this works anywhere and in the same way. Signals from the terminal end the
# machine.
boot() { # KERNEL
	timeout --foreground -k 5 "$limit" "${machine[@]}" -nodefaults -no-user-config -display none -no-reboot \
		-accel tcg -smp "$cpus" -m "$memory" -kernel "$1" -initrd "$run/initramfs.cpio" \
		-append "console=$console panic=-1 quiet loglevel=5 nokaslr" \
		-virtfs "local,path=$root,mount_tag=root,security_model=none,readonly=on,multidevs=remap" \
		-virtfs "local,path=$tree,mount_tag=tree,security_model=none,readonly=on,multidevs=remap" \
		-serial "file:$run/console" -chardev stdio,id=out,signal=on \
		-chardev "file,id=status,path=$run/status" "${serials[@]}" </dev/null
}

run_command() {
	local kernel status
	run=$(mktemp -d "$cache/run.XXXXXX") || fail "no directory for the run"
	trap 'rm -rf "$run"' EXIT
	kernel=$(compgen -G "$1/boot/vmlinuz-*") || fail "no kernel in the packages: $1"
	make_initramfs "$1"
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

arch=amd64 kernel='' limit=3600 cpus=2 memory=2G
debs=() command=()
while (($#)); do
	[[ $1 == --inside || $1 == -- || ${2-} ]] || usage
	case $1 in
	--arch) arch=${2-} && shift ;;
	--kernel) kernel=${2-} && shift ;;
	--deb) debs+=("$(realpath "${2-}")") && shift ;;
	--cpus) cpus=${2-} && shift ;;
	--memory) memory=${2-} && shift ;;
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

set_machine
check_machine
mkdir -p "$cache" || exit 125
unpack_busybox
own_busybox=$busybox
[[ $arch == amd64 ]] || make_root
if [[ $arch != amd64 ]] || ((${#command[@]} == 0)); then
	make -C "$tree" -j"$(nproc)" "${make_options[@]}" all unit workloads ||
		fail "what is to be tested does not build"
fi
((${#command[@]})) || command=("$self" --inside)
if ((${#debs[@]})); then
	kernel_dir=$cache/${debs[0]##*/}.unpacked
else
	kernel=${kernel:-$(default_kernel)}
	[[ $kernel ]] || fail "no package linux-image-$arch here: name one with --kernel, or use --deb"
	debs=("$(package "$kernel")") || exit 125
	kernel_dir=$cache/$kernel
fi
unpack "$kernel_dir" "${debs[@]}"
run_command "$kernel_dir"
