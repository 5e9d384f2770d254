#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Options of perf record on a `run =` line: the contents of the dumps, as perf reads them.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	export session_options='--overwrite -m 256K'
}

teardown() {
	[[ ! ${target:-} ]] || kill "$target" || true
	common_teardown
}

# Every perf command opens the dump without a message, and the dump has samples of the event.
reads() { # SESSION EVENT
	local dump
	dump=$(dumps "$1")
	perf_quiet script -i "$dump"
	cp "$perf_out" "$BATS_TEST_TMPDIR/$1.script"
	perf_quiet report -i "$dump" --stdio
	perf_quiet evlist -v -i "$dump"
	cp "$perf_out" "$BATS_TEST_TMPDIR/$1.attrs"
	grep -q " $2:" "$BATS_TEST_TMPDIR/$1.script" || fail "no sample of $2 in session $1"
}

@test "dumps of sessions with all kinds of options open in perf" {
	sessions >"$RULES" <<-'END'
		group -e {cpu-clock,page-faults}:S -g
		dwarf -e cpu-clock --call-graph dwarf,4096
		fields -e cpu-clock -d -W -I --phys-data --data-page-size --code-page-size --all-cgroups
		regs -e cpu-clock --user-regs=ip,sp --transaction -s -R
		filter -e sched:sched_switch --filter 'prev_pid != 0' -e cpu-clock
		cpu -C 0 -e cpu-clock -F 500
		switches --switch-events -e cpu-clock
		delay -D 1 -e cpu-clock
	END
	frbpf_load
	workload mix 200000 >/dev/null
	frbpf dump >/dev/null
	export PERF_LIMIT=300 # perf unwinds stacks of every program on a busy machine
	for name in group dwarf fields regs filter cpu switches delay; do
		reads "$name" cpu-clock
	done
	cd "$BATS_TEST_TMPDIR"
	grep -q 'GROUP' group.attrs
	perf_quiet evlist -g -i "$(dumps group)"
	grep -qx '{cpu-clock,page-faults}' "$perf_out"
	grep -q 'sample_stack_user: 4096' dwarf.attrs
	if grep 'sched_switch:' filter.script | grep -q ' prev_pid=0 '; then
		fail "the filter has no effect"
	fi
	grep -q 'sched:sched_switch:' filter.script
	if grep 'cpu-clock:' cpu.script | grep -vq '\[000\]'; then
		fail "-C 0 has samples of another CPU"
	fi
}

@test "dumps by size: named, compressed, and the last ones stay" {
	sessions >"$RULES" <<-'END'
		sized -e sched:sched_switch -o mine -z --switch-output=16K --switch-max-files 2
	END
	frbpf_load
	wait_until 30 removed_some
	frbpf stop
	local files=("$BASE"/session-sized/*)
	((${#files[@]} < 6)) || fail "they stay: ${files[*]}"
	for file in "${files[@]}"; do
		[[ -f $file ]] || continue # the fifos
		[[ ${file##*/} == output ]] && continue
		[[ $file =~ /mine\.[0-9]{16}$ ]] || fail "$file"
		perf_quiet script -i "$file"
		grep -q 'sched:sched_switch:' "$perf_out"
		grep -q -- '--switch-output of session sized' "$perf_out"
		perf report -i "$file" --header-only >"$BATS_TEST_TMPDIR/header" 2>/dev/null
		grep -q 'compressed : Zstd, level = 1' "$BATS_TEST_TMPDIR/header"
		last=$file
	done
	frbpf show "$last" >"$BATS_TEST_TMPDIR/shown"
	grep -q -- '--switch-output of session sized' "$BATS_TEST_TMPDIR/shown"
}

removed_some() {
	workload mix 20000 >/dev/null
	frbpf ls --json | grep -q 'switch-max-files'
}

@test "a session of a process has only its samples, and those of processes that it starts" {
	(while :; do /bin/true; done) &
	target=$!
	sessions >"$RULES" <<-END
		all -e cpu-clock -c 100000 -p $target
		alone -e cpu-clock -c 100000 -t $target
	END
	frbpf_load
	wait_until 20 has_child_samples
	reads all cpu-clock
	if awk -v t="$target" '/cpu-clock:/ && $2 != t { exit 1 }' "$BATS_TEST_TMPDIR/alone"; then
		:
	else
		fail "-t has samples of another thread"
	fi
}

