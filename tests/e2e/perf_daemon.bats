#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Follows perf-daemon(1) with `perf daemon` and with `frbpf daemon`. Output, files and exit status are compared line by
# line.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

# Removes the intended differences from both outputs:
# - perf writes "perf.data" first and renames it; its evlist has the dummy event, which our side band has
# - numbers that depend on the load: wake-ups, bytes written, samples
# - more output of frbpf daemon -v: memory, rings and windows
differences() {
	sed -E -e '/maps time out/d' -e '/^dummy:/d' -e '/ perf\.data$/d' \
		-e '/^failed to process|failed to process type/d' \
		-e 's/Woken up [0-9]+ times/Woken up N times/' -e 's/wrote [0-9.]+ MB/wrote N MB/' \
		-e 's/ \([0-9]+ samples\)//' \
		-e '/^  (config|memory|triggers|sideband|on disk|rings|holds|writes|note):? /d' -e '/^              /d'
}

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	export PERF_CONFIG_NOSYSTEM=1
	unset PERF_CONFIG
	perf daemon ping --help 2>&1 | grep -q session || skip "no perf daemon"
	pids=()
}

teardown() {
	local tool pid
	for tool in perf frbpf; do
		[[ -d $BATS_TEST_TMPDIR/$tool ]] || continue
		use "$tool"
		if [[ -e $BASE/lock ]]; then
			daemon stop &>/dev/null || true
		fi
	done
	for pid in ${pids[@]+"${pids[@]}"}; do
		wait_until 30 is_gone "$pid" || kill -KILL "$pid"
	done
	common_teardown
}

# --- the same for both tools

# use TOOL: everything that follows uses TOOL
use() {
	tool=$1
	dir=$BATS_TEST_TMPDIR/$tool
	BASE=$dir/base
	config=$dir/.perfconfig
	mkdir -p "$BASE"
	chmod 0700 "$BASE"
}

daemon() { # ARGUMENTS...
	local -a program=("$FRBPF")
	[[ $tool == frbpf ]] || program=(perf)
	(cd "$dir" && HOME=$dir timeout -k 5 60 "${program[@]}" daemon "$@" </dev/null 3>&-)
}

# Writes the configuration. Its sections come on standard input.
write_config() {
	{ printf '[daemon]\nbase=%s\n\n' "$BASE" && cat; } >"$dir/new"
	cp "$dir/new" "$config" # like perf's daemon.sh: cp closes the file after writing
}

# Replaces values that differ from run to run.
normal() {
	sed -E -e "s|$dir|DIR|g" -e 's/^\[[0-9]+:/[PID:/' -e "s/ \[[0-9]+\]'/ [PID]'/" -e 's/^[0-9]+([:,])/PID\1/' \
		-e 's/perf\.data\.[0-9]{16}/perf.data.TIME/' | differences
}

# say NAME COMMAND...: adds the output and exit status of COMMAND to the transcript
say() {
	local status=0
	echo "# $1" >>"$dir/transcript"
	"${@:2}" >"$dir/said" 2>/dev/null || status=$?
	normal <"$dir/said" >>"$dir/transcript"
	echo "status $status" >>"$dir/transcript"
}

pid_of() { # SESSION|daemon
	daemon -x: | awk -F: -v name="$1" '$2 == name {print $1}'
}

start() {
	say start daemon start "$@"
	wait_until 60 all_answer || fail "$tool: no answer: $(daemon ping 2>&1)"
	pids+=("$(pid_of daemon)")
}

all_answer() {
	local said
	said=$(daemon ping 2>/dev/null) && [[ $said && $said != *FAIL* ]]
}

answers() { # SESSION OK|FAIL
	[[ $(daemon ping --session "$1" 2>/dev/null) == "$2"* ]]
}

n_dumps() { # SESSION N
	[[ $(find "$BASE/session-$1" -name 'perf.data.2*' | wc -l) -eq $2 ]]
}

# The output of the session reports N dumps. perf writes these lines last.
dumped() { # SESSION N
	[[ $(grep -c 'perf record: Dump' "$BASE/session-$1/output") -eq $2 ]]
}

wait_dumped() { # SESSION N
	wait_until 60 dumped "$1" "$2" || fail "$tool: not $2 dumps: $(cat "$BASE/session-$1/output")"
}

stop() {
	local pid
	pid=$(pid_of daemon)
	say stop daemon stop
	wait_until 60 is_gone "$pid" || fail "$tool: $pid does not end"
}

