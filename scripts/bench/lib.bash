# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the benchmarks share. A benchmark first calls bench_begin "$@". Then it notes values under the name of a row, and
# prints them as a table. Everything that it starts ends when the benchmark ends.
set -u
# awk and sort must read decimal points as perf prints them
export LC_ALL=C PERF_CONFIG=/dev/null
this_bench=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

FRBPF=${FRBPF:-./frbpf}
# shellcheck disable=SC2034 # for the benchmarks
workloads=.output/tests/workloads
n_cpus=$(getconf _NPROCESSORS_ONLN)
pause_ioctl=0x40042409 # PERF_EVENT_IOC_PAUSE_OUTPUT
base='' tmp='' recorder_pid='' empty_pid='' tracer=''
PATH=$PATH:/usr/sbin # bpftool, sysctl

fail() { # MESSAGE...
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# shellcheck disable=SC2120 # no text: clear the line
progress() { # [TEXT]
	[[ -t 2 ]] && printf '\r\033[K%s' "${1-}" >&2
	return 0
}

# Succeeds if all of these are installed. Otherwise $why_not says which one is not.
need() { # COMMAND...
	local command
	for command in "$@"; do
		type -P "$command" >/dev/null || {
			# shellcheck disable=SC2034 # for the benchmarks
			why_not="$command is not installed"
			return 1
		}
	done
}

# Prints the comment at the top of the benchmark.
usage() {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$this_bench"
}

cleanup() {
	local pid
	# shellcheck disable=SC2119
	progress
	recorder_stop
	# these still run; the pid of a child that has ended may belong to a process of others
	for pid in $(jobs -pr); do
		kill_with_children "$pid"
		kill -CONT "$pid" 2>/dev/null # a stopped process ends when it continues
	done
	[[ $tracer && -d $tracer ]] && rmdir "$tracer"
	[[ $tmp ]] && rm -rf "$tmp"
}

# Names processes that use a fifth of a CPU or more before anything is measured: their noise is in every figure.
warn_if_busy() {
	local busy
	# HOME: not with the columns of the user's toprc
	busy=$(HOME=$tmp top -b -n 2 -d 1 -w 200 2>/dev/null |
		awk '/^ *PID / {n++; next} n == 2 && $9 >= 20 && $12 != "top" {print "    " $12 " (pid " $1 "): " $9 " %"}')
	[[ ! $busy ]] || printf 'warning: this machine is not idle; used of one CPU:\n%s\n' "$busy" >&2
}

# bench_begin RUNS "$@": reads the options. RUNS is the default of --runs. Sets runs and tmp.
bench_begin() {
	runs=$1
	shift
	while (($#)); do
		case $1 in
		--runs) runs=${2-} && shift ;;
		-h | --help) usage && exit 0 ;;
		*) usage >&2 && exit 1 ;;
		esac
		shift
	done
	[[ $runs =~ ^[1-9][0-9]*$ ]] || fail "--runs wants a number above 0"
	((EUID == 0)) || fail "needs root"
	[[ -x $FRBPF && -x $workloads/burn ]] || fail "not built yet: make all workloads"
	perf version >/dev/null 2>&1 || fail "no perf for this kernel"
	command -v jq >/dev/null || fail "needs jq"
	trap cleanup EXIT
	# a second signal must not interrupt the clean-up
	trap 'trap "" INT TERM; exit 130' INT
	trap 'trap "" INT TERM; exit 143' TERM
	# on a disk, as dumps are kept on one; /tmp may be in memory
	tmp=$(mktemp -d "${BENCH_DIR:-/var/tmp}/frbpf-bench.XXXXXX") || exit 1
	printf '%s: Linux %s, %d CPUs, %s; frbpf %s\n' "${0##*/}" "$(uname -r)" "$n_cpus" \
		"$(perf version)" "$(git describe --always --dirty 2>/dev/null)"
	warn_if_busy
}

# --- values

note() { # ROW VALUE
	printf '%s\t%s\n' "$1" "$2" >>"$tmp/values"
}

