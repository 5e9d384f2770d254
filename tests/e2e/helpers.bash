# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by the end-to-end tests. FRBPF is the program under test. FRBPF_WORKLOADS is the directory with the programs of
# tests/workloads. Every test has its own base directory, rules file and perf configuration.

bats_require_minimum_version 1.5.0

root=${BATS_TEST_DIRNAME%/*/*}
FRBPF=${FRBPF:-$root/frbpf}
WORKLOADS=${FRBPF_WORKLOADS:-$root/.output/tests/workloads}

# Paths in the manifest, for jq. If the schema of the manifest changes, only this table changes.
# shellcheck disable=SC2034 # for the tests
declare -gA M=(
	[rule]='.triggers[0].rule'
	[source]='.triggers[0].source'
	[value]='.triggers[0].value_ns'
	[threshold]='.triggers[0].threshold_ns'
	[key]='.triggers[0].key'
	[time]='.triggers[0].time.monotonic_ns'
	[cpu]='.triggers[0].cpu'
	[comm]='.triggers[0].subject.comm'
	[process]='.triggers[0].subject.process'
	[pid]='.triggers[0].subject.pid'
	[tid]='.triggers[0].subject.tid'
	[reason]='.triggers[0].reason'
	[files]='.sessions[].file'
)

# --- begin and end of a test

common_setup() {
	BASE=$BATS_TEST_TMPDIR/base
	RULES=$BATS_TEST_TMPDIR/rules.conf
	perf_out=$BATS_TEST_TMPDIR/perf.out
	foreground_pid=
	awake_pids=()
	unset FRBPF_BASE
	# perf must not depend on the user's settings, and must not write into the user's home directory
	export PERF_CONFIG=/dev/null HOME=$BATS_TEST_TMPDIR DEBUGINFOD_URLS='' PERF_PAGER=cat TZ=UTC
	[[ -x $FRBPF ]] || fail "$FRBPF is not built"
}

common_teardown() {
	local pid daemons=
	[[ ${BASE-} ]] || return 0
	[[ ! -e $BASE/lock ]] || timeout -k 5 15 "$FRBPF" stop --base "$BASE" >/dev/null 2>&1 3>&- || true
	[[ ! $foreground_pid ]] || kill -KILL "$foreground_pid" 2>/dev/null || true
	[[ ! -e $BASE ]] || daemons=$(daemons_of "$BASE")
	for pid in $daemons ${awake_pids[@]+"${awake_pids[@]}"}; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	# until the daemon has ended, it may still write into the directory that bats removes
	[[ ! $daemons ]] || wait_until 5 no_daemon || true
	# fail if the recorder's own filter of system calls has refused a call
	! grep -shF -d skip -D skip 'refused by our own filter' "$BASE/output" "$BATS_TEST_TMPDIR"/* >&2
}

fail() { # MESSAGE
	echo "$*" >&2
	return 1
}

# --- what this machine can do

need_root() {
	((EUID == 0)) || skip "needs root"
}

# Runs COMMAND once for all tests of a suite, and remembers its status. Each start of perf takes longer than most steps
# of a test.
asked_once() { # COMMAND...
	local answer=$BATS_RUN_TMPDIR/asked-${*//[^a-z_:]/-}
	if [[ ! -e $answer ]]; then
		if "$@" >/dev/null 2>&1; then echo yes; else echo no; fi >"$answer"
	fi
	read -r answer <"$answer"
	[[ $answer == yes ]]
}

need_perf() {
	asked_once perf version || skip "no perf for this kernel"
}

need_btf() {
	[[ -r /sys/kernel/btf/vmlinux ]] || skip "no BTF: /sys/kernel/btf/vmlinux"
}

need_tracepoints() { # [SYSTEM:NAME]
	asked_once perf_lists "${1:-sched:sched_switch}" || skip "no tracepoint ${1:-sched:sched_switch}"
}

perf_lists() { # TRACEPOINT
	perf list "$1" 2>/dev/null | grep -q 'Tracepoint event'
}

need_fifo() {
	chrt -f 1 true 2>/dev/null || skip "SCHED_FIFO is refused here"
}