# Prints the last N lines of a session's output, without perf's messages about a busy machine.
last_said() { # N FILE
	grep -v 'maps time out' "$2" | tail "-$1"
}

# Prints the files of the sessions with their types. perf keeps its cache of build ids there if HOME is not set.
files() {
	(cd "$BASE" && find session-* -name .debug -prune -o -printf '%y %p\n' | sort)
}

same_transcripts() {
	diff -u -a "$BATS_TEST_TMPDIR/perf/transcript" "$BATS_TEST_TMPDIR/frbpf/transcript" || fail "they differ"
}

# --- the tests

# The rings are smaller than on the manual page: 1M instead of 10M and 20M.
examples() {
	use "$1"
	write_config <<-'EOF'
		[session-cycles]
		run = -m 1M -e cycles --overwrite --switch-output -a

		[session-sched]
		run = -m 1M -e sched:* --overwrite --switch-output -a
	EOF
	start
	say listing daemon
	say "listing -v" daemon -v
	say "listing --verbose" daemon --verbose
	say "listing -x" daemon -x
	say "listing -x:" daemon -x:
	say "listing --field-separator" daemon --field-separator=:
	say "listing --base" daemon --base "$BASE"
	say "listing --config" daemon --config="$config"
	say ping daemon ping
	say "ping of one" daemon ping --session sched
	say "ping of none" daemon ping --session nobody
	say "ping, generic options" daemon ping -v -x: --config "$config" --base "$BASE"
	say "generic options, ping" daemon --config "$config" -v ping
	say "signal to one" daemon signal --session cycles
	wait_dumped cycles 1
	say "its output" last_said 2 "$BASE/session-cycles/output"
	say signal daemon signal
	wait_dumped cycles 2
	wait_dumped sched 1
	say "its output" last_said 2 "$BASE/session-cycles/output"
	say "its output" last_said 2 "$BASE/session-sched/output"
	say "signal to none" daemon signal --session nobody
	kill -USR2 "$(pid_of sched)"
	wait_dumped sched 2
	say "its output" last_said 2 "$BASE/session-sched/output"
	say "no command of it" daemon bogus
	stop
	say "its last output" last_said 3 "$BASE/session-cycles/output"
	say "its last output" last_said 3 "$BASE/session-sched/output"
	say files files
	say "listing of none" daemon
	say "ping of none" daemon ping
	say "signal of none" daemon signal
}

@test "the examples of perf-daemon(1)" {
	examples perf
	examples frbpf
	same_transcripts
	for file in "$BASE"/session-*/perf.data.*; do
		perf_quiet script -i "$file"
	done
}

# control COMMAND: sends COMMAND through the fifo, and waits until it is acknowledged
control() {
	printf '%s' "$1" >"$BASE/session-one/control"
	say "ack of $1" timeout 60 head -c 5 "$BASE/session-one/ack"
}

fifos() {
	use "$1"
	write_config <<-'EOF'
		[session-one]
		run = -e cpu-clock,task-clock -m 16 --overwrite --switch-output -a
		[session-two]
		run = -e cpu-clock -m 16 --overwrite --switch-output -a
	EOF
	start
	control evlist
	control $'evlist -F\n'
	control disable
	control $'enable\n'
	control 'disable cpu-clock'
	control 'enable cpu-clock'
	control 'enable nobody'
	control ping
	say "its output" cat "$BASE/session-one/output"
	control snapshot
	local pid
	pid=$(pid_of one)
	control stop
	wait_until 60 is_gone "$pid" || fail "$tool: the session does not end"
	say "its last output" last_said 3 "$BASE/session-one/output"
	wait_until 60 answers one FAIL || fail "$tool: it is still listed"
	say "without it" daemon
	pid=$(pid_of two)
	kill -TERM "$pid"
	wait_until 60 is_gone "$pid" || fail "$tool: SIGTERM does not end it"
	wait_until 60 answers two FAIL || fail "$tool: it is still listed"
	say "its output" cat "$BASE/session-two/output"
	say "without both" daemon
	cp "$dir/new" "$config" # writing the same configuration again brings them back
	wait_until 60 answers one OK || fail "$tool: it does not come back"
	wait_until 60 answers two OK || fail "$tool: it does not come back"
	say "with both" daemon
	stop
}