has_child_samples() {
	rm -rf "${BASE:?}"/session-*/perf.data.*
	frbpf dump >/dev/null
	perf_quiet script -F comm,tid,event -i "$(dumps all)"
	cp "$perf_out" "$BATS_TEST_TMPDIR/all"
	perf_quiet script -F comm,tid,event -i "$(dumps alone)"
	cp "$perf_out" "$BATS_TEST_TMPDIR/alone"
	grep -q '^ *true .*cpu-clock' "$BATS_TEST_TMPDIR/all" && grep -q cpu-clock "$BATS_TEST_TMPDIR/alone"
}

# Prints "COMM OBJECT" for the data addresses in FILE, each pair once.
address_objects() { # FILE
	perf_quiet script -F sw:comm,addr,sym,dso -i "$1"
	sed -nE 's/^ *([a-z]+) +[0-9a-f]+ .*\((.*)\)$/\1 \2/p' "$perf_out" | sort -u
}

# The target begins before the recorder. Programs that the target starts map files later.
@test "-d: addresses of data have the objects that perf record -d gives them" {
	local go=$BATS_TEST_TMPDIR/go plain=$BATS_TEST_TMPDIR/plain ours=$BATS_TEST_TMPDIR/ours \
		theirs=$BATS_TEST_TMPDIR/theirs
	mkfifo "$go"
	# shellcheck disable=SC2016 # of the inner shell
	bash -c 'read -r <"$0"; (x=$RANDOM; y=$x$x); /bin/true; exec sleep 1000' "$go" 3>&- &
	target=$!
	wait_until 20 grep -q bash "/proc/$target/comm"
	sessions <<<"code -e cpu-clock -p $target" >"$RULES"
	frbpf_load
	sessions <<<"data -e page-faults -c 1 -d -p $target" >"$RULES"
	frbpf_load # the running recorder gets a session with -d
	# with our clock, because software events of one moment share the time of the first one
	# shellcheck disable=SC2016
	timeout -k 5 60 perf record -q --no-bpf-event -k mono -e page-faults -c 1 -d -p "$target" -o "$plain" -- \
		sh -c 'echo >"$1"
			until grep -q sleep "/proc/$2/comm" && grep -q "State:.S" "/proc/$2/status"; do sleep 0.1; done' \
		- "$go" "$target" 3>&-
	frbpf dump >/dev/null
	address_objects "$(dumps data)" >"$ours"
	address_objects "$plain" >"$theirs"
	grep -q '^bash \[heap\]$' "$ours" || fail "no heap of the process that ran before: $(cat "$ours")"
	grep -q '^true .*/libc' "$ours" || fail "no data of a file mapped later: $(cat "$ours")"
	diff "$theirs" "$ours" || fail "perf names other objects"
}

@test "show unwinds the recorded stack of the subject" {
	sessions >"$RULES" <<-'END'
		stacks -e cpu-clock -F 999 --call-graph dwarf,8192
	END
	sed -i 's/-m 256K/-m 4M/' "$RULES"
	printf '[rule-waits]\nwhen = syscall:clock_nanosleep > 20ms\nif = comm == "mix"\n' >>"$RULES"
	frbpf_load
	workload mix --waits 1 --wait 50 >/dev/null
	wait_for_incident "$BASE" 1
	run -0 frbpf show
	[[ $output == *"  unwound    session stacks, "*" before:"*" main+0x"*" (mix)"*" (libc.so.6)"* ]] ||
		fail "$output"
}