# Until the end of the test, no CPU is idle. On some virtual machines, perf counts events in the context of an idle task
# (interrupts, timers, wake-ups, switches to others) and writes no record of them. The spinners have SCHED_IDLE, so they
# take no CPU time from others.
keep_cpus_awake() {
	local cpu
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		# shellcheck disable=SC2016 # of the inner shell
		chrt -i 0 taskset -c "${cpu##*/cpu}" sh -c '
			while [ -d "$1" ]; do
				i=0
				while [ $i -lt 100000 ]; do i=$((i + 1)); done
			done' - "$BATS_TEST_TMPDIR" </dev/null &>/dev/null 3>&- &
		awake_pids+=("$!")
		disown "$!" # bash must not report its end
	done
}

# --- rules and the daemon

# Writes rules with two small sessions. More sections come on standard input.
write_rules() {
	{
		cat <<-'EOF'
			[session-cpu]
			run = -e cpu-clock -F 999 -g -m 512K --overwrite --switch-output -a

			[session-sched]
			run = -e sched:sched_switch -e sched:sched_wakeup -g -m 1M --overwrite --switch-output -a

		EOF
		[[ -t 0 ]] || cat
	} >"$RULES"
}

# Prints a [session-NAME] for each line "NAME OPTIONS" on standard input. $session_options come before OPTIONS.
sessions() {
	local name line
	printf '[daemon]\nbase = %s\n' "$BASE"
	while read -r name line; do
		printf '[session-%s]\nrun = %s %s\n' "$name" "${session_options-}" "$line"
	done
}

# frbpf COMMAND ARGUMENTS...: runs a command on $BASE. A daemon must not inherit descriptor 3, which belongs to bats.
frbpf() {
	local command=$1
	shift
	timeout -k 5 "${FRBPF_LIMIT:-120}" "$FRBPF" "$command" --base "$BASE" "$@" </dev/null 3>&-
}

frbpf_load() { # [FILE]
	frbpf load "${1:-$RULES}"
}

frbpf_stop() {
	frbpf stop
	wait_until 10 no_daemon
}

# Stops the daemon before a test counts incidents. The daemon first writes the incidents of all triggers. It must still
# be running.
frbpf_finish() {
	[[ $(daemon_pid) ]] || fail "there is no daemon; output: $(cat "$BASE/output" 2>/dev/null)"
	frbpf_stop
}

# Prints the pids of daemons that have BASE (a path of this test alone) as an argument. Every test calls this at its
# end, some all the time. One process reads all command lines: a loop here would take a third of a second, since bats
# notes each command that it is about to run.
daemons_of() { # BASE
	local file
	while read -r file; do
		[[ $(readlink "${file%/*}/exe" 2>/dev/null) == "$FRBPF"* ]] && echo "${file//[!0-9]/}"
	done < <(grep -lszxF -e "$1" /proc/[0-9]*/cmdline)
	return 0
}

no_daemon() {
	[[ ! $(daemons_of "$BASE") ]]
}

# Prints the daemon's pid from the lock file.
daemon_pid() {
	local pid
	pid=$(tr -cd 0-9 <"$BASE/lock")
	[[ $pid ]] && kill -0 "$pid" && echo "$pid"
}

# --- waiting

# Polls less and less often, down to ten times a second, because each poll takes CPU time from the awaited program.
wait_until() { # SECONDS COMMAND...
	local deadline=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000)) ms=20
	shift
	until "$@"; do
		((${EPOCHREALTIME/[.,]/} < deadline)) || return 1
		pause "$ms"
		((ms = ms * 5 / 4 < 100 ? ms * 5 / 4 : 100))
	done
}

# Like sleep, but without a process: it waits for input from a pipe that nobody writes to.
pause() { # MILLISECONDS, below 1000
	local never=$BATS_RUN_TMPDIR/never seconds
	[[ -p $never ]] || mkfifo "$never"
	printf -v seconds '0.%03d' "$1"
	read -rt "$seconds" _ <>"$never" || true
}

# Waits until the functions of programs have been looked up. This happens after dump and manifest were written.
named() { # MANIFEST
	wait_until 30 names_known "$1" || fail "the names are pending: $1"
}

names_known() { # MANIFEST
	jq -e '.names != "pending"' "$1" >/dev/null
}

incidents() { # BASE: names, the oldest first
	local file
	for file in "$1"/incidents/*.json; do
		[[ -e $file ]] || continue
		file=${file##*/}
		echo "${file%.json}"
	done
	return 0
}