@test "control fifos, and signals to the listed processes" {
	fifos perf
	fifos frbpf
	# perf's snapshot is for AUX area tracing and writes nothing here; our snapshot is a dump
	grep -q 'dumped by hand: snapshot' "$BASE/output" || fail "$(cat "$BASE/output")"
	same_transcripts
}

# The steps of daemon.sh, which is perf's own test of its daemon.
commands() {
	local pid
	use "$1"
	write_config <<-'EOF'
		[session-size]
		run = -e cpu-clock -m 1 sleep 1000

		[session-time]
		run = -e task-clock -m 1 sleep 1000

		[session-signal]
		run = -e cpu-clock --switch-output -m 1 -- sleep 1000
	EOF
	start --config "$config"
	say listing daemon -x:
	say "a second one" first_word_of_second_start
	daemon signal --session signal >/dev/null
	wait_dumped signal 1
	pid=$(pid_of time)
	sed -i 's/task-clock/cpu-clock/; /session-signal/,$d' "$dir/new"
	cp "$dir/new" "$config"
	wait_until 60 is_gone "$pid" || fail "$tool: the changed session does not end"
	wait_until 60 answers time OK || fail "$tool: the changed session does not come back"
	wait_until 60 answers signal FAIL || fail "$tool: the removed session is still there"
	say "dumps, the last one at the end" n_dumps signal 2
	say changed daemon -x:
	cp "$config" "$dir/full"
	write_config </dev/null
	wait_until 60 answers time FAIL || fail "$tool: an empty configuration changes nothing"
	wait_until 60 answers size FAIL || fail "$tool: an empty configuration changes nothing"
	say empty daemon -x:
	cp "$dir/full" "$config"
	wait_until 60 answers size OK || fail "$tool: the sessions do not come back"
	wait_until 60 answers time OK || fail "$tool: the sessions do not come back"
	local size
	size=$(pid_of size) pid=$(pid_of time)
	say "ping of one" daemon ping --session size
	say "ping of the other" daemon ping --session time
	say "once more" daemon -x:
	[[ -d /proc/$size && -d /proc/$pid ]] || fail "$tool: what is listed is no process"
	stop
	if ! is_gone "$size" || ! is_gone "$pid"; then
		fail "$tool: a session outlives the daemon"
	fi
}

first_word_of_second_start() {
	local said
	said=$(daemon start 2>&1) || true
	echo "${said%% *}"
}

# We choose the clock and the wake-ups of rings, so evlist is compared with what perf reads in a dump of the session.
@test "evlist -v prints what perf evlist -v prints for a dump" {
	use frbpf
	write_config <<-'EOF'
		[session-one]
		run = -e cpu-clock -e sched:sched_switch -e faults -F 99 -g -m 16 --overwrite --switch-output -a
	EOF
	start
	control 'evlist -v'
	daemon signal >/dev/null
	wait_dumped one 1
	perf evlist -v -i "$(dumps one)" | grep -vE '^(frbpf:|dummy:|#|$)' >"$dir/of_perf"
	grep -v '^\[' "$BASE/session-one/output" >"$dir/of_us"
	diff -u "$dir/of_perf" "$dir/of_us"
}

@test "the steps of perf's own test of its daemon" {
	commands perf
	commands frbpf
	same_transcripts
}

@test "a session ends with its command, and has its output" {
	use frbpf
	mkfifo "$dir/go"
	write_config <<-'EOF'
		[session-said]
		run = -e cpu-clock -c 100000 -m 16 -- sh -c "pwd; read x <../../go; while [ $((i += 1)) -lt 100000 ]; do :; done"
	EOF
	start
	echo >"$dir/go"
	wait_until 60 answers said FAIL || fail "it goes on"
	wait_until 60 grep -q 'Captured and wrote' "$BASE/session-said/output" ||
		fail "$(cat "$BASE/session-said/output")"
	same "the directory" "$(head -1 "$BASE/session-said/output")" "$BASE/session-said"
	# the session recorded no other process
	same "who" "$(perf script -F comm,event -i "$BASE/session-said/perf.data" | sort -u | tr -d ' \n')" shcpu-clock:
	grep -q "session 'said' ends: its command exited, status=0" "$BASE/output"
}

n_files() { # SESSION: as daemon.sh counts them
	find "$BASE/session-$1" -name 'perf.data*' | wc -l
}

