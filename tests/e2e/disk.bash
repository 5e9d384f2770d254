# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A disk for one test: a loop device on a file below $BATS_TEST_TMPDIR. The io (blkio) controller can throttle what the
# loop device writes to its file.

# Sets $disk to /dev/loopN.
disk_make() { # SIZE
	truncate -s "$1" "$BATS_TEST_TMPDIR/disk.img"
	# allocate all blocks, so that a write to the file causes no other write
	dd if=/dev/zero of="$BATS_TEST_TMPDIR/disk.img" bs=1M count=$((${1%M})) conv=notrunc,fsync status=none
	disk=$(losetup -f --show --direct-io=on "$BATS_TEST_TMPDIR/disk.img" 2>/dev/null) ||
		disk=$(losetup -f --show "$BATS_TEST_TMPDIR/disk.img" 2>/dev/null) || skip "no loop devices here"
}

disk_mount() { # sets $mounted
	command -v mkfs.ext4 >/dev/null || skip "no mkfs.ext4"
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$disk"
	mkdir -p "$BATS_TEST_TMPDIR/mnt"
	mount -o noatime,commit=300 "$disk" "$BATS_TEST_TMPDIR/mnt" || skip "mounting is refused here"
	mounted=$BATS_TEST_TMPDIR/mnt
}

# Prints MAJOR:MINOR of the disk that holds the files of the test.
disk_below() {
	local dev
	dev=$(findmnt -nvo MAJ:MIN --target "$BATS_TEST_TMPDIR") && dev=${dev// /}
	[[ -e /sys/dev/block/$dev ]] || return 1
	[[ ! -e /sys/dev/block/$dev/partition ]] || dev=$(cat "/sys/dev/block/$dev/../dev")
	echo "$dev"
}

# Makes a cgroup whose processes write no more than so many bytes a second: see in_slow_group.
slow_group_make() { # BYTES-PER-SECOND
	local below v2 v1
	below=$(disk_below) || skip "the test's files are on no disk"
	v2=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
	v1=$(findmnt -nt cgroup -O blkio -o TARGET | head -n 1)
	if [[ $v2 ]] && grep -qw io "$v2/cgroup.subtree_control" 2>/dev/null; then
		slow_group=$v2/frbpf-test-$$
		mkdir "$slow_group"
		echo "$below wbps=$1" >"$slow_group/io.max" || skip "the io controller cannot throttle here"
	elif [[ $v1 && -e $v1/blkio.throttle.write_bps_device ]]; then
		slow_group=$v1/frbpf-test-$$
		mkdir "$slow_group"
		echo "$below $1" >"$slow_group/blkio.throttle.write_bps_device" ||
			skip "the blkio controller cannot throttle here"
	else
		skip "no io controller of cgroups"
	fi
}

in_slow_group() { # COMMAND...
	(
		echo "$BASHPID" >"$slow_group/cgroup.procs"
		"$@"
	)
}

group_is_gone() {
	rmdir "$slow_group" 2>/dev/null
}

disk_remove() {
	[[ ! ${mounted-} ]] || umount "$mounted"
	[[ ! ${disk-} ]] || losetup -d "$disk"
	[[ ! ${slow_group-} || ! -d $slow_group ]] || wait_until 10 group_is_gone
}