# notes ROW: notes one value per line of standard input
notes() {
	awk -v row="$1" 'NF {print row "\t" $1}' >>"$tmp/values"
}

forget_values() {
	: >"$tmp/values"
}

median() { # of standard input
	sort -g | awk '{v[NR] = $1} END {if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'
}

# table TITLE REFERENCE [p99|best]: prints a line per row, in the order of the first values. The spread covers the
# middle 80 % of the values. The ratio compares the median with that of REFERENCE. With p99 or best (the smallest
# value), that value is printed, too, and the ratio compares these values. best is for times that others on the machine
# can only lengthen. If BENCH_ROWS is set, that file gets the rows as JSON, too, one a line.
table() {
	local title=$1 reference=$2 tail=${3-}
	[[ -s $tmp/values ]] || fail "$title: nothing was measured"
	awk -F '\t' '!($1 in n) {n[$1] = ++rows} {print n[$1] "\t" $1 "\t" $2}' "$tmp/values" |
		sort -t "$(printf '\t')" -k 1,1n -k 3,3g |
		awk -F '\t' -v title="$title" -v reference="$reference" -v tail="$tail" -v bench="${0##*/}" \
			-v json="${BENCH_ROWS-}" '
		function rank(row, share,   i) {
			i = int(count[row] * share + 0.999999)
			return v[row, i < 1 ? 1 : i]
		}
		function middle(row) {
			return (rank(row, 0.5) + v[row, int(count[row] / 2) + 1]) / 2
		}
		function figure(row) {
			return tail == "" ? middle(row) : rank(row, tail == "p99" ? 0.99 : 0)
		}
		function quoted(s) {
			gsub(/[\\"]/, "\\\\&", s)
			return "\"" s "\""
		}
		function json_row(row) {
			printf "{\"bench\": %s, \"table\": %s, \"row\": %s, \"n\": %d, \"median\": %.9g, \"p10\": %.9g, " \
				"\"p90\": %.9g, \"figure\": %s, \"value\": %.9g, \"reference\": %s, \"ratio\": %s}\n", quoted(bench),
				quoted(title), quoted(name[row]), count[row], middle(row), rank(row, 0.1), rank(row, 0.9),
				quoted(tail ? tail : "median"), figure(row), ref ? quoted(reference) : "null",
				base ? sprintf("%.6g", figure(row) / base) : "null" >>json
		}
		function num(x) {
			return sprintf(x >= 1000 || x <= -1000 ? "%.0f" : x >= 100 ? "%.1f" : x >= 1 ? "%.2f" : "%.3f", x)
		}
		{
			row = $1; name[row] = $2; rows = row
			v[row, ++count[row]] = $3
			if ($2 == reference) ref = row
		}
		END {
			printf "\n%-44s %6s %10s %21s", title, "n", "median", "10 % .. 90 %"
			if (tail) printf " %10s", tail
			printf " %7s\n", "ratio"
			for (row = 1; row <= rows; row++) {
				value = figure(row)
				base = ref ? figure(ref) : 0
				printf "%-44s %6d %10s %21s", name[row], count[row], num(middle(row)),
					num(rank(row, 0.1)) " .. " num(rank(row, 0.9))
				if (tail) printf " %10s", num(figure(row))
				if (base) printf " %7.3g\n", value / base
				else printf " %7s\n", "-"
				if (json) json_row(row)
			}
		}'
}

# --- processes

# background COMMAND...: runs COMMAND until the benchmark ends. Its pid is in $!.
background() {
	"$@" </dev/null &
}

# perf bench sched pipe does not end its child, which waits forever.
kill_with_children() { # PID [SIGNAL]
	local below
	mapfile -t below < <(pgrep -P "$1")
	kill "-${2:-TERM}" "$1" "${below[@]}" 2>/dev/null
}

end() { # PID [SIGNAL]
	kill_with_children "$@"
	wait "$1" 2>/dev/null
	return 0
}

now_us() {
	echo "${EPOCHREALTIME/[.,]/}"
}

wait_until() { # SECONDS COMMAND...
	local deadline=$(($(now_us) + $1 * 1000000))
	shift
	until "$@"; do
		(($(now_us) < deadline)) || return 1
		sleep 0.05
	done
}

# --- CPU time

# Prints the CPU time in us that a process and its ended children have had; nothing if PID is "".
used_us() { # PID
	[[ ! $1 ]] || awk -v hz="$(getconf CLK_TCK)" '{
		sub(/^.*\) /, "")
		printf "%.0f", ($12 + $13 + $14 + $15) * 1e6 / hz
	}' "/proc/$1/stat"
}