has_incidents() { # BASE N
	local -a files
	files=("$1"/incidents/*.json)
	[[ -e ${files[0]} ]] || files=()
	((${#files[@]} >= $2))
}

wait_for_incident() { # BASE N
	wait_until 15 has_incidents "$1" "$2" ||
		fail "$(incidents "$1" | wc -l) incidents instead of $2; output: $(cat "$1/output" 2>/dev/null)"
}

# Reads the next line of a workload's output, which must be WANTED.
expect_line() { # FD WANTED
	local line
	read -r -t 10 -u "$1" line || fail "nothing came instead of '$2'"
	same "what it says" "$line" "$2"
}

# --- results

# manifest NAME FIELD: prints FIELD (a key of M) from the manifest of an incident
manifest() {
	jq -re "${M[$2]}" "$BASE/incidents/$1.json" || fail "no ${M[$2]} in $(cat "$BASE/incidents/$1.json")"
}

status_of() { # RULE FIELD: what the daemon's status says of a rule
	frbpf status --json | jq -re --arg rule "$1" ".rules[] | select(.name == \$rule) | $2"
}

# json TEXT PATH: prints a number or string from TEXT, such as the line of a workload
json() {
	jq -re "$2" <<<"$1"
}

dumps() { # [SESSION]
	find "$BASE" -path "*/session-${1:-*}/perf.data.*" | sort
}

workload() { # NAME ARGUMENTS...
	local name=$1
	shift
	timeout -k 5 60 "$WORKLOADS/$name" "$@" 3>&-
}

# Prints events whose name matches EVENT, a regular expression. Columns, separated by tabs: comm, pid, tid, cpu, ns,
# name, text.
events() { # DUMP EVENT
	# without the kernel's symbols, perf takes a third of the time; functions in texts are then addresses
	perf script --kallsyms /dev/null -i "$1" --ns -F comm,pid,tid,cpu,time,event,trace 2>/dev/null |
		sed -nE "s/^ *(.*[^ ]) +(-?[0-9]+)\/(-?[0-9]+) +\[0*([0-9]+)\] +0*([0-9]+)\.([0-9]{9}): +($2): ?(.*)/\1\t\2\t\3\t\4\t\5\6\t\7\t\8/p"
}

# same_span NAME DUMP ENTRY EXIT CONDITION: the incident must have measured the time between perf's events ENTRY and
# EXIT that satisfy CONDITION, which is awk on the columns of events. On one tracepoint, our program and perf's run one
# after the other, in either order. Sets $span_exit, the time of perf's EXIT.
same_span() {
	local begin end entry value
	end=$(manifest "$1" time)
	value=$(manifest "$1" value)
	begin=$((end - value))
	entry=$(events "$2" "$3" | awk -F '\t' -v end="$end" "$5 {if (\$5 < end) t = \$5} END {print t}")
	span_exit=$(events "$2" "$4" | awk -F '\t' -v begin="$begin" "$5 {if (\$5 > begin) {print \$5; exit}}")
	[[ $entry && $span_exit ]] || fail "perf saw no $3 and $4 from $begin to $end"
	((entry < span_exit && (entry <= begin) == (span_exit <= end))) ||
		fail "perf saw $3 at $entry and $4 at $span_exit, the incident is from $begin to $end"
}

# between VALUE LOW HIGH WHAT: fails if VALUE is not within LOW..HIGH
between() {
	(($1 >= $2 && $1 <= $3)) || fail "$4: $1 is not within $2..$3"
}

same() { # WHAT GOT WANTED
	[[ $2 == "$3" ]] || fail "$1: got '$2', not '$3'"
}

# perf_quiet ARGUMENTS...: runs perf, which must succeed and print nothing to standard error. The output is in
# $perf_out.
perf_quiet() {
	local status=0 errors
	timeout -k 5 "${PERF_LIMIT:-60}" perf "$@" </dev/null >"$perf_out" 2>"$BATS_TEST_TMPDIR/perf.err" || status=$?
	# the summary of a conversion is not an error
	errors=$(grep -v '^\[ perf data convert: ' "$BATS_TEST_TMPDIR/perf.err" | grep .) || true
	((status == 0)) || fail "perf $*: status $status: $errors"
	[[ ! $errors ]] || fail "perf $* says: $errors"
}

# Whether process $1 has ended; a zombie that init has not reaped yet counts as ended.
is_gone() {
	local state
	state=$(awk '{print $3}' "/proc/$1/stat" 2>/dev/null) || return 0
	[[ -z $state || $state == Z || $state == X ]]
}
