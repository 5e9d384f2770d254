# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What benchmarks of BPF programs share: their run time by kernel.bpf_stats_enabled, while a workload runs. Behind
# lib.bash.

# Behind bench_begin: statistics are on until the benchmark ends.
programs_begin() {
	command -v bpftool >/dev/null || fail "needs bpftool"
	stats_before=$(sysctl -n kernel.bpf_stats_enabled) || fail "this kernel has no statistics of BPF programs"
	trap 'sysctl -q kernel.bpf_stats_enabled="$stats_before"; cleanup' EXIT
	sysctl -q kernel.bpf_stats_enabled=1
}

# The process whose programs are measured: others load programs, too
measured_pid=''

# id, run time and count of its programs that have run; `all`: or not
our_programs() {
	cat "/proc/$measured_pid/fdinfo/"* 2>/dev/null | awk '/^prog_id:/ {print $2}' >"$tmp/ours"
	bpftool -j prog show |
		jq -r --arg all "${1-}" '.[] | select(.run_cnt or $all == "all") |
			"\(.id) \(.run_time_ns // 0) \(.run_cnt // 0)"' |
		awk 'FILENAME != "-" {ours[$1]; next} $1 in ours' "$tmp/ours" -
}

# measure ROW WORKLOAD...: run time of all our programs together, by the runs of the one that runs most often
# less wake-ups than switches, as many entries as exits: that is the number of switches, or of calls.
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

# tool ROW WORKLOAD -- COMMAND...; $warm is what its programs are hit by, where that does not happen by itself
warm=:
tool() {
	local row=$1 workload=$2 i
	shift 3
	command -v "$1" >/dev/null || return 0
	progress "$row"
	background "$@" >"$tmp/tool" 2>&1
	measured_pid=$!
	# attached, when its programs have begun to run
	for ((i = 0; i < 200; i++)); do
		$warm >/dev/null 2>&1
		[[ $(our_programs) ]] && break
		sleep 0.1
	done
	sleep 0.5
	[[ $(our_programs) ]] && measure "$row" "$workload"
	end "${children[-1]}" INT
}

# measure_empty ROW WORKLOAD: of those that empty_load() has attached
measure_empty() {
	measured_pid=$empty_pid
	measure "$@"
}

# empty WORKLOAD TRACEPOINT...
empty() {
	local workload=$1
	shift
	progress "empty programs"
	empty_attach "$@" && measure_empty "empty programs" "$workload"
	empty_detach
}

# The action of a bpftrace script, as a rule with a cooldown does: counts all, and says something at most once in it
# shellcheck disable=SC2034 # for the benchmarks
limited='@n = count(); if (nsecs - @last >= 10000000000) { @last = nsecs; printf("hit %s %d\n", comm, tid); }'

# measure_rules ROW WORKLOAD: of the recorder, with the rules that come on standard input
measure_rules() {
	progress "$1"
	recorder_start < <(
		printf '[daemon]\nmax-memory = 1G\n\n[session-x]\nrun = -e dummy -m 64K --overwrite --switch-output -a\n\n'
		cat
	)
	measured_pid=$recorder_pid
	measure "$1" "$2"
	recorder_stop
}

# frbpf_rules ROW WORKLOAD N WHEN
frbpf_rules() {
	local i
	measure_rules "$1" "$2" < <(
		for ((i = 0; i < $3; i++)); do
			printf '[rule-r%d]\nwhen = %s > %ds\n\n' $i "$4" $((3600 + i))
		done
	)
}

# frbpf_hits ROW WORKLOAD N WHEN [CONDITION]: rules without a threshold, and with a cooldown of 10 s, the default; @ in the
# condition is a number that differs by rule; no dump is made
frbpf_hits() {
	local i
	measure_rules "$1" "$2" < <(
		for ((i = 0; i < $3; i++)); do
			printf '[rule-r%d]\nwhen = %s\ndump = none\n' $i "$4"
			[[ ${5-} ]] && printf 'if = %s\n' "${5//@/$((i + 1))}"
		done
	)
}