# cpu_us N SERVER COMMAND...: prints the CPU time in us of COMMAND and SERVER for each of N operations; SERVER may be
# "". CPU time is better than time on the clock, which depends on who else uses the machine.
cpu_us() {
	local n=$1 server=$2 before client TIMEFORMAT='%3U %3S'
	shift 2
	before=$(used_us "$server")
	client=$({ time "$@" >"$tmp/out" 2>&1 </dev/null; } 2>&1) || fail "$*: $(tail -n 3 "$tmp/out")"
	awk -v n="$n" -v b="$before" -v a="$(used_us "$server")" \
		'{printf "%.4f\n", (($1 + $2) * 1e6 + a - b) / n}' <<<"$client"
}

# --- the recorders

# recorder_start: starts a recorder with the rules on standard input, which must not have a base
recorder_start() {
	base=$tmp/base
	rm -rf "$base"
	cat >"$tmp/rules.conf"
	timeout -k 5 60 "$FRBPF" load --base "$base" "$tmp/rules.conf" >"$tmp/load" 2>&1 ||
		fail "frbpf load: $(cat "$tmp/load")"
	recorder_pid=$(tr -cd 0-9 <"$base/lock")
}

recorder_stop() {
	[[ $base ]] || return 0
	timeout -k 5 60 "$FRBPF" stop --base "$base" >/dev/null 2>&1
	while [[ $recorder_pid ]] && kill -0 "$recorder_pid" 2>/dev/null; do
		sleep 0.05
	done
	base='' recorder_pid=''
}

# thread NAME: prints the id of a thread of the recorder
thread() {
	local comm
	for comm in "/proc/$recorder_pid/task/"*/comm; do
		[[ $(<"$comm") == "$1" ]] || continue
		comm=${comm%/comm}
		echo "${comm##*/}"
	done
}

# thread_ns NAME: prints the CPU time in ns of a thread of the recorder
thread_ns() {
	awk '{print $1}' "/proc/$recorder_pid/task/$(thread "$1")/schedstat"
}

