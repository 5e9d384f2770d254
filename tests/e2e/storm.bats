#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Storms: of matches, rules, triggers, reloads, kills, errors of the kernel, processes. Each test has a short form, and
# a long one with FRBPF_LONG=yes: scripts/check.sh storm.

# shellcheck disable=SC2154 # set by bats and the helpers
load helpers

PERFDATA_CHECK=${FRBPF_HELPERS:-$WORKLOADS/../helpers}/perfdata_check

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	victim=frbpf-$$ # a thread name of our own, because rules look at the whole machine
	background=()
	cgroup=
}

teardown() {
	local pid
	for pid in ${background[@]+"${background[@]}"}; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	[[ ! $cgroup ]] || find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
	common_teardown
}

# short_or_long SHORT LONG: prints the amount for this form
short_or_long() {
	if [[ ${FRBPF_LONG-} ]]; then echo "$2"; else echo "$1"; fi
}

note() {
	echo "# $*" >&3
}

# Every match and every trigger of a rule has exactly one outcome: the counters add up.
adds_up() { # RULE
	[[ $(status_of "$1" '.matched - .fired - (.suppressed | .cooldown + .self + .ring_full + .count +
		.rule_max_dumps + .max_dumps + .keys_full) | tostring') == 0 &&
		$(status_of "$1" '.fired - (.incidents + .joined + .merged +
			(.suppressed | .busy + .capped + .muted)) | tostring') == 0 ]]
}

# Makes calls that match, one every MS milliseconds, until end_calls. "$BATS_TEST_TMPDIR/calls" has a line for each.
start_calls() { # MS
	(
		while [[ ! -e $BATS_TEST_TMPDIR/end ]]; do
			"$WORKLOADS/slow_syscall" --ms "$1" --times 50 --comm "$victim"
		done
	) >"$BATS_TEST_TMPDIR/calls" 3>&- &
	calls=$!
}

end_calls() {
	touch "$BATS_TEST_TMPDIR/end"
	wait "$calls"
}

# Every incident is complete or absent: each manifest has its files, each file is valid and has its manifest, and
# nothing is unfinished.
all_whole() {
	local name file
	for name in $(incidents "$BASE"); do
		jq -re '.sessions[].file // empty' "$BASE/incidents/$name.json" >"$BATS_TEST_TMPDIR/files" ||
			jq -e '.sessions' "$BASE/incidents/$name.json" >/dev/null || fail "$name: no manifest"
		xargs -r stat -c %s <"$BATS_TEST_TMPDIR/files" >/dev/null || fail "$name: a file is missing"
	done
	for file in $(dumps); do
		[[ -e $BASE/incidents/${file##*perf.data.}.json ]] || fail "$file: no manifest"
		"$PERFDATA_CHECK" "$file" >/dev/null || fail "perfdata_check refuses $file"
	done
	[[ ! $(find "$BASE" -name '*.tmp' -o -name '.draft-*' -o -name '.gone-*') ]] || fail "$(find "$BASE")"
}

@test "fifty rules on a call: each counts every call of a storm, and fires once" {
	{
		for i in {1..50}; do
			printf '[rule-r%d]\nwhen = syscall:close fails (EBADF)\nif = comm == close_storm && ppid != %d\n' \
				"$i" "$i"
			printf 'dump = none\ncooldown = 1h\n'
		done
	} | write_rules
	frbpf_load
	mkfifo "$BATS_TEST_TMPDIR/hold"
	workload close_storm "$(nproc)" <"$BATS_TEST_TMPDIR/hold" >"$BATS_TEST_TMPDIR/made" &
	storm=$!
	exec 5>"$BATS_TEST_TMPDIR/hold"
	sleep "$(short_or_long 2 50)"
	exec 5>&-
	wait "$storm"
	made=$(jq .calls "$BATS_TEST_TMPDIR/made")
	note "$(jq -r '"\(.calls) calls, \(50 * .calls / .ns * 1e9 | floor) matches a second"' \
		"$BATS_TEST_TMPDIR/made")"
	same "rules with all of the matches" "$(frbpf status --json |
		jq "[.rules[] | select(.matched == $made and .fired == 1 and .suppressed.cooldown == $made - 1)] |
			length")" 50
}

@test "fifty rules fire on the same call: one incident lists them all" {
	{
		printf '[daemon]\nmax-dumps = 200 in 1h\n'
		for i in {1..50}; do
			printf '[rule-r%d]\nwhen = syscall:clock_nanosleep > %dms\nif = comm == "%s"\ncooldown = 1h\n' \
				"$i" $((i + 10)) "$victim"
		done
	} | write_rules
	frbpf_load
	workload slow_syscall --ms 80 --comm "$victim" >/dev/null
	wait_for_incident "$BASE" 1
	frbpf_stop
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
	same "rules" "$(jq '[.triggers[], .merged[]?] | map(.rule) | unique | length' \
		"$BASE/incidents/$(incidents "$BASE").json")" 50
	all_whole
}

@test "a trigger every 20 ms: each is in a manifest, and all are complete" {
	write_rules <<-EOF
		[daemon]
		merge = 0
		max-dumps = 256 in 1s
		max-incidents = 5000
		[session-small]
		run = -e cpu-clock -F 99 -m 16K --overwrite --switch-output -a
		[rule-call]
		when = syscall:clock_nanosleep > 10ms
		if = comm == "$victim"
		dump = small
		cooldown = 0
		max-dumps = 256 in 1s
	EOF
	frbpf_load
	start_calls 20
	enough() { (($(wc -l <"$BATS_TEST_TMPDIR/calls") >= $1)); }
	wait_until 240 enough "$(short_or_long 150 3000)" || fail "$(wc -l <"$BATS_TEST_TMPDIR/calls") calls"
	end_calls
	same "matched" "$(status_of call .matched)" "$(wc -l <"$BATS_TEST_TMPDIR/calls")"
	wait_until 60 adds_up call || fail "$(status_of call .)"
	note "$(status_of call '"\(.fired) fired, \(.incidents) incidents, \(.joined) joined one that waited for its session"')"
	fired=$(status_of call '.fired - .suppressed.busy - .suppressed.capped')
	begun=$(status_of call .incidents)
	frbpf_stop
	same "incidents" "$(incidents "$BASE" | wc -l)" "$begun"
	same "triggers in manifests" "$(jq '(.triggers | length) + (.merged // [] | length)' "$BASE"/incidents/*.json |
		awk '{n += $1} END {print n}')" "$fired"
	all_whole
}

# The heap in use, without the log of names, which has its own limit and grows with the load of the machine. Memory that
# malloc() has reserved is not counted, as it depends on which threads ran at once.
held_bytes() {
	frbpf status --json | jq '.memory | .heap_in_use_bytes - .sideband_bytes'
}

holds_at_most() { # BYTES
	(($(held_bytes) <= $1))
}

@test "reloads during triggers: the memory of the recorder does not grow" {
	write_rules <<-EOF
		[daemon]
		merge = 100ms
		max-dumps = 256 in 1s
		max-incidents = 20
		[rule-call]
		when = syscall:clock_nanosleep > 10ms
		if = comm == "$victim"
		cooldown = 100ms
		max-dumps = 256 in 1s
	EOF
	{
		sed 's/> 10ms/> 11ms/' "$RULES"
		printf '[rule-other]\nwhen = runqlat > 10s\n'
	} >"$RULES.2"
	frbpf_load
	start_calls 20
	timeout 240 "$WORKLOADS/reload_storm" "$BASE/control" "$(short_or_long 10 60)" "$RULES.2" "$RULES"
	before=$(held_bytes)
	timeout 240 "$WORKLOADS/reload_storm" "$BASE/control" "$(short_or_long 20 200)" "$RULES.2" "$RULES"
	end_calls
	# a dump that is still being written needs more memory
	wait_until 60 holds_at_most $((before + before / 8 + (2 << 20))) || fail "$before bytes, then $(held_bytes)"
}

kill_daemons() {
	local pid
	for pid in $(daemons_of "$BASE"); do
		kill -KILL "$pid" 2>/dev/null || true
	done
}

# Kills the daemon at a random moment within half a second, whatever it is doing.
kill_soon() {
	sleep "0.$(printf '%03d' $((RANDOM % 500)))"
	kill_daemons
}

# On a slow machine, a daemon may start only after kill_soon: kill it, too.
all_killed() {
	no_daemon || { kill_daemons; false; }
}

@test "killed at any moment of dumps, reloads, starts and stops: existing files are complete" {
	write_rules <<-EOF
		[daemon]
		merge = 0
		max-dumps = 256 in 1s
		max-incidents = 30
		[rule-call]
		when = syscall:clock_nanosleep > 10ms
		if = comm == "$victim"
		cooldown = 0
		max-dumps = 256 in 1s
	EOF
	start_calls 20
	seed=$RANDOM
	RANDOM=$seed
	note "seed $seed"
	for ((i = 0; i < $(short_or_long 6 330); i++)); do
		frbpf_load >/dev/null 2>"$BATS_TEST_TMPDIR/said" &
		doing=$!
		if ((i % 4)); then
			wait "$doing" || fail "load: $(cat "$BATS_TEST_TMPDIR/said")"
			case $((i % 4)) in
			1) frbpf_load >/dev/null 2>&1 & ;;
			2) frbpf dump >/dev/null 2>&1 & ;;
			3) frbpf stop >/dev/null 2>&1 & ;;
			esac
			doing=$!
		fi
		kill_soon
		wait "$doing" || true
		wait_until 20 all_killed || fail "$(daemons_of "$BASE")"
	done
	end_calls
	frbpf_load
	frbpf_stop
	between "$(incidents "$BASE" | wc -l)" 1 30 "incidents"
	all_whole
}

# SYSCALLS|ERRORS: the calls that may fail while dumps are written and rules are loaded. write() and read() are not
# among them: calls on eventfds would fail, too, which cannot happen in reality.
errors_to_inject='pwrite64|EIO ENOSPC EROFS
fsync,fdatasync|EIO ENOSPC
openat|EIO EMFILE ENOMEM ENOSPC EROFS EPERM
renameat,renameat2|EIO ENOSPC EROFS
ftruncate,fallocate|EIO ENOSPC
unlinkat|EIO EROFS
mkdirat|ENOSPC EROFS
pread64|EIO ENOMEM
mmap|ENOMEM EPERM
perf_event_open|EMFILE ENOMEM EPERM
bpf|ENOMEM EPERM
epoll_ctl|ENOMEM ENOSPC
clone,clone3|ENOMEM EAGAIN
newfstatat,fstat|EIO ENOMEM
getdents64|EIO ENOMEM
fcntl|EMFILE
socket,socketpair|EMFILE ENOMEM'

# From now until end_errors, SYSCALLS of the daemon ($pid) fail with ERROR. WHEN says which calls fail; each thread
# counts its own.
begin_errors() { # SYSCALLS ERROR WHEN
	strace -f -qq -p "$pid" -o "$BATS_TEST_TMPDIR/traced" -e "trace=?${1//,/,?}" \
		-e "inject=?${1//,/,?}:error=$2:when=$3" \
		</dev/null >/dev/null 2>"$BATS_TEST_TMPDIR/strace" 3>&- &
	tracer=$!
	wait_until 20 is_traced || fail "strace: $(cat "$BATS_TEST_TMPDIR/strace")"
}

is_traced() {
	! grep -q '^TracerPid:[[:space:]]*0$' /proc/"$pid"/task/*/status
}

end_errors() {
	kill -INT "$tracer" 2>/dev/null || true
	wait "$tracer" 2>/dev/null || true
}

# Runs COMMAND while these calls fail. COMMAND must succeed or print an error.
under_errors() { # SYSCALLS ERROR WHEN COMMAND...
	local status=0 out
	begin_errors "$1" "$2" "$3"
	out=$(FRBPF_LIMIT=60 frbpf "${@:4}" 2>&1) || status=$?
	end_errors
	((status == 0 || status == 1)) || fail "$1 $2 $3: $4: status $status: $out"
	((status == 0)) || [[ $out == *frbpf* || $out == *error* ]] || fail "$1 $2 $3: $4: no words: '$out'"
	[[ $(daemon_pid) == "$pid" ]] || fail "$1 $2 $3: $4: the daemon is gone: $(tail -n 5 "$BASE/output")"
	injected=$((injected + $(grep -c INJECTED "$BATS_TEST_TMPDIR/traced" || true)))
}

need_strace() {
	command -v strace >/dev/null || skip "strace is not installed"
	strace -qq -o /dev/null true 2>/dev/null || skip "strace is refused here"
}

@test "a manifest that cannot be written is tried again, until the incident is there" {
	need_strace
	# without our own filter: if strace makes a call fail, the filter sees an invalid number
	write_rules <<-'EOF'
		[daemon]
		seccomp = no
	EOF
	frbpf_load
	pid=$(daemon_pid)
	begin_errors rename,renameat EIO 1+
	path=$(frbpf dump --session cpu --reason kept)
	name=${path##*perf.data.}
	wait_until 20 grep -q "incidents/$name.json.*Input/output error" "$BASE/output" || fail "$(cat "$BASE/output")"
	[[ ! -e $BASE/incidents/$name.json ]]
	end_errors
	wait_until 60 has_incidents "$BASE" 1 || fail "$(cat "$BASE/output")"
	same "reason" "$(manifest "$name" reason)" kept
	same "file" "$(manifest "$name" files)" "$path"
	frbpf_stop
	all_whole
}

@test "errors of the kernel while dumps are written and rules are loaded: messages, no crash, and then it works" {
	need_strace
	write_rules <<-EOF
		[daemon]
		seccomp = no
		max-incidents = 10
		[rule-call]
		when = syscall:clock_nanosleep > 10ms
		if = comm == "$victim"
	EOF
	{
		sed 's/-F 999/-F 998/; s/> 10ms/> 11ms/' "$RULES"
		printf '[rule-other]\nwhen = runqlat > 10s\n'
	} >"$RULES.2"
	frbpf_load
	pid=$(daemon_pid)
	injected=0 turn=0
	while IFS='|' read -r calls errors; do
		for error in $errors; do
			((++turn))
			for when in $(short_or_long "$((1 + turn % 2))+$((1 + turn % 3))" "1 2 3 5 8 1+ 2+ 1+2 1+3"); do
				# the short form runs only one of the two commands for each error
				[[ ! ${FRBPF_LONG-} ]] && ((turn % 2)) || under_errors "$calls" "$error" "$when" dump
				[[ ! ${FRBPF_LONG-} ]] && ((turn % 2 == 0)) ||
					under_errors "$calls" "$error" "$when" load "$RULES.2"
			done
			frbpf_load >"$BATS_TEST_TMPDIR/said" 2>&1 ||
				fail "after $calls $error: load: $(cat "$BATS_TEST_TMPDIR/said")"
			frbpf dump >"$BATS_TEST_TMPDIR/paths" || fail "after $calls $error: dump"
			same "files after $calls $error" "$(xargs stat -c %s <"$BATS_TEST_TMPDIR/paths" | wc -l)" 2
		done
	done <<<"$errors_to_inject"
	note "$injected errors"
	frbpf_stop
	frbpf_load >/dev/null 2>&1 # the start finishes what the daemon had given up
	frbpf_stop
	all_whole
}

@test "many processes, maps and cgroups: a task among them has its name, maps and cgroup" {
	need_perf
	local mount=/sys/fs/cgroup groups
	[[ -e $mount/cgroup.procs ]] || mount=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
	cgroup=$mount/frbpf-storm-$$
	mkdir "$cgroup" 2>/dev/null || { cgroup=; skip "cgroup2 cannot be written"; }
	groups=$(short_or_long 50 1000)
	for ((i = 0; i < groups; i++)); do mkdir "$cgroup/g$i"; done
	mkfifo "$BATS_TEST_TMPDIR/hold"
	"$WORKLOADS/crowd" "$(short_or_long 300 10000)" <"$BATS_TEST_TMPDIR/hold" >"$BATS_TEST_TMPDIR/crowd" 3>&- &
	background+=("$!")
	for i in 1 2; do
		"$WORKLOADS/many_maps" "$(short_or_long 2000 32000)" <"$BATS_TEST_TMPDIR/hold" \
			>"$BATS_TEST_TMPDIR/maps.$i" 3>&- &
		background+=("$!")
	done
	exec 5>"$BATS_TEST_TMPDIR/hold"
	for name in crowd maps.1 maps.2; do
		wait_until 60 grep -q . "$BATS_TEST_TMPDIR/$name" || fail "$name has not begun"
	done
	write_rules <<-EOF
		[rule-call]
		when = syscall:clock_nanosleep > 10ms
		if = cgroup ~ "/${cgroup##*/}/g*"
		cooldown = 1h per cgroup
	EOF
	frbpf_load
	at=$cgroup/g$((groups - 1))
	(
		echo "$BASHPID" >"$at/cgroup.procs"
		exec "$WORKLOADS/slow_syscall" --ms 20 --times 20 --comm "$victim"
	) >"$BATS_TEST_TMPDIR/call" 3>&-
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE")
	same "cgroup" "$(jq -r .triggers[0].state.cgroup "$BASE/incidents/$name.json")" \
		"/${cgroup##*/}/g$((groups - 1))"
	same "comm" "$(manifest "$name" comm)" "$victim"
	perf_quiet script -i "$BASE/session-sched/perf.data.$name" -F comm,tid,ip,sym,dso
	grep -q "^ *$victim " "$perf_out" || fail "no sample of $victim"
	exec 5>&-
	frbpf_stop
	all_whole
}
