#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# CPUs that go offline and come back while we record. This suite runs alone.

# shellcheck disable=SC2154,SC2030,SC2031 # set by bats and the helpers; every test is a subshell
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints sched:sched_process_exec
	common_setup
	victim=$BATS_TEST_TMPDIR/frbpf-hot
	cp "$(type -P true)" "$victim"
	# the last CPU, so that a machine with two keeps one
	cpu=$(lscpu -p=CPU,ONLINE | awk -F, '$2 == "Y" {c = $1} END {print c}')
	switch=/sys/devices/system/cpu/cpu$cpu/online
	((cpu > 0)) || skip "needs two CPUs"
	[[ -w $switch ]] || skip "CPU $cpu cannot be taken offline"
	cat >"$RULES" <<-EOF
		[session-exec]
		run = -e sched:sched_process_exec -m 1M --overwrite --switch-output -a

		[rule-fields]
		when = sched:sched_process_exec
		if = filename ~ "*/frbpf-hot"
		cooldown = 0
	EOF
}

teardown() {
	# stop the daemon first: a daemon in other namespaces can be reached only while the holder lives
	common_teardown
	[[ ! ${holder-} ]] || kill "$holder" || true
	[[ ! ${switch-} || ! -w $switch ]] || echo 1 >"$switch"
}

has_followed() { # TIMES
	(($(grep -c 'CPUs online' "$BASE/output") >= $1))
}

follow() { # off|on TIMES
	local value=0
	[[ $1 == off ]] || value=1
	echo "$value" >"$switch" || skip "CPU $cpu cannot be switched here"
	wait_until 20 has_followed "$2" || fail "not noticed that CPU $cpu is $1: $(cat "$BASE/output")"
}

# Runs the victim on the CPU. The rule must see it, and the dump must have its name and report the gap.
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
	events "$file" sched:sched_process_exec | awk -F '\t' -v cpu="$cpu" '$1 == "frbpf-hot" && $4 == cpu' |
		grep -q . ||
		fail "the program that ran on CPU $cpu is not in the dump"
	perf_quiet script -i "$file"
}

@test "a CPU that went and came back is recorded again, and the gap is reported" {
	frbpf_load
	follow off 1
	follow on 2
	check_recorded
	same "records of no event" "$(jq '.sessions[0].skipped_records' "$BASE"/incidents/*.json)" 0
}

@test "a CPU that comes online after the start is recorded" {
	echo 0 >"$switch" || skip "CPU $cpu cannot be switched here"
	frbpf_load
	follow on 1
	check_recorded
}

# Hides the uevents of the kernel: the recorder runs in a network namespace that belongs to another user namespace.
hide_uevents() {
	local mine
	unshare -U -n sleep 60 3>&- &
	holder=$!
	mine=$(readlink /proc/self/ns/net)
	wait_until 5 not_in "$mine" || skip "no user namespaces"
	printf '#!/bin/sh\nexec nsenter --net=/proc/%d/ns/net "%s" "$@"\n' "$holder" "$FRBPF" \
		>"$BATS_TEST_TMPDIR/hidden"
	chmod +x "$BATS_TEST_TMPDIR/hidden"
	FRBPF=$BATS_TEST_TMPDIR/hidden
}

not_in() { # NAMESPACE
	[[ $(readlink "/proc/$holder/ns/net") != "$1" ]]
}

@test "a CPU that went and came back within a moment is noticed without a uevent" {
	hide_uevents
	frbpf_load
	echo 0 >"$switch" || skip "CPU $cpu cannot be switched here"
	echo 1 >"$switch"
	wait_until 20 grep -q 'recorded from now on' "$BASE/output" || fail "not noticed: $(cat "$BASE/output")"
	check_recorded
}

@test "a CPU without memory for its ring: reported once, and recorded as soon as there is memory" {
	local n
	echo 0 >"$switch" || skip "CPU $cpu cannot be switched here"
	n=$(lscpu -p=CPU,ONLINE | grep -c Y)
	printf '[daemon]\nmax-memory = %dK\n' $((n * 4160 + 3072)) >>"$RULES"
	frbpf_load
	echo 1 >"$switch"
	wait_until 20 grep -q "CPU $cpu is not recorded: .* max-memory" "$BASE/output"
	wait_until 20 has_followed 1
	jq -e '.sessions[0].notice | test("is not recorded")' <(frbpf status --json)
	sed -i 's/^max-memory.*/max-memory = 1G/' "$RULES"
	frbpf_load
	wait_until 20 has_followed 2
	same "times that it was said" "$(grep -c "is not recorded" "$BASE/output")" 1
	check_recorded
}