# wakeups PID [NAME]: prints the voluntary context switches of its threads, or of the threads called NAME
wakeups() {
	local task
	for task in "/proc/$1/task/"*; do
		[[ $# == 1 || $(<"$task/comm") == "$2" ]] || continue
		awk '/^voluntary_ctxt_switches/ {print $2}' "$task/status"
	done | awk '{n += $1} END {print n + 0}'
}

# manifests FILTER: prints what jq finds in each manifest. After recorder_stop, none is missing.
manifests() {
	find "$tmp/base/incidents" -name '*.json' 2>/dev/null | sort | xargs -r jq -r "$1"
}

# perf_start DIR ARGUMENTS...: starts perf record with DIR/perf.data, and returns when it records. Its pid is in
# perf_pid. It gets no build ids: perf 6.1 fails in collecting them if others load BPF programs meanwhile.
perf_start() {
	local dir=$1
	shift
	rm -rf "$dir"
	mkdir -p "$dir" && mkfifo "$dir/control" "$dir/ack" || exit 1
	# open the fifos for reading and writing, so that nobody waits for the other end
	exec {control}<>"$dir/control" {ack}<>"$dir/ack"
	perf record -N -B -o "$dir/perf.data" --control "fifo:$dir/control,$dir/ack" "$@" \
		{control}>&- {ack}>&- </dev/null >"$dir/output" 2>&1 &
	# shellcheck disable=SC2034 # for the benchmarks
	perf_pid=$!
	echo ping >&"$control"
	read -r -t 20 -u "$ack" || fail "perf record $* did not start: $(cat "$dir/output")"
	exec {control}>&- {ack}>&-
}

# --- who pauses rings, as seen from outside

# observe_start TID: begins to trace which rings that thread pauses and resumes, and the returns of frbpf-bench from
# nanosleep. It uses ftrace: the reader of perf 6.1 crashes if another event with attr.build_id was opened after its
# own.
observe_start() {
	local tracefs=/sys/kernel/tracing calls
	[[ -d $tracefs/instances ]] || tracefs=/sys/kernel/debug/tracing
	tracer=$tracefs/instances/frbpf-bench-$$
	calls=$tracer/events/syscalls
	mkdir "$tracer" || fail "no tracefs"
	echo mono >"$tracer/trace_clock"
	echo "cmd == $pause_ioctl && common_pid == $1" >"$calls/sys_enter_ioctl/filter"
	echo 'comm == "frbpf-bench"' >"$calls/sys_exit_nanosleep/filter"
	echo 1 >"$calls/sys_enter_ioctl/enable"
	echo 1 >"$calls/sys_exit_nanosleep/enable"
}

# Ends the trace and prints it, one event a line: us, then "trigger", or "pause" or "resume" and the descriptor.
observe_end() {
	echo 0 >"$tracer/tracing_on"
	sed -nE -e 's/.* ([0-9]+)\.([0-9]{6}): sys_nanosleep.*/\1\2 trigger/p' \
		-e 's/.* ([0-9]+)\.([0-9]{6}): sys_ioctl\(fd: ([^,]*),.* arg: (0x)?0*1\)/\1\2 pause \3/p' \
		-e 's/.* ([0-9]+)\.([0-9]{6}): sys_ioctl\(fd: ([^,]*),.* arg: (0x)?0+\)/\1\2 resume \3/p' "$tracer/trace"
	echo 0 >"$tracer/events/enable"
	rmdir "$tracer"
	tracer=''
}

# --- empty BPF programs, which measure the cost of attaching alone

# empty_attach SECTION...: attaches an empty program of each section, until empty_detach. Returns 1 if they cannot be
# built.
empty_attach() {
	local section i=0
	for section; do
		printf '__attribute__((section("%s"), used)) int empty_%d(void *ctx) { return 0; }\n' \
			"$section" $((i++))
	done >"$tmp/empty.c"
	echo 'char LICENSE[4] __attribute__((section("license"), used)) = "GPL";' >>"$tmp/empty.c"
	clang -g -O2 -target bpf -c "$tmp/empty.c" -o "$tmp/empty.o" &&
		gcc -O2 scripts/bench/attach.c -lbpf -o "$tmp/attach" || return 1
	: >"$tmp/attached"
	background "$tmp/attach" "$tmp/empty.o" >"$tmp/attached" 2>&1
	empty_pid=$!
	wait_until 5 grep -q '^attached' "$tmp/attached"
}

empty_detach() {
	[[ $empty_pid ]] && end "$empty_pid"
	empty_pid=
}

# --- load

# shellcheck disable=SC2034 # for the benchmarks
compiled=user/symbols/task_model.c # a file to compile

# Prints the SQL that inserts rows into a new table.
insertions() { # N
	local i
	echo 'PRAGMA synchronous=OFF; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);'
	for ((i = 0; i < $1; i++)); do
		echo "INSERT INTO t VALUES($i, 'value $i');"
	done
}

# Runs more tasks than there are cores, until end "$load_pid".
load_start() {
	background "$workloads/burn" --threads $((4 * n_cpus)) --seconds 3600 >/dev/null
	# shellcheck disable=SC2034 # for the benchmarks
	load_pid=$!
}

# flood_start: makes system calls on every CPU, as fast as possible, until flood_end
flood_start() {
	local cpu
	flood_pids=()
	for ((cpu = 0; cpu < n_cpus; cpu++)); do
		background taskset -c "$cpu" perf bench syscall basic -l 2000000000 >/dev/null 2>&1
		flood_pids+=($!)
	done
}

flood_end() {
	local pid
	for pid in "${flood_pids[@]}"; do
		end "$pid"
	done
}
