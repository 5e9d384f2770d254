#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# ring = T: rings sized by the measured rate.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	common_setup
	keep_cpus_awake # so that the rate is the same all the time
}

teardown() {
	common_teardown
}

# Writes a session with 10,000 samples a second on every CPU, idle or not: about 500 KB a second.
ring_rules() { # MAX-MEMORY
	cat >"$RULES" <<-EOF
		[daemon]
		max-memory = $1
		[session-clock]
		run = -e cpu-clock -c 100000 --overwrite --switch-output -a
		ring = 4s
	EOF
}

session() { # FIELD
	frbpf status --json | jq -re ".sessions[] | select(.name == \"clock\") | $1"
}

is_larger() { # BYTES
	(($(session .ring_bytes) > $1))
}

all_hold() { # NS
	session ".rings | all(.held_ns >= $1)" >/dev/null
}

first_sample() { # DUMP
	perf script -i "$1" --ns -F time 2>/dev/null | sed -nE '1s/^ *([0-9]+)\.([0-9]{9}):.*/\1\2/p'
}

@test "ring = T grows the rings once the rate is known, and no history is lost" {
	need_perf
	ring_rules 1G
	began=$(frbpf check --json "$RULES" | jq '.plan.sessions[0].ring_bytes')
	frbpf_load
	wait_until 15 is_larger "$began" || fail "$(cat "$BASE/output")"
	# directly after the change, a dump reaches back as far as the small rings did
	dump=$(frbpf dump)
	asked=$(jq -r '.triggers[0].time.monotonic_ns' "$BASE/incidents/$(incidents "$BASE").json")
	held=$((asked - $(first_sample "$dump")))
	smaller=$((began * 1000000000 / 700000))
	((held > smaller * 8 / 10)) || fail "the dump reaches back $held ns, the rings before $smaller"
	same "notice" "$(session .notice)" ""
	# Wait until the rings have wrapped. If the rate is higher than first measured, they are resized again.
	wait_until 30 all_hold 4000000000 || fail "rings hold $(session '.rings[].held_ns')"
	grep -q "session 'clock': rings change from" "$BASE/output"
}

@test "ring = T stays within max-memory, and the memory needed is reported" {
	cpus=$(getconf _NPROCESSORS_ONLN)
	ring_rules $((cpus * (2048 + 2112)))K
	frbpf_load
	wait_until 15 grep -q "session 'clock': ring = 4s needs" "$BASE/output" || fail "$(cat "$BASE/output")"
	(($(session .ring_bytes) * 2 * cpus <= cpus * 2 * 1024 * 1024))
	[[ $(session .notice) == "ring = 4s needs "*"max-memory ("* ]]
}

@test "ring = T: without room for old and new rings the old ones continue" {
	need_perf
	cpus=$(getconf _NPROCESSORS_ONLN)
	ring_rules $((cpus * (2048 + 2112)))K # enough for rings of 1M, but not beside the rings of 512K
	frbpf_load
	began=$(session .ring_bytes) started=$(session .started_monotonic_ns)
	wait_until 15 grep -q "session 'clock': ring = 4s needs .* while the .* in use are still mapped" \
		"$BASE/output" ||
		fail "$(cat "$BASE/output")"
	same "ring" "$(session .ring_bytes)" "$began"
	same "start of the session" "$(session .started_monotonic_ns)" "$started"
	frbpf dump >/dev/null
	between "$(frbpf status --json | jq ".memory | .used_bytes - .sideband_rings_bytes")" 1 \
		$((cpus * 2 * 1024 * 1024)) "memory in use"
}

@test "ring = T: check reports when larger rings can have no room" {
	printf '[daemon]\nmax-memory = %dK\n[session-a]\nrun = -e sched:sched_switch -m 1M --overwrite --switch-output -a\nring = 10s\n' \
		$(($(getconf _NPROCESSORS_ONLN) * (2112 + 2048 + 4096) - 1)) >"$RULES"
	run -0 --separate-stderr "$FRBPF" check "$RULES"
	[[ $stderr == *"no room for larger rings: they take "*"at least beside"* ]]
	sed -i '/^max-memory/s/[0-9]*K/64G/' "$RULES"
	run -0 --separate-stderr "$FRBPF" check "$RULES"
	[[ $stderr != *"no room"* ]]
}

@test "if the rate is known, the rings have their size before anything is measured; -m is the minimum" {
	cat >"$RULES" <<-'EOF'
		[session-clock]
		run = -e cpu-clock -F 1000 -m 4M --overwrite --switch-output -a
		ring = 10s
	EOF
	run -0 --separate-stderr "$FRBPF" check --json "$RULES"
	same "ring" "$(json "$output" '.plan.sessions[0].ring_bytes')" $((4 * 1024 * 1024))
	sed -i 's/-m 4M //' "$RULES"
	run -0 --separate-stderr "$FRBPF" check --json "$RULES"
	same "ring" "$(json "$output" '.plan.sessions[0].ring_bytes')" $((1024 * 1024))
}

@test "a reload keeps rings that were sized" {
	ring_rules 1G
	began=$(frbpf check --json "$RULES" | jq '.plan.sessions[0].ring_bytes')
	frbpf_load
	wait_until 15 is_larger "$began" || fail "$(cat "$BASE/output")"
	grown=$(session .ring_bytes)
	started=$(session .started_monotonic_ns)
	printf '[rule-one]\nwhen = runqlat > 10s\n' >>"$RULES"
	frbpf_load
	same "ring" "$(session .ring_bytes)" "$grown"
	same "start of the session" "$(session .started_monotonic_ns)" "$started"
}
