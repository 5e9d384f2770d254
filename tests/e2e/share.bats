#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Rules on a share of time.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	hog=frbpf-$$
}

teardown() {
	[[ ! ${burns-} ]] || kill "$burns" 2>/dev/null || true
	[[ ! ${outside-} ]] || kill "$outside" 2>/dev/null || true
	common_teardown
	[[ ! ${cgroup-} ]] || wait_until 10 rmdir "$cgroup" 2>/dev/null || true
}

need_cgroup() { # sets cgroup and its name
	local mount
	mount=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
	[[ $mount ]] || skip "no cgroup2 file system"
	group=/frbpf-share-$$
	mkdir "$mount$group" 2>/dev/null || skip "no cgroup to be had here"
	cgroup=$mount$group
}

send() { # MESSAGE
	local socket
	socket=$(frbpf status --json | jq -re .app.socket)
	printf %s "$1" | timeout -k 5 60 "$WORKLOADS/app_send" "$socket" 3>&- >/dev/null
}

has_matches() { # RULE N
	(($(status_of "$1" .matched) >= $2))
}

# Runs a task with the subject's name that uses a whole CPU.
burn() {
	# shellcheck disable=SC2016 # of perl
	perl -e '$0 = $ARGV[0]; 1 while 1' "$hog" 3>&- &
	burns=$!
}

@test "a task that has its CPU too long fires its rule while it runs" {
	local name json
	write_rules <<-EOF
		[rule-hog]
		when = oncpu > 2% in 500ms per thread
		if = comm == "$hog"
		cooldown = 1h
	EOF
	frbpf check "$RULES" | grep -qx '  adds up:    fires above 10ms of 500ms per thread' ||
		fail "$(frbpf check "$RULES")"
	frbpf_load
	burn
	wait_for_incident "$BASE" 1
	kill -0 "$burns" || fail "it does not run any more"
	name=$(incidents "$BASE")
	json=$BASE/incidents/$name.json
	named "$json"
	jq -e --argjson pid "$burns" \
		'.triggers | length == 1 and (.[0] | .source == "oncpu" and .subject.pid == $pid and
		.window_ns == 500000000 and .threshold_ns == 10000000 and .value_ns > .threshold_ns and
		.value_ns <= .window_ns)' "$json" || fail "$(cat "$json")"
	# perf shows the marker with the subject and the time of the trigger
	same "subject of the marker" \
		"$(events "$(dumps sched)" frbpf:trigger | cut -f 3,5)" \
		"$burns"$'\t'"$(jq ".triggers[0].time.monotonic_ns" "$json")"
	frbpf show | grep -q 'threshold 10ms, together in 500ms$' || fail "$(frbpf show)"
}

@test "a share of a cgroup counts its tasks and those of the cgroups below it" {
	local name json pid
	need_cgroup
	write_rules <<-EOF
		[rule-group]
		when = oncpu > 2% in 500ms of $group
		cooldown = 1h

		[rule-same]
		when = oncpu > 2% in 500ms per thread
		if = comm == "$hog"
		dump = none
		cooldown = 0
	EOF
	frbpf_load
	burn
	outside=$burns
	wait_until 60 has_matches same 1
	same "fired by a task outside" "$(status_of group .matched)" 0
	burn
	echo "$burns" >"$cgroup/cgroup.procs" || skip "no task can be moved to a cgroup here"
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	json=$BASE/incidents/$name.json
	named "$json"
	pid=$(manifest "$name" pid)
	same "subject" "$pid" "$burns"
	jq -e --arg group "$group" '.triggers[0] | .rule == "group" and .window_ns == 500000000 and
		.value_ns > .threshold_ns and .state.cgroup == $group' "$json" ||
		fail "$(jq -c '.triggers[0] | del(.stacks, .subject.parents)' "$json")"
}

@test "a sum continues after a reload, and ends with its rule" {
	write_rules <<-'EOF'
		[rule-sum]
		when = app:work > 10% in 10m per rule
		dump = none

		[rule-each]
		when = app:work
		dump = none
		cooldown = 0
	EOF
	frbpf_load
	send "work 40s"
	wait_until 30 has_matches each 1
	same "of 60 s" "$(status_of sum .matched)" 0
	printf '\n[rule-more]\nwhen = app:work > 1h\ndump = none\n' >>"$RULES"
	frbpf_load
	send "work 40s"
	wait_until 30 has_matches sum 1
	# a rule whose text has changed begins a new sum
	sed -i 's/10% in 10m/10.01% in 10m/' "$RULES"
	frbpf_load
	send "work 40s"
	wait_until 30 has_matches each 3
	same "of the other rule" "$(status_of sum .matched)" 0
}
