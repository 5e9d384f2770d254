#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Limits of dumps on disk.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_tracepoints
	common_setup
}

teardown() {
	common_teardown
	[[ ! ${mounted-} ]] || umount "$mounted"
}

disk() { # FIELD
	frbpf status --json | jq -re ".disk.$1"
}

are() { # FIELD N
	(($(disk "$1") == $2))
}

is_expired() {
	[[ ! $(incidents "$BASE") && ! $(dumps) ]]
}

@test "max-incidents: the oldest are removed with all of their files, also by a reload; status counts them" {
	write_rules <<-'EOF'
		[daemon]
		max-incidents = 3
	EOF
	frbpf_load
	for _ in 1 2 3 4 5; do frbpf dump >/dev/null; done
	wait_until 10 are removed_incidents 2 || fail "$(cat "$BASE/output")"
	same "incidents" "$(incidents "$BASE" | wc -l)" 3
	same "files" "$(dumps | wc -l)" 6
	same "on disk" "$(disk incidents)" 3
	same "bytes" "$(disk bytes)" "$(cat "$BASE"/incidents/*.json "$BASE"/session-*/perf.data.* | wc -c)"
	last=$(incidents "$BASE" | tail -1)
	sed -i 's/max-incidents = 3/max-size = 1K/' "$RULES"
	frbpf_load
	wait_until 10 are incidents 1 || fail "$(cat "$BASE/output")"
	same "the last one" "$(incidents "$BASE")" "$last"
	same "files" "$(dumps | wc -l)" 2
	run -0 frbpf status -v
	[[ $output == *"on disk:    1 incident, "*"; removed 4, "* ]]
	run -0 frbpf ls
	same "lines" "${#lines[@]}" 5
	[[ ${lines[0]} == *"by hand: frbpf dump  removed (max-incidents)" ]]
	[[ ${lines[3]} == *"  removed (max-size)" && ${lines[4]} == "$last  by hand"* ]]
	same "as JSON" "$(frbpf ls --json | jq -c 'map(.removed)')" \
		'["max-incidents","max-incidents","max-size","max-size",null]'
}

@test "max-age: an incident that gets too old is removed, even if nothing else happens" {
	write_rules <<-'EOF'
		[daemon]
		max-age = 3s
	EOF
	frbpf_load
	began=${EPOCHREALTIME/[.,]/}
	frbpf dump >/dev/null # prints an error if a file is missing
	wait_until 15 is_expired || fail "$(cat "$BASE/output")"
	between $((${EPOCHREALTIME/[.,]/} - began)) 3000000 1000000000 "us until it was gone"
	grep -q 'removed 1 old incidents' "$BASE/output"
}

@test "min-free: no file is written, the manifest says why, and recording continues" {
	write_rules <<-'EOF'
		[daemon]
		min-free = 1000000G
	EOF
	frbpf_load
	run frbpf dump
	((status != 0))
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
	same "files" "$(dumps | wc -l)" 0
	grep -q 'min-free = ' "$BASE/incidents/$(incidents "$BASE").json"
	sed -i 's/min-free = .*/min-free = 1K/' "$RULES"
	frbpf_load
	frbpf dump >/dev/null
	same "files" "$(dumps | wc -l)" 2
}

@test "an incident is complete or it does not exist: the next start finishes what was cut off" {
	write_rules
	frbpf_load
	frbpf dump --reason first >/dev/null
	frbpf dump --reason second >/dev/null
	frbpf dump --reason third >/dev/null
	frbpf dump --reason fourth >/dev/null
	kill -KILL "$(daemon_pid)"
	wait_until 10 no_daemon
	mapfile -t names < <(incidents "$BASE")
	[[ ! $(find "$BASE/incidents" -name '.*.json') ]] || fail "$(ls -la "$BASE/incidents")"
	# states that remain after kill -9 before the manifest, after kill -9 during a removal, and when somebody else
	# removes files
	mv "$BASE/incidents/${names[0]}.json" "$BASE/incidents/.draft-${names[0]}.json"
	mv "$BASE/incidents/${names[1]}.json" "$BASE/incidents/.gone-${names[1]}.json"
	rm "$BASE"/session-*/perf.data."${names[2]}"
	rm "$BASE/incidents/${names[3]}.json" # the draft of its manifest was incomplete, too
	frbpf_load 2>"$BATS_TEST_TMPDIR/said"
	same "incidents" "$(incidents "$BASE")" "${names[0]}"$'\n'"${names[2]}"$'\n'"${names[3]}"
	same "files" "$(dumps | wc -l)" 4
	run -0 frbpf ls
	[[ $output == *"by hand: first"*" recovered"* && $output == *"by hand: fourth"*" recovered"* ]]
	[[ $output == *"by hand: third"*"cpu GONE, sched GONE]" ]]
	run -0 frbpf show "${names[2]}"
	[[ $output == *"its file is gone: $BASE/session-cpu/perf.data.${names[2]}"* ]]
	grep -q '2 incidents that a killed recorder left' "$BATS_TEST_TMPDIR/said"
}

@test "no inodes left: a dump fails and says why, nothing of it stays, and the next one works" {
	mkdir "$BATS_TEST_TMPDIR/mnt"
	mount -t tmpfs -o nr_inodes=40,size=64m,mode=700 frbpf "$BATS_TEST_TMPDIR/mnt" ||
		skip "mounting is refused here"
	mounted=$BATS_TEST_TMPDIR/mnt
	BASE=$mounted/base
	write_rules
	frbpf_load
	frbpf dump >/dev/null
	for i in {0..40}; do : 2>/dev/null >"$mounted/full.$i" || break; done
	run -1 frbpf dump
	[[ $output == *"cannot create $BASE/incidents/.draft-"*": No space left on device"* ]]
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
	same "files" "$(dumps | wc -l)" 2
	rm "$mounted"/full.*
	frbpf dump >/dev/null
	same "files" "$(dumps | wc -l)" 4
	frbpf_stop
}