# daemon.sh sends two signals in a row. perf itself sometimes loses the second signal, as it is not yet ready for it.
@test "two signals in a row and a stop leave three files" {
	use frbpf
	write_config <<-'EOF'
		[session-test]
		run = -e cpu-clock --switch-output -m 1 sleep 1000
	EOF
	start --config "$config"
	daemon signal --config "$config" --session test >/dev/null
	daemon signal --config "$config" >/dev/null
	stop
	same "files" "$(n_files test)" 3
}

few_files() {
	local n
	use "$1"
	write_config <<-'EOF'
		[session-file]
		run = -e cpu-clock -m 16 --switch-output --switch-max-files 2 -a

		[session-ring]
		run = -e cpu-clock -m 16 --overwrite --switch-output --switch-max-files 2 -a
	EOF
	start
	for n in 1 2 3; do
		daemon signal >/dev/null
		wait_dumped file "$n"
		wait_dumped ring "$n"
	done
	stop
	same "$tool, files" "$(n_files file) $(n_files ring)" '2 2'
}

@test "--switch-max-files: the last dumps stay" {
	few_files perf
	few_files frbpf
}

foreground() { # TOOL
	local option waiter status
	use "$1"
	write_config <<-'EOF'
		[session-one]
		run = -e cpu-clock -m 16 --overwrite --switch-output -a
	EOF
	for option in -f --foreground; do
		daemon start "$option" &>/dev/null 3>&- &
		waiter=$!
		wait_until 60 all_answer || fail "$tool: no answer"
		say "listing with $option" daemon
		! is_gone "$waiter" || fail "$tool: $option does not stay in front"
		stop
		status=0
		wait "$waiter" || status=$?
		echo "status of $option: $status" >>"$dir/transcript"
	done
}

@test "start -f stays in the foreground until it is stopped" {
	foreground perf
	foreground frbpf
	same_transcripts
}

# Starts a process that waits for one fifo. It ends and leaves a child that waits for the other fifo.
target() {
	mkfifo "$dir/parent" "$dir/child"
	sh -c 'read -r x <"$2"; (read -r x <"$1") & ' sh "$dir/child" "$dir/parent" 3>&- &
	pid=$!
}

ends_with_target() {
	use "$1"
	target
	write_config <<-EOF
		[session-of]
		run = -e cpu-clock -m 16 --overwrite --switch-output -p $pid

		[session-plain]
		run = -e cpu-clock -m 16 -p $pid

		[session-all]
		run = -e cpu-clock -m 16 --overwrite --switch-output -a
	EOF
	start
	echo >"$dir/parent"
	wait "$pid" # the child that it has started is recorded, too
	say "with all" daemon -x:
	same "$tool, of a child" "$(daemon ping --session of)" "OK   of"
	echo >"$dir/child"
	wait_until 60 answers of FAIL || fail "$tool: the session outlives its target"
	wait_until 60 answers plain FAIL || fail "$tool: the plain session outlives its target"
	say "without them" daemon -x:
	wait_until 60 n_dumps of 1 || fail "$tool: no last dump"
	say "its output" cat "$BASE/session-plain/output"
	stop
	say files files
	perf_quiet script -i "$BASE/session-plain/perf.data"
}

@test "a session ends when the last of its tasks has ended" {
	ends_with_target perf
	ends_with_target frbpf
	sed -i -E "s/-p [0-9]+/-p PID/" "$BATS_TEST_TMPDIR"/{perf,frbpf}/transcript
	same_transcripts
}

@test "--config never leads to another daemon: not without a base, with a relative base, or if the file is missing" {
	local file command status
	use frbpf
	write_config <<-'EOF'
		[session-one]
		run = -e cpu-clock -m 16 --overwrite --switch-output -a
	EOF
	start
	printf '[session-a]\nrun = -e cpu-clock -a\n' >"$dir/none"
	printf '[daemon]\nbase = base\n' | cat - "$dir/none" >"$dir/relative"
	daemon >"$dir/before"
	for file in none relative missing; do
		for command in status ping signal dump ls show stop load start 'daemon stop' 'mute rule' \
			'trigger it'; do
			status=1
			[[ $command != 'daemon '* ]] || status=255 # as perf daemon does
			# shellcheck disable=SC2086 # of words
			run "-$status" env -C "$dir" HOME="$dir" "$FRBPF" $command --config "$file" 3>&-
			[[ $output == *"base not defined"* || $output == *"must be an absolute path"* ||
				$output == *"cannot read it"* ]] ||
				fail "$command --config $file: $output"
		done
	done
	daemon >"$dir/after"
	cmp "$dir/before" "$dir/after"
	same "dumps" "$(dumps)" ""
}