@test "a session survives reloads while a child of its process lives; a later load reports that the process has ended" {
	local go=$BATS_TEST_TMPDIR/go child=$BATS_TEST_TMPDIR/child
	mkfifo "$go"
	# shellcheck disable=SC2016 # of the inner shell
	bash -c 'read -r <"$0"; sleep 1000 & echo $! >"$1"' "$go" "$child" 3>&- &
	target=$!
	sessions <<<"again -e cpu-clock -p $target" >"$RULES"
	frbpf_load
	echo >"$go"
	wait "$target"
	echo '# another text' >>"$RULES"
	frbpf_load
	frbpf status | grep -q again || fail "the session has ended"
	kill "$(<"$child")"
	wait_until 60 not_listed || fail "$(frbpf status)"
	run -1 frbpf load "$RULES"
	[[ $output == *"$RULES:"*": error: process $target: it has ended"* ]] || fail "$output"
}

begun_again() { # N
	(($(grep -c "session 'again' starts again" "$BASE/output") >= $1))
}

@test "respawn: a command that has ended runs again, until the session is stopped" {
	sessions >"$RULES" <<-END
		again -e cpu-clock -c 100000 -- $WORKLOADS/burn --seconds 0.02
	END
	sed -i 's/ --overwrite -m 256K//; s/ -- / --overwrite -m 256K -- /' "$RULES"
	echo 'respawn = yes' >>"$RULES"
	frbpf_load
	wait_until 60 begun_again 2 || fail "$(cat "$BASE/output")"
	(($(dumps again | wc -l) >= 2)) || fail "$(dumps)"
	# each end of the session's command makes a dump
	for file in $(dumps again | head -n 2); do
		perf script -F comm,pid,event -i "$file" 2>/dev/null | awk '$1 == "burn" {print $2; exit}'
	done >"$BATS_TEST_TMPDIR/pids"
	same "processes" "$(sort -u "$BATS_TEST_TMPDIR/pids" | wc -l)" 2
	sed -i '/respawn/s/yes/no/' "$RULES"
	frbpf_load # the reload starts the command once more
	wait_until 60 not_listed || fail "$(frbpf status)"
}

not_listed() {
	! frbpf status | grep -q again
}

as_user() { # COMMAND...
	setpriv --reuid 54321 --clear-groups "$@" </dev/null &>/dev/null 3>&- &
	target=$!
}

@test "respawn: a session of a user waits for the user's next tasks" {
	as_user sleep 1000
	sessions >"$RULES" <<-'END'
		again -e cpu-clock -c 100000 -u 54321
	END
	echo 'respawn = yes' >>"$RULES"
	wait_until 20 is_of_user "$target"
	frbpf_load
	kill "$target"
	wait_until 60 grep -q "session 'again' waits to start again: " "$BASE/output" || fail "$(cat "$BASE/output")"
	as_user sh -c 'while :; do :; done'
	wait_until 60 begun_again 1 || fail "$(cat "$BASE/output")"
	wait_until 60 dump_has_samples_of sh || fail "no samples"
	sed -i '/respawn/s/.*/respawn = maybe/' "$RULES"
	run -1 frbpf check "$RULES"
	[[ $output == *"'respawn' must be yes or no"* ]] || fail "$output"
	printf '[daemon]\nbase = %s\n[session-x]\nrun = -e cpu-clock -p 1\nrespawn = yes\n' "$BASE" >"$RULES"
	run -1 frbpf check "$RULES"
	[[ $output == *"'respawn' is for a session with a command, or with -u"* ]] || fail "$output"
}

is_of_user() {
	[[ $(stat -c %u "/proc/$1") == 54321 ]]
}

dump_has_samples_of() { # COMM
	frbpf dump --session again >/dev/null || return 1
	perf script -F comm,event -i "$(dumps again | tail -n 1)" 2>/dev/null | grep -q "^ *$1 *cpu-clock"
}

@test "an error about an option says what to write instead" {
	sessions >"$RULES" <<-'END'
		one -e cpu-clock --setup-filter pin
		two -e cpu-clock -C 4096
		three -e cpu-clock -u no-such-user
		four -e cpu-clock --filter x
	END
	run -1 frbpf check "$RULES"
	[[ $output == *"--setup-filter' is not for a session: it prepares BPF filters"* ]]
	[[ $output == *"CPU 4096 is not online"* ]]
	[[ $output == *"no user 'no-such-user'"* ]]
	[[ $output == *"a filter is for tracepoints, and 'cpu-clock' is not one"* ]]
}
