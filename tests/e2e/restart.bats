#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# State that a new daemon takes over: cooldowns, max-dumps and learnt thresholds.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	cp "$(command -v cat)" "$BATS_TEST_TMPDIR/frbpf-restart"
}

teardown() {
	common_teardown
}

rules() { # LINES OF THE RULE
	write_rules <<-EOF
		[daemon]
		merge = 0

		[rule-missing]
		when = syscall:openat fails (ENOENT)
		if = comm == frbpf-restart
		$1
	EOF
}

miss() {
	! "$BATS_TEST_TMPDIR/frbpf-restart" /no/such/file 2>/dev/null
}

suppressed() { # CAUSE
	frbpf status --json | jq -re ".rules[0].suppressed.$1"
}

kill_daemon() {
	kill -KILL "$(daemon_pid)"
	wait_until 10 no_daemon
}

has_state() {
	[[ -s $BASE/state.json ]]
}

@test "a cooldown outlives stop and load" {
	rules "cooldown = 1h"
	frbpf_load
	miss
	wait_for_incident "$BASE" 1
	frbpf_stop
	same "mode" "$(stat -c %a "$BASE/state.json")" 600
	frbpf_load
	miss
	between "$(suppressed cooldown)" 1 1000 "suppressed by the cooldown"
	frbpf_finish
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
}

@test "an escalated value breaks a cooldown that began before kill -9" {
	write_rules <<-'EOF'
		[daemon]
		merge = 0

		[rule-late]
		when = app:late > 10ms
		cooldown = 1h
	EOF
	frbpf_load
	frbpf trigger late 20ms
	wait_for_incident "$BASE" 1
	kill_daemon
	frbpf_load
	frbpf trigger late 70ms
	between "$(suppressed cooldown)" 1 1 "suppressed by the cooldown"
	frbpf trigger late 90ms
	wait_for_incident "$BASE" 2
	last=$(incidents "$BASE" | tail -n 1)
	same "it broke the cooldown" "$(jq .triggers[0].escalated "$BASE/incidents/$last.json")" true
}

@test "a cooldown per process and max-dumps outlive kill -9" {
	rules $'cooldown = 1h per comm\nmax-dumps = 5 in 1h'
	frbpf_load
	miss
	wait_for_incident "$BASE" 1
	wait_until 15 has_state
	kill_daemon
	frbpf_load
	miss
	between "$(suppressed cooldown)" 1 1000 "suppressed by the cooldown"
	frbpf_stop

	rm "$BASE/state.json"
	rules $'cooldown = 0\nmax-dumps = 2 in 1h'
	frbpf_load
	miss
	wait_for_incident "$BASE" 2
	miss
	wait_for_incident "$BASE" 3
	kill_daemon # the daemon saves its state before it begins the files of an incident
	frbpf_load
	miss
	between "$(suppressed rule_max_dumps)" 1 1000 "suppressed by max-dumps"
	frbpf_finish
	same "incidents" "$(incidents "$BASE" | wc -l)" 3
}

@test "a damaged or foreign state file is reported and not used" {
	rules "cooldown = 1h"
	frbpf_load
	miss
	wait_for_incident "$BASE" 1
	frbpf_stop
	echo '{"version": 1, "rules": 7' >"$BASE/state.json"
	frbpf_load 2>"$BATS_TEST_TMPDIR/said"
	grep -q 'state.json is not used' "$BATS_TEST_TMPDIR/said"
	miss
	wait_for_incident "$BASE" 2
	frbpf_stop
	ln -sf /etc/passwd "$BASE/state.json"
	frbpf_load 2>"$BATS_TEST_TMPDIR/said"
	grep -q 'state.json is not used' "$BATS_TEST_TMPDIR/said"
	miss
	wait_for_incident "$BASE" 3
	frbpf_stop
	[[ -f $BASE/state.json && ! -L $BASE/state.json ]]
}

@test "a trigger whose dump never began does not fire again after kill -9" {
	rules $'cooldown = 1h\npost = 60s'
	frbpf_load
	miss
	wait_until 15 has_state || fail "nothing was saved before the dump"
	kill_daemon
	same "incidents" "$(incidents "$BASE" | wc -l)" 0
	frbpf_load
	miss
	between "$(suppressed cooldown)" 1 1000 "suppressed by the cooldown"
	same "incidents begun" "$(frbpf status --json | jq -re '.rules[0].incidents')" 0
}

@test "a cooldown of a rule that only counts outlives kill -9" {
	rules $'cooldown = 1h\ndump = none'
	frbpf_load
	miss
	wait_until 30 has_state || fail "nothing was saved"
	kill_daemon
	frbpf_load
	miss
	between "$(suppressed cooldown)" 1 1000 "suppressed by the cooldown"
}

says_cap() {
	grep -q 'rule missing: max-dumps = 1 in 1h is reached' "$BASE/output"
}

@test "a reached max-dumps has a line in the log" {
	rules $'cooldown = 0\nmax-dumps = 1 in 1h'
	frbpf_load
	miss
	wait_until 15 says_cap || fail "$(cat "$BASE/output")"
}

send() { # MESSAGE ARGUMENTS...
	local message=$1 socket
	shift
	socket=$(frbpf status --json | jq -re .app.socket)
	printf %s "$message" | timeout -k 5 60 "$WORKLOADS/app_send" "$socket" "$@" 3>&- >/dev/null
}

# Succeeds if the rule has learnt its threshold, which takes 20 values within ten seconds.
has_learnt() {
	send "learn 1ms" --times 20
	status_of learnt .learnt.threshold_ns
}

@test "what a rule has learnt outlives stop and load" {
	local threshold
	write_rules <<-EOF
		[rule-learnt]
		when = app:learn > p50 * 4
		learn = 10s
		dump = none
		cooldown = 0
	EOF
	frbpf check "$RULES" | grep -qx '  learns:     p50 of the last 10s; fires from 20 values on; the recorder keeps them over reloads and restarts' ||
		fail "$(frbpf check "$RULES")"
	frbpf_load
	frbpf status | grep -qx '  learns:     p50, and does not fire yet: 0 of 20 values seen' ||
		fail "$(frbpf status)"
	wait_until 60 has_learnt
	frbpf_stop
	frbpf_load
	threshold=$(status_of learnt .learnt.threshold_ns)
	between "$threshold" 3500000 4500000 "four times the percentile"
	frbpf status | grep -q '^  learnt:     p50 is .*, fires above ' || fail "$(frbpf status)"
	send "learn 3ms"
	send "learn 5ms"
	wait_until 30 fired_once
	same "largest" "$(status_of learnt .max_value_ns)" 5000000
}

fired_once() {
	[[ $(status_of learnt .fired) == 1 ]]
}
