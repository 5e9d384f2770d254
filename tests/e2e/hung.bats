#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Files that cannot be read. A file system that hangs delays only the look-up of names.
# with: others
# shellcheck disable=SC2030,SC2031 # every test is a shell of its own
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	hung=
}

teardown() {
	if [[ $hung ]]; then
		exec 7>&-
		wait "$hung" || true
	fi
	common_teardown
}

# Runs a program from its own file system. Lines to descriptor 7 tell the program what to do.
start_hung() {
	mkfifo "$BATS_TEST_TMPDIR/say"
	"$WORKLOADS/hung_files" <"$BATS_TEST_TMPDIR/say" >"$BATS_TEST_TMPDIR/hung" 2>&1 3>&- &
	hung=$!
	exec 7>"$BATS_TEST_TMPDIR/say"
	wait_until 20 grep -q . "$BATS_TEST_TMPDIR/hung"
	! grep -q 'no FUSE' "$BATS_TEST_TMPDIR/hung" || skip "no FUSE here"
}

has_incidents() { # NUMBER
	(($(incidents "$BASE" | wc -l) >= $1))
}

user_modules() { # INCIDENT
	jq -r '.triggers[0].stacks.user[] | "\(.module) \(.symbol)"' "$BASE/incidents/$1.json"
}

# Loads a rule on a program whose file can be made to hang. The file is $path.
load_beside_hung() {
	write_rules <<-'EOF'
		[daemon]
		merge = 0

		[rule-close]
		when     = syscall:close fails (EBADF)
		if       = comm == "frbpf-hung"
		cooldown = 0s
	EOF
	start_hung
	path=$(jq -r .path "$BATS_TEST_TMPDIR/hung")
	frbpf_load
}

@test "a program on a file system that hangs: its incidents are complete, and stop does not wait for it" {
	local path name
	load_beside_hung
	# while the file system answers, all names are known
	echo close >&7
	wait_until 30 has_incidents 1
	name=$(incidents "$BASE" | tail -n 1)
	named "$BASE/incidents/$name.json"
	user_modules "$name" | grep -qx "$path hung_outer" || fail "$(user_modules "$name")"
	same "names" "$(jq -r .names "$BASE/incidents/$name.json")" complete
	# while the file system hangs, the file is known but its functions are not
	echo hang >&7
	echo close >&7
	wait_until 30 has_incidents 2
	name=$(incidents "$BASE" | tail -n 1)
	user_modules "$name" | grep -qx "$path null" || fail "$(user_modules "$name")"
	[[ -s $BASE/session-sched/perf.data.$name ]] || fail "no dump"
	frbpf ls | grep -q "$name"
	echo close >&7
	wait_until 30 has_incidents 3
	wait_until 30 stuck_is_told
	FRBPF_LIMIT=60 frbpf_stop
	same "names" "$(jq -r .names "$BASE/incidents/$name.json")" partial
}

@test "a program on a file system that begins to hang, on a kernel that reports no build ids" {
	local path name
	write_rules <<-'EOF'
		[rule-close]
		when     = syscall:close fails (EBADF)
		if       = comm == "frbpf-hung"
		cooldown = 0s
	EOF
	start_hung
	path=$(jq -r .path "$BATS_TEST_TMPDIR/hung")
	"$WORKLOADS/no_procmap" "$FRBPF" load --base "$BASE" "$RULES" </dev/null 3>&-
	echo hang >&7
	echo close >&7
	wait_until 60 has_incidents 1 || fail "$(cat "$BASE/output")"
	name=$(incidents "$BASE")
	user_modules "$name" | grep -qx "$path null" || fail "$(user_modules "$name")"
	[[ -s $BASE/session-sched/perf.data.$name ]] || fail "no dump"
	wait_until 30 stuck_is_told
	# other files can still be written
	same "files" "$(frbpf dump | xargs stat -c %s | wc -l)" 2
	FRBPF_LIMIT=60 frbpf_stop
}

stuck_is_told() {
	frbpf status --json | jq -e '.files_of_others.stuck > 0' >/dev/null &&
		[[ $(frbpf status -v) == *"does not answer"* ]]
}

told_of_hung() {
	grep -q 'its file system does not answer' "$BASE/output"
}

@test "a rule on a file that hangs is an error of load, and the daemon continues" {
	local path name
	load_beside_hung
	echo hang >&7
	printf '[rule-call]\nwhen = uprobe:%s:hung_outer\n' "$path" >>"$RULES"
	# neither `load` nor the daemon, which reads the rules itself, waits for the file
	run -1 frbpf check "$RULES"
	[[ $output == *"$path: its file system does not answer"* ]] || fail "$output"
	run -1 frbpf load "$RULES"
	[[ $output == *"$path: its file system does not answer"* ]] || fail "$output"
	kill -HUP "$(daemon_pid)"
	wait_until 30 told_of_hung
	echo close >&7
	wait_until 30 has_incidents 1
	FRBPF_LIMIT=60 frbpf_stop
}
