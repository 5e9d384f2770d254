# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by lib.bash
#
# What why, why_software and why_time share: a daemon that records what explains waits. Source it after lib.bash.

# Sets $spinners to their pids. On some virtual machines, perf writes no records of events in the context of an idle
# task.
keep_cpus_awake() {
	local cpu
	spinners=
	for ((cpu = 0; cpu < n_cpus; cpu++)); do
		chrt -i 0 taskset -c "$cpu" sh -c 'while :; do :; done' &
		spinners+=" $!"
	done
}

# Starts a daemon with the rules on standard input. OPTIONS follow `run = evidence`.
why_daemon_start() { # OPTIONS
	{
		cat <<-EOF
			[daemon]
			base = $tmp/base
			max-memory = 50%
			merge = 1ms
			[session-evidence]
			run = evidence $1
			[session-cpu]
			run = -e cpu-clock -F 99 -g -m 1M --overwrite --switch-output -a
		EOF
		cat
	} >"$tmp/rules.conf"
	timeout -k 5 60 "$FRBPF" load "$tmp/rules.conf" &>"$tmp/load" || fail "$(cat "$tmp/load")"
}

why_daemon_stop() {
	timeout -k 5 60 "$FRBPF" stop --base "$tmp/base" &>/dev/null
}

# json_right TABLE ROW RUNS RIGHT: appends a row to the file $BENCH_ROWS, see lib.bash. The ratio is the share of right
# answers.
json_right() {
	[[ ! ${BENCH_ROWS-} ]] || jq -nc --arg bench "${0##*/}" --arg table "$1" --arg row "$2" \
		--argjson n "$3" --argjson right "$4" \
		'{$bench, $table, $row, $n, figure: "right", value: $right, reference: null, ratio: ($right / $n)}' >>"$BENCH_ROWS"
}