# Runs `frbpf run ARGUMENTS` with a command that runs the victim on the CPU as soon as that CPU is followed.
run_victim() { # on|back ARGUMENTS...
	local how=$1 command=$BATS_TEST_TMPDIR/command go=$BATS_TEST_TMPDIR/go log=$BATS_TEST_TMPDIR/log
	shift
	mkfifo "$go"
	printf 'read -r _ <"%s"; exec taskset -c %d "%s"\n' "$go" "$cpu" "$victim" >"$command"
	if [[ $how == on ]]; then
		echo 0 >"$switch" || skip "CPU $cpu cannot be switched here"
	fi
	timeout -k 5 60 "$FRBPF" run "$@" --session '-e sched:sched_process_exec -m 64K' --last-window --log "$log" \
		-o "$BATS_TEST_TMPDIR/out" -- bash "$command" 3>&- &
	wait_until 20 has_reader "$command"
	if [[ $how == back ]]; then
		echo 0 >"$switch" || skip "CPU $cpu cannot be switched here"
	fi
	echo 1 >"$switch"
	wait_until 20 grep -q 'recorded from now on' "$log" || fail "not followed: $(cat "$log")"
	echo >"$go"
	wait $! || status=$?
}

has_reader() { # COMMAND: it has begun
	pgrep -f "^bash $1" >/dev/null
}

ran_there() { # JQ of a file
	local file
	file=$(jq -r "$1" "$BATS_TEST_TMPDIR/out/summary.json")
	events "$file" sched:sched_process_exec | awk -F '\t' -v cpu="$cpu" '$1 == "frbpf-hot" && $4 == cpu' | grep -q .
}

@test "run: a command is recorded on a CPU that comes online after it was started" {
	run_victim on
	ran_there '.incidents[-1].files[0].file'
}

@test "run -a: a CPU that went and came back is recorded again, and a rule sees it" {
	local status=0
	run_victim back -a --when sched:sched_process_exec --if 'filename ~ "*/frbpf-hot"'
	same "status" "$status" 2 || fail "$(jq -c .rules "$BATS_TEST_TMPDIR/out/summary.json"; cat "$BATS_TEST_TMPDIR/log")"
	same "CPU of the match" "$(jq -s '.[0].triggers[0].cpu' "$BATS_TEST_TMPDIR"/out/incidents/*.json)" "$cpu"
	ran_there '.incidents[0].files[0].file'
}

@test "why says that a task had to leave an offline CPU, and blames no quota or idle CPU" {
	keep_cpus_awake
	printf '[session-evidence]\nrun = evidence -m 8M\n[rule-none]\nwhen = app:none\n' >"$RULES"
	frbpf_load
	taskset -c "$cpu" sh -c 'while :; do :; done' 3>&- &
	holder=$!
	wait_until 10 runs_on "$cpu"
	follow off 1
	wait_until 10 has_left "$cpu"
	dump=$(frbpf dump)
	follow on 2
	run -0 frbpf why -v -i "$dump" --tid "$holder"
	grep -q "waited for CPU .*; it had to leave CPU $cpu, which went offline" <<<"$output" || fail "$output"
	! grep -qE "throttled|while CPU $cpu was idle.*it had to leave" <<<"$output" || fail "$output"
	frbpf why --json -i "$dump" --tid "$holder" |
		jq -e --argjson cpu "$cpu" '[.. | objects | select(.left_cpu == $cpu)] | length > 0'
	# the kernel's own event says the same
	events "$dump" cpuhp:cpuhp_enter | grep -q . || fail "no event of the CPU"
}

runs_on() { # CPU
	(($(ps -o psr= -p "$holder") == $1))
}

has_left() { # CPU
	(($(ps -o psr= -p "$holder") != $1))
}
