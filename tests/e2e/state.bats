#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Facts that no event reports: parents of the subject, its scheduling, its limits.

# shellcheck disable=SC2154,SC2030,SC2031 # set by bats and the helpers; every test is a subshell
# with: others
load helpers
load ../causes/causes

setup() {
	common_setup
	cd "$BATS_TEST_TMPDIR" || return 1
	ln -s "$(command -v bash)" subject
	mkfifo hold
}

teardown() {
	if [[ ${subject-} ]]; then
		kill -KILL "$subject" 2>/dev/null || true
		wait "$subject" || true
	fi
	common_teardown
	remove_cpu_groups
}

# Starts a process with TEXT in its command line: $subject. It waits once for 50 ms, and then until the end of the test.
start_subject() { # TEXT
	exec 5<>hold
	# shellcheck disable=SC2016 # of the inner shell
	setsid nice -n 7 taskset -c "$cpu" ./subject -c '
		[[ ! $2 ]] || echo $$ >"$2/cgroup.procs"
		read -r -t 0.05 <&5
		read -r <&5' "$1" - "${quota_group-}" 5<&5 3>&- &
	subject=$!
}

first_cpu() {
	cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
}

@test "the manifest says who the subject is and what limits it, and show prints it" {
	need_root
	need_btf
	need_tracepoints
	first_cpu
	make_cpu_groups
	write_rules <<-'EOF2'
		[rule-off]
		when     = offcpu > 40ms
		if       = comm == "subject"
	EOF2
	frbpf_load >/dev/null
	start_subject $'e\e[31mvil'"$(printf '%2000s' x)"
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	# the manifest may be written before the state is known; then it is written again
	wait_until 10 jq -e '.triggers[0].state.command' "$BASE/incidents/$name.json" >/dev/null
	pid=$(jq '.triggers[0].subject.pid' "$BASE/incidents/$name.json")
	jq '.triggers[0].state' "$BASE/incidents/$name.json" >state
	jq -e --arg cpu "$cpu" '.policy == "other" and .nice == 7 and .rt_priority == 0 and .cpus == $cpu' state ||
		fail "$(<state)"
	same "the parent" "$(jq '.parents[0].pid' state)" "$(ps -o ppid= -p "$pid" | tr -d ' ')"
	jq -e '.command | length == 511 and startswith("./subject -c ")' state || fail "$(<state)"
	[[ ! $quota_group ]] ||
		jq -e '.cpu[0] | .quota_ns == 10000000 and .period_ns == 100000000 and .throttled >= 0 and
		(.cgroup | endswith("frbpf-cause-" + $pid))' --arg pid "$$" state || fail "$(<state)"
	run -0 frbpf show
	[[ $output == *"  command    ./subject -c "* && $output == *"  scheduled  other, nice 7, on CPUs $cpu; "* ]] ||
		fail "$output"
	[[ ! $quota_group || $output == *"  CPU limit  10ms in 100ms of /"*"throttled in "* ]] || fail "$output"
	grep -qE '^machine: CPUs [0-9]+ % busy, [0-9]+ % stolen, [0-9]+ tasks runnable.*, in [0-9.]+s$' <<<"$output" ||
		fail "$output"
	# at least the second of the trigger is there, even if the following seconds take as long
	jq -e '(.time.monotonic_ns) as $t | .vitals | (.end_monotonic_ns | length) as $n | $n > 0 and
		.end_monotonic_ns[-1] >= $t and
		([del(.disks)[] | length] | all(. == $n)) and (.running | length == $n) and
		(.disks | to_entries | all((.key | test("^[0-9]+:[0-9]+$")) and (.value | type == "string")))' \
		"$BASE/incidents/$name.json" ||
		fail "$(jq .vitals "$BASE/incidents/$name.json")"
	[[ $output != *$'\e'* ]] || fail "an escape sequence: $output"
	frbpf_stop >/dev/null
}
