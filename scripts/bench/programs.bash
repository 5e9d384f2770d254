# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by lib.bash
#
# What the benchmarks of BPF programs share. They measure the run time of BPF programs while a workload runs, by
# kernel.bpf_stats_enabled. Source this file after lib.bash.

# Call this after bench_begin. The statistics are on until the benchmark ends.
programs_begin() {
	command -v bpftool >/dev/null || fail "needs bpftool"
	stats_before=$(sysctl -n kernel.bpf_stats_enabled) || fail "this kernel has no statistics of BPF programs"
	trap 'sysctl -q kernel.bpf_stats_enabled="$stats_before"; cleanup' EXIT
	sysctl -q kernel.bpf_stats_enabled=1
}

# Only the BPF programs of this process are measured.
measured_pid=''

# our_programs [all]: prints id, run time and count of the measured process's programs that have run, or of all of them
our_programs() {
	cat "/proc/$measured_pid/fdinfo/"* 2>/dev/null | awk '/^prog_id:/ {print $2}' >"$tmp/ours"
	bpftool -j prog show |
		jq -r --arg all "${1-}" '.[] | select(.run_cnt or $all == "all") |
			"\(.id) \(.run_time_ns // 0) \(.run_cnt // 0)"' |
		awk 'FILENAME != "-" {ours[$1]; next} $1 in ours' "$tmp/ours" -
}

# measure ROW WORKLOAD...: notes the run time of all measured programs together, divided by the number of events. That
# number is the count of the program that runs most often. With fewer wake-ups than switches, these are the switches;
# with as many entries as exits, these are the calls.
measure() {
	local row=$1
	shift
	our_programs all >"$tmp/before"
	"$@" >/dev/null 2>&1
	our_programs | awk 'FILENAME != "-" {time[$1] = $2; count[$1] = $3; next}
		!($1 in time) {next}
		{t += $2 - time[$1]; n = $3 - count[$1]; most = n > most ? n : most}
		END {if (most) printf "%.1f\n", t / most}' "$tmp/before" - | notes "$row"
}

# Succeeds if a measured program has run. $warm is a command that makes it run, if nothing else does.
warm=:
programs_ran() {
	$warm >/dev/null 2>&1
	[[ $(our_programs) ]]
}

# tool ROW WORKLOAD -- COMMAND...: measures another tool. It has attached its programs when one has run.
tool() {
	local row=$1 workload=$2
	shift 3
	command -v "$1" >/dev/null || return 0
	progress "$row"
	background "$@" >"$tmp/tool" 2>&1
	measured_pid=$!
	wait_until 30 programs_ran && sleep 0.5 && measure "$row" "$workload"
	end "$measured_pid" INT
}

# measure_empty ROW WORKLOAD SECTION...: measures empty programs
measure_empty() {
	local row=$1 workload=$2
	shift 2
	progress "$row"
	empty_attach "$@" && measured_pid=$empty_pid && measure "$row" "$workload"
	empty_detach
}

# empty WORKLOAD TRACEPOINT...: measures empty programs on tracepoints
empty() {
	local workload=$1
	shift
	measure_empty "empty programs" "$workload" "${@/#/tp_btf/}"
}

# An action of bpftrace scripts. It does what a rule with a cooldown of 10 s does: it counts all hits and prints one.
# shellcheck disable=SC2034 # for the benchmarks
limited='@n = count(); if (nsecs - @last >= 10000000000) { @last = nsecs; printf("hit %s %d\n", comm, tid); }'

# Starts the recorder with the rules on standard input, and a session without events.
rules_start() {
	recorder_start < <(
		printf '%s\n' '[daemon]' 'max-memory = 1G' '[session-x]' \
			'run = -e dummy -m 64K --overwrite --switch-output -a'
		cat
	)
}

# measure_rules ROW WORKLOAD: measures the recorder with the rules on standard input
measure_rules() {
	progress "$1"
	rules_start
	measured_pid=$recorder_pid
	measure "$1" "$2"
	recorder_stop
}

# frbpf_rules ROW WORKLOAD N WHEN: measures N rules whose thresholds nothing reaches
frbpf_rules() {
	local i
	measure_rules "$1" "$2" < <(
		for ((i = 0; i < $3; i++)); do
			printf '[rule-r%d]\nwhen = %s > %ds\n\n' $i "$4" $((3600 + i))
		done
	)
}

# frbpf_hits ROW WORKLOAD N WHEN [CONDITION]: measures N rules without a threshold, with the default cooldown of 10 s
# and without dumps. @ in CONDITION stands for the number of the rule.
frbpf_hits() {
	local i
	measure_rules "$1" "$2" < <(
		for ((i = 0; i < $3; i++)); do
			printf '[rule-r%d]\nwhen = %s\ndump = none\n' $i "$4"
			[[ ${5-} ]] && printf 'if = %s\n' "${5//@/$((i + 1))}"
		done
	)
}

# --- workloads

# On one CPU, so that every turn is a wake-up and a switch.
pipe() {
	taskset -c $((n_cpus - 1)) perf bench sched pipe -l 30000
}

calls() {
	taskset -c $((n_cpus - 1)) perf bench syscall basic -l 2000000
}
