#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# CPUs that go off line and come back while we record. No other suite runs beside this one.

# shellcheck disable=SC2154 # set by bats and the helpers
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints sched:sched_process_exec
	common_setup
	victim=$BATS_TEST_TMPDIR/frbpf-hot
	cp "$(type -P true)" "$victim"
	# the last one, so that a machine of two has one left
	cpu=$(lscpu -p=CPU,ONLINE | awk -F, '$2 == "Y" {c = $1} END {print c}')
	switch=/sys/devices/system/cpu/cpu$cpu/online
	((cpu > 0)) || skip "needs two CPUs"
	[[ -w $switch ]] || skip "CPU $cpu cannot be taken off line"
	cat >"$RULES" <<-EOF
		[session-exec]
		run = -e sched:sched_process_exec -e sched:sched_switch -m 256K --overwrite --switch-output -a

		[rule-fields]
		when = sched:sched_process_exec
		if = filename ~ "*/frbpf-hot"
		cooldown = 0
	EOF
}

teardown() {
	[[ ! ${switch-} || ! -w $switch ]] || echo 1 >"$switch"
	common_teardown
}

has_followed() { # TIMES
	(($(grep -c 'CPUs on line' "$BASE/output") >= $1))
}

follow() { # off|on TIMES
	local value=0
	[[ $1 == off ]] || value=1
	echo "$value" >"$switch" || skip "CPU $cpu cannot be switched here"
	wait_until 10 has_followed "$2" || fail "not noticed that CPU $cpu is $1: $(cat "$BASE/output")"
}

# The victim ran on the CPU: the rule saw it, the dump has it, by its name, and says what was missed.
check_recorded() {
	local name file of_cpu
	taskset -c "$cpu" "$victim"
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "CPU of the match" "$(manifest "$name" cpu)" "$cpu"
	of_cpu=$(jq -ce ".sessions[0].cpus[] | select(.cpu == $cpu)" "$BASE/incidents/$name.json")
	between "$(json "$of_cpu" .records)" 1 1000000 "records"
	between "$(json "$of_cpu" .absent_ns)" 1 60000000000 "absent"
	same "incomplete" "$(json "$of_cpu" .incomplete)" true
	file=$(manifest "$name" files)
	events "$file" sched:sched_process_exec | awk -F '\t' -v cpu="$cpu" '$1 == "frbpf-hot" && $4 == cpu' | grep -q . ||
		fail "the program that ran on CPU $cpu is not in the dump"
	perf_quiet script -i "$file"
}

@test "a CPU that went and came back is recorded again, and what was missed is told" {
	frbpf_load
	follow off 1
	follow on 2
	check_recorded
	same "records of no event" "$(jq '.sessions[0].skipped_records' "$BASE"/incidents/*.json)" 0
}

@test "a CPU that comes on line after the start is recorded" {
	echo 0 >"$switch" || skip "CPU $cpu cannot be switched here"
	frbpf_load
	follow on 1
	check_recorded
}
