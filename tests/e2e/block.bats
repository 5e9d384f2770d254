#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Slow block requests on a disk of the test, and requests of the recorder itself.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers
load disk

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
}

teardown() {
	common_teardown
	disk_remove
}

rule() { # NAME PATH: of a rule in `frbpf status --json`
	frbpf status --json | jq -re ".rules[] | select(.name == \"$1\") | $2"
}

has() { # NAME PATH AT-LEAST
	(($(rule "$1" "$2") >= $3))
}

@test "a slow request to a throttled disk has its issuer, its place and its operation" {
	need_perf
	disk_make 16M
	slow_group_make 1048576
	write_rules <<-EOF
		[rule-slow-disk]
		when = blkio > 100ms
		if = dev == "$disk" && op == write

		[rule-slow-device]
		when = blkio.device > 100ms
		if = dev == ${disk#/dev/} && flags & sync && bytes == 262144
		dump = none

		[rule-by-number]
		when = blkio.device > 100ms
		if = dev == "$(cat "/sys/class/block/${disk#/dev/}/dev")" && sector == 2048
		dump = none

		[rule-other-disk]
		when = blkio.device > 100ms
		if = dev != "$disk" && bytes == 262144 && comm == "frbpf-io" && sector == 2048
		dump = none
	EOF
	frbpf_load
	read -r pid begin end < <(in_slow_group workload direct_io "$disk" 262144 write 1048576)
	((end - begin > 150000000)) || skip "the io controller does not slow down loop devices here"
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "rule" "$(manifest "$name" rule)" slow-disk
	same "source" "$(manifest "$name" source)" blkio
	same "pid" "$(manifest "$name" pid)" "$pid"
	same "comm" "$(manifest "$name" comm)" frbpf-io
	value=$(manifest "$name" value)
	between "$value" 100000000 $((end - begin)) "value of the manifest"
	between "$(manifest "$name" time)" $((begin + value)) "$end" "time of the trigger"
	same "args" "$(jq -c '.triggers[0].args' "$BASE/incidents/$name.json")" \
		"{\"dev\":\"${disk#/dev/}\",\"sector\":2048,\"bytes\":262144,\"op\":\"write\",\"flags\":\"sync\"}"
	same "matches of blkio.device" "$(rule slow-device .matched)" 1
	same "by the numbers of the device" "$(rule by-number .matched)" 1
	same "of another disk" "$(rule other-disk .matched)" 0
	between "$(rule slow-device .last_value_ns)" 100000000 $((end - begin)) "value of blkio.device"
	IFS=$'\t' read -r _ _ tid _ _ _ text < <(events "$BASE/session-sched/perf.data.$name" frbpf:trigger)
	same "tid of the marker" "$tid" "$pid"
	[[ $text == *" dev=${disk#/dev/} sector=2048 bytes=262144 op=write flags=sync" ]] || fail "marker: $text"
	run -0 frbpf show
	[[ $output == *"dev=${disk#/dev/} sector=2048 bytes=262144 op=write flags=sync"* ]]
}

@test "an fsync that waits for a throttled disk: the subject is the caller of fsync" {
	disk_make 16M
	slow_group_make 1048576
	write_rules <<-EOF
		[rule-flush]
		when = blkio > 1us
		if = dev == "$disk" && op in (write, flush) && comm == "frbpf-io"
		cooldown = 0
	EOF
	frbpf_load
	read -r pid begin end < <(in_slow_group workload direct_io "$disk" 262144 fsync)
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	same "pid" "$(manifest "$name" pid)" "$pid"
	between "$(manifest "$name" value)" 1000 $((end - begin)) "value of the manifest"
}

# Requests of the kernel do not fire for 1 s after a request of ours: try again.
request_fires() { # MORE-THAN
	workload direct_io "$mounted/file" 4096
	wait_until 2 has io .fired $(($1 + 1))
}

# The kernel writes a file of another program. Sometimes it splits the write differently, or `sync` writes the file
# itself: try again.
kernel_writes_theirs() { # MORE-THAN
	dd if=/dev/zero of="$mounted/theirs.$((++files))" bs=64K count=4 status=none
	sync -f "$mounted"
	await_late_requests
	has kernel .fired $(($1 + 1))
}

# The kernel writes its journal and other data some time after a file was written. No event reports that it has
# finished.
await_late_requests() {
	sleep 1.5
}

@test "neither our own fsync nor the requests of our own dump fire, those of others do" {
	disk_make 64M
	disk_mount
	BASE=$mounted/base
	write_rules <<-EOF
		[rule-io]
		when = blkio > 1ns
		if = dev == "$disk"
		dump = none
		cooldown = 0
	EOF
	frbpf_load
	cat >>"$RULES" <<-EOF

		[rule-kernel]
		when = blkio > 1ns
		if = dev == "$disk" && comm ~ "kworker*" && op == write && bytes == 256k
		dump = none
		cooldown = 0

		[rule-own-fsync]
		when = syscall:fsync,fdatasync > 1ns
		if = pid == $(daemon_pid)
		dump = none
		cooldown = 0
	EOF
	frbpf_load
	dd if=/dev/zero of="$mounted/file" bs=64K count=1 conv=fsync status=none
	sync -f "$mounted"
	await_late_requests

	wait_until 20 request_fires "$(rule io .fired)" || fail "the request of another program did not fire"

	before=$(rule io .fired)
	own=$(rule io .suppressed.self)
	frbpf dump >/dev/null
	await_late_requests
	has io .suppressed.self $((own + 1)) || fail "the dump made no request"
	same "fired while a dump was written" "$(rule io .fired)" "$before"
	has own-fsync .matched 1 || fail "the dump made no fsync"
	same "fired by our own fsync" "$(rule own-fsync .fired)" 0
	same "our own fsync" "$(rule own-fsync .suppressed.self)" "$(rule own-fsync .matched)"

	files=0
	for _ in {1..3}; do
		before=$(rule io .fired)
		written_by_kernel=$(rule kernel .fired)
		frbpf dump >/dev/null
		wait_until 20 kernel_writes_theirs "$written_by_kernel" ||
			fail "a file of another program, written by the kernel, counts as our own"
	done

	wait_until 20 request_fires "$before" || fail "the request after the dump did not fire"
	run -0 frbpf status
	[[ $output == *"our own"* ]]
	frbpf_stop
}
