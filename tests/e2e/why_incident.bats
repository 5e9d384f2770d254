#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf why on incidents: what the recorder has stored, and what is known if parts of it or the dumps are missing.

# shellcheck disable=SC2154,SC2030,SC2031 # set by bats and the helpers; every test is a subshell
# with: others
load helpers
load why_helpers

# A rule without a session.
load_lock_rule() {
	cat >"$RULES" <<-'EOF2'
		[rule-lock]
		when     = syscall:futex > 40ms
		if       = comm == "cause"
		cooldown = 1ms
	EOF2
	frbpf_load >/dev/null
}

# Records an incident of `cause NAME`. Sets $truth to the output of the cause.
record_incident() { # NAME
	load_lock_rule
	truth=$(chrt -r 1 "$WORKLOADS/cause" "$1" 3>&-)
	wait_for_incident "$BASE" "${2-1}"
	frbpf_stop >/dev/null
}

@test "why explains an incident, here and in a copy of its files" {
	need_recording
	need_btf
	record_incident lock-sleep
	run -0 frbpf why
	[[ ${lines[0]} == *"waited for a futex"*"until woken by its owner cause/$(jq '.culprits[0]' <<<"$truth"), which meanwhile waited for its own timer"* ]] ||
		fail "$truth: $output"
	verdict=${lines[0]}
	name=$(incidents "$BASE" | head -n 1)
	for what in "$name" lock:last "$BASE/incidents/$name.json" "$BASE" "$BASE/session-evidence/perf.data.$name"; do
		run -0 frbpf why "$what"
		same "why $what" "${lines[0]}" "$verdict"
	done
	# show and ls print the same verdict
	run -0 frbpf show
	same "show's second line" "${lines[1]}" "why: $verdict"
	frbpf show --json | jq -e --arg v "$verdict" '.why.verdict == $v and .why.cause == "own-timer"'
	frbpf show | grep -qF "next: $(frbpf show --json | jq -er .why.next)" || fail "$(frbpf show)"
	run -0 frbpf ls --causes
	[[ ${#lines[@]} == 1 && ${lines[0]} == *"1  lock: $verdict, last $name" ]] || fail "$output"
	frbpf ls --causes --json | jq -e --arg n "$name" '.[0].incidents == [$n] and .[0].rule == "lock"'
	# a dump by hand has no cause, so why explains the incident before it
	frbpf_load >/dev/null && frbpf dump >/dev/null && frbpf_stop
	run -0 --separate-stderr frbpf why
	[[ ${lines[0]} == "$verdict" && $stderr == *"requested by hand"*"$name" ]] || fail "$output$stderr"
	run -0 frbpf ls --causes
	[[ ${#lines[@]} == 1 && ${lines[0]} == *"1  lock: "* ]] || fail "$output"
	# the error names a path that does not exist
	run -1 --separate-stderr frbpf why gone/perf.data
	[[ $stderr == *"gone/perf.data: no such file or directory; no incident "* ]] || fail "$stderr"
	# the base that the manifest names does not exist here
	cp -r "$BASE" copy && mv "$BASE" gone && chmod -R a+rX . && chmod 0755 .
	run -0 "$FRBPF" why "copy/incidents/$name.json"
	same "why of the copy" "${lines[0]}" "$verdict"
	# Without root, the waker is known. Kernel symbols may be missing in the manifest, as the recorder has ended.
	run -0 setpriv --reuid 65534 --clear-groups "$FRBPF" why "copy/incidents/$name.json"
	[[ ${lines[0]} == *"until woken by its owner cause/$(jq '.culprits[0]' <<<"$truth")"* ]] || fail "$output"
	# for a dump alone, its marker is enough
	cp "copy/session-evidence/perf.data.$name" alone.data
	run -0 "$FRBPF" why alone.data
	[[ ${lines[0]} == *"until woken by its owner cause/$(jq '.culprits[0]' <<<"$truth")"* ]] || fail "$output"
	mv gone "$BASE"
}

@test "a program without frame pointers is named by the function that it waits in" {
	need_recording
	need_btf
	cat >"$RULES" <<-'EOF2'
		[rule-sleep]
		when = syscall:clock_nanosleep > 40ms
		if   = process == "frameless"
	EOF2
	frbpf_load >/dev/null
	"$WORKLOADS/frameless" 3>&-
	wait_for_incident "$BASE" 1
	frbpf_stop >/dev/null
	run -0 frbpf why
	[[ ${lines[0]} == *"waited for its own timer in frameless_hold ("* ]] || fail "$output"
	# the dump has stack copies of no other task
	perf script -i "$BASE"/session-evidence/perf.data.* -D 2>/dev/null |
		awk '/PERF_RECORD_SAMPLE/ { copied = 0 } /^\.\.\. ustack/ { copied = 1 }
			copied && /^ \.\.\. thread:/ { print $3 }' |
		sort -u >copied
	same "who has copies" "$(sed 's/:.*//' copied)" frameless
}

@test "a lock that is still held has its owner in the manifest, and why follows it" {
	need_recording
	need_btf
	cat >"$RULES" <<-'EOF2'
		[rule-lock]
		when     = pending(syscall:futex,flock) > 300ms
		if       = comm == "cause" || comm == "flock"
		cooldown = 10s per thread
	EOF2
	frbpf_load >/dev/null
	timeout 20 "$WORKLOADS/cause" --ms 5000 lock-sleep >truth 3>&- &
	suspect=$!
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	wait_until 20 jq -e '.triggers[0].state.waits_for' "$BASE/incidents/$name.json" >/dev/null
	wait "$suspect"
	suspect=
	jq -e --argjson owner "$(jq '.culprits[0]' truth)" \
		'.triggers[0].state.waits_for | .what == "mutex" and .tid == $owner' \
		"$BASE/incidents/$name.json" || fail "$(<truth) $(jq .triggers[0] "$BASE/incidents/$name.json")"
	run -0 frbpf why "$name"
	[[ ${lines[0]} == *"waited for a futex"*", which cause/$(jq '.culprits[0]' truth) holds, which meanwhile waited for its own timer"* ]] ||
		fail "$output"
	frbpf show "$name" | grep -q "waits for  a mutex that cause/$(jq '.culprits[0]' truth) holds" ||
		fail "$(frbpf show "$name")"
	# a file lock, as in /proc/locks
	mkfifo taken
	flock -o locked sh -c 'echo >taken; exec sleep 1000' 3>&- &
	owner=$!
	read -r <taken
	flock locked true 3>&- &
	suspect=$!
	wait_for_incident "$BASE" 2
	name=$(incidents "$BASE" | tail -n 1)
	wait_until 20 jq -e ".triggers[0].state.waits_for | .what == \"file-lock\" and .pid == $owner" \
		"$BASE/incidents/$name.json" ||
		fail "$(jq .triggers[0].state "$BASE/incidents/$name.json") $(cat /proc/locks)"
	frbpf show "$name" | grep -q "waits for  a file-lock that flock/$owner holds" || fail "$(frbpf show "$name")"
	# the dump has the owner, too, as the kernel saw it when the wait began
	events "$BASE/session-evidence/perf.data.$name" frbpf:lock_wait | grep -q "flock lock=0x.* owner=$owner " ||
		fail "$(events "$BASE/session-evidence/perf.data.$name" frbpf:lock_wait)"
	run -0 frbpf why "$name"
	[[ ${lines[0]} == *"waited for a file lock"*", which flock/$owner took"* ]] || fail "$output"
	end_suspect
	kill "$(pgrep -P "$owner")"
	wait "$owner" || true
}

explained() { # MANIFEST
	jq -e '.why.verdict' "$1" >/dev/null
}

# Recorded by frbpf 0cd81bc of November 23, 2026, before frbpf had `why`. The cause is lock-sleep; who woke the owner
# was not recorded.
@test "why explains a dump of an older version, as far as its events allow" {
	tar -xJf "$BATS_TEST_DIRNAME/data/old-incident.tar.xz" || skip "no tar, or no xz"
	timeout -k 5 60 "$FRBPF" why --json old-incident/incidents/*.json >why.json
	jq -e '.of_ns > 60000000 and (.tree.causes[0] | .type == "waited" and .woken_by == "task" and
		.waker.tid == 6195 and
		.waker.comm == "cause" and .ns * 100 > 98 * 60000000) and ([.tree.causes[].ns] | add) == .of_ns' \
		why.json || fail "$(<why.json)"
	jq -e '.cause == "unknown" and (.verdict | test("until woken by cause/6195.* unknown: "))' why.json ||
		fail "$(<why.json)"
	# the dump alone gives the same answer
	timeout -k 5 60 "$FRBPF" why --json old-incident/session-sched/perf.data.* >dump.json
	same "of the dump" "$(jq -S 'del(.call)' dump.json)" "$(jq -S 'del(.call)' why.json)"
	run -0 timeout -k 5 60 "$FRBPF" show old-incident/incidents/*.json
	[[ $output == *"fired by rule slow: syscall:futex > 40ms"* && $output == *"until woken by cause/6195"* ]] ||
		fail "$output"
}

@test "the recorder has each incident explained: in the manifest, on the line of ls" {
	need_recording
	need_btf
	load_lock_rule
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	wait_until 30 explained "$BASE/incidents/$(incidents "$BASE" | head -n 1).json" || fail "$(cat "$BASE/output")"
	name=$(incidents "$BASE" | head -n 1)
	verdict=$(jq -r .why.verdict "$BASE/incidents/$name.json")
	[[ $verdict == *"waited for a futex"*"until woken by its owner cause/$(jq '.culprits[0]' truth)"* ]] ||
		fail "$verdict"
	run -0 frbpf ls
	[[ ${#lines[@]} == 1 && ${lines[0]} == "$name  lock: "*"  why: $verdict" ]] || fail "$output"
	# `why` prints the same for the files
	run -0 frbpf why "$name"
	same "why" "${lines[0]}" "$verdict"
	# a manifest that is written again keeps the verdict
	frbpf_stop >/dev/null
	same "the verdict at the end" "$(jq -r .why.verdict "$BASE/incidents/$name.json")" "$verdict"
}

culprit_is_known() { # MANIFEST
	jq -e '.why.culprit.command' "$1" >/dev/null
}

@test "if the culprit is another process that lives, the manifest has its command line and cgroup" {
	local manifest who
	need_recording
	need_btf
	printf '[rule-slow]\nwhen = syscall:read > 200ms\nif = comm == "head"\n' >"$RULES"
	frbpf_load >/dev/null
	mkfifo to never
	bash -c 'exec 5>to 6<>never; read -rt 0.5 -u 6; echo >&5; read -rt 60 -u 6' the-culprit 3>&- &
	suspect=$!
	head -n 1 <to 3>&-
	wait_for_incident "$BASE" 1
	manifest=$BASE/incidents/$(incidents "$BASE" | head -n 1).json
	wait_until 30 culprit_is_known "$manifest" || fail "$(jq .why "$manifest"; cat "$BASE/output")"
	same "process" "$(jq .why.culprit.pid "$manifest")" "$suspect"
	who=$(jq -r '.why.culprit | .command + (if .cgroup then ", in cgroup " + .cgroup else "" end)' "$manifest")
	[[ $who == "bash -c exec 5>to"*" the-culprit"* ]] || fail "$who"
	same "cgroup" "$(jq -r '.why.culprit.cgroup // ""' "$manifest")" "$(sed -n 's/^0:://p' /proc/"$suspect"/cgroup)"
	run -0 frbpf why
	[[ $output == *"     who: bash/$suspect: $who"* ]] || fail "$output"
	run -0 frbpf show
	[[ $output == *"     who: bash/$suspect: $who"* ]] || fail "$output"
}

# copy_incident FROM TO FILTER: copies a manifest of the stopped recorder, changed by a jq filter
copy_incident() {
	jq "$3" "$BASE/incidents/$1.json" >"$BASE/incidents/$2.json"
}

@test "ls --causes has one line for the same culprit and resource, and other lines for others" {
	need_recording
	need_btf
	record_explained
	# the culprit may have ended before its cgroup was read: set one
	copy_incident "$name" known '.why.culprit.cgroup = "/"'
	mv "$BASE/incidents/known.json" "$BASE/incidents/$name.json"
	copy_incident "$name" 2001010101010101 '.why.culprit |= (.tid = 1 | .pid = 1)'
	run -0 frbpf ls --causes
	[[ ${#lines[@]} == 1 && ${lines[0]} == *"     2  lock: "* ]] || fail "$output"
	# a culprit that has ended has no cgroup, and numbers in names differ each time: neither makes another line
	copy_incident "$name" 2001010101010105 '.why.culprit.cgroup = null'
	run -0 frbpf ls --causes
	[[ ${#lines[@]} == 1 && ${lines[0]} == *"     3  lock: "*", last $name" ]] || fail "$output"
	rm "$BASE/incidents/2001010101010105.json"
	for n in 1 2; do
		copy_incident "$name" "200101010101010$((5 + n))" ".why.culprit.comm = \"kworker/$n:$n+flush\""
	done
	run -0 frbpf ls --causes
	[[ ${#lines[@]} == 2 && ${lines[0]} == *"     2  lock: "* && ${lines[1]} == *"     2  lock: "* ]] ||
		fail "$output"
	rm "$BASE/incidents/200101010101010"[67].json
	copy_incident "$name" 2001010101010102 '.why.culprit.cgroup = "/another.service"'
	copy_incident "$name" 2001010101010103 '.why.resource = "sdz (8:400)"'
	copy_incident "$name" 2001010101010104 '.why.culprit.process = "another"'
	frbpf ls --causes --json |
		jq -e --arg n "$name" 'map(.incidents) == [["2001010101010102"], ["2001010101010103"],
		["2001010101010104"], ["2001010101010101", $n]]' || fail "$(frbpf ls --causes)"
}

@test "why says that the cgroup of a waiting task has a low weight" {
	need_recording
	need_btf
	make_cpu_groups
	[[ $weight_group ]] || skip "no cgroup with a CPU controller"
	printf '[rule-late]\nwhen = runqlat > 20ms\nif = comm == "cause"\n' >"$RULES"
	frbpf_load >/dev/null
	mkfifo stays
	# the recorder reads the weight while the task still lives
	CAUSE_STAYS=1 CAUSE_GROUP=$weight_group "$WORKLOADS/cause" cgroup-weight <stays >truth 3>&- &
	exec 5>stays
	wait_for_incident "$BASE" 1
	exec 5>&-
	wait $!
	frbpf_stop >/dev/null
	run -0 frbpf why "late:last"
	[[ ${lines[0]} =~ "behind cause/$(jq '.culprits[0]' truth) (same priority; a cgroup of the waiting task has cpu."(weight 5|shares 51)")" ]] ||
		fail "$output"
}

@test "where the program's file is missing, the stored verdict names its functions" {
	need_recording
	need_btf
	cp "$WORKLOADS/cause" cause && WORKLOADS=$PWD
	record_explained
	run -0 frbpf why
	verdict=${lines[0]}
	[[ $verdict == *"waited for a futex in lock_sleep (futex)"* ]] || fail "$output"
	mv cause another
	run -0 frbpf why
	same "first line" "${lines[0]}" "stored verdict: $verdict"
	[[ ${lines[1]} == "Names or dumps are missing here"* && ${lines[2]} != *"in lock_sleep"* ]] || fail "$output"
	# the verdict of another version is not used: a newer version may know better
	copy_incident "$name" 2001010101010101 '.frbpf = "1"'
	run -0 frbpf why 2001010101010101
	[[ $output != *stored* ]] || fail "$output"
}

has_kernel_symbols() { # MANIFEST
	jq -e '.kernel_symbols | length > 10' "$1" >/dev/null
}

# Runs a command where neither /proc/kallsyms nor a copy in ~/.debug names kernel functions.
without_kernel_names() {
	HOME=/nonexistent unshare -m sh -c 'mount --bind /dev/null /proc/kallsyms && exec "$@"' - "$@"
}

# Prints "ADDRESS NAME" for the kernel functions in a dump, as perf names them.
kernel_names_of() { # DUMP [OPTION...]
	perf script -i "$1" "${@:2}" -F ip,sym 2>/dev/null | awk '$1 ~ /^ffff[0-9a-f]+$/ {print $1, $2}' | sort -u
}

@test "the manifest names the kernel's functions, for why and perf on other machines and without root" {
	local all_but_paths="del(.next)"
	need_recording
	need_btf
	load_lock_rule
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	manifest=$BASE/incidents/$name.json
	wait_until 30 has_kernel_symbols "$manifest" || fail "$(cat "$BASE/output")"
	frbpf_stop >/dev/null
	has_kernel_symbols "$manifest" || fail "written again without the symbols"
	run -0 frbpf why "$name"
	verdict=${lines[0]}
	[[ $verdict == *"waited for a futex"*"its own timer"* ]] || fail "$output"
	frbpf why --json "$name" | jq "$all_but_paths" >here.json
	cp -r "$BASE" copy && chmod -R a+rX . && chmod 0755 .
	without_kernel_names "$FRBPF" why --json "copy/incidents/$name.json" | jq "$all_but_paths" >hidden.json
	same "without kallsyms" "$(<hidden.json)" "$(<here.json)"
	setpriv --reuid 65534 --clear-groups "$FRBPF" why --json "copy/incidents/$name.json" |
		jq "$all_but_paths" >user.json
	same "without root" "$(<user.json)" "$(<here.json)"
	# the names are there even if only the dump and the manifest were copied
	mkdir flat && cp "$manifest" "$BASE/session-evidence/perf.data.$name" flat && mv "$BASE" gone &&
		chmod -R a+rX flat
	for what in "flat/$name.json" "flat/perf.data.$name"; do
		setpriv --reuid 65534 --clear-groups "$FRBPF" why --json "$what" | jq "$all_but_paths" >user.json
		same "of $what" "$(<user.json)" "$(<here.json)"
	done
	# without the symbols, why prints the stored verdict
	jq 'del(.kernel_symbols)' "gone/incidents/$name.json" >"flat/$name.json"
	run -0 without_kernel_names "$FRBPF" why "flat/$name.json"
	same "first line" "${lines[0]}" "stored verdict: $verdict"
	[[ ${lines[1]} == "Names or dumps are missing here"* && ${lines[2]} == *" % of "* ]] || fail "$output"
	without_kernel_names "$FRBPF" why --json "flat/$name.json" |
		jq -e --arg v "$verdict" '.stored.verdict == $v and .verdict != $v' || fail "no stored verdict as JSON"
	run -0 "$FRBPF" why "flat/$name.json"
	same "where they have names" "${lines[0]}" "$verdict"
	mv gone "$BASE"
	# perf accepts these symbols
	jq -r '.kernel_symbols[]' "$manifest" >kallsyms
	for dump in "$BASE"/session-*/perf.data."$name"; do
		kernel_names_of "$dump" >all
		kernel_names_of "$dump" --kallsyms kallsyms >ours
		[[ $(wc -l <all) -gt 10 ]] || fail "no kernel functions in $dump"
		same "names of perf for $dump" "$(diff all ours)" ""
	done
}

# Records an incident that the recorder explains before it is stopped. Sets $name.
record_explained() {
	load_lock_rule
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1)
	wait_until 30 explained "$BASE/incidents/$name.json" || fail "$(cat "$BASE/output")"
	frbpf_stop >/dev/null
}

# why must fail, but print what the manifest knows.
expect_known() { # INCIDENT REASON
	run -1 --separate-stderr frbpf why "$1"
	[[ $stderr == *"$2"* ]] || fail "$stderr"
	[[ $output == *"fired by rule lock: syscall:futex > 40ms"*"value"*"subject    cause (pid "* ]] || fail "$output"
	run -1 --separate-stderr frbpf why --json "$1"
	jq -e --arg r "$2" \
		'.schema == 1 and .cause == "unknown" and (.verdict | contains($r)) and .trigger.rule == "lock"' \
		<<<"$output" ||
		fail "$output"
}

@test "an incident without its dumps: why still says what is known" {
	need_recording
	need_btf
	record_explained
	run -0 frbpf why "$name"
	verdict=${lines[0]}
	rm "$BASE"/session-*/perf.data."$name"
	expect_known "$name" "the incident's dumps are gone"
	same "the stored verdict" "$(jq -r .stored.verdict <<<"$output")" "$verdict"
	run -1 --separate-stderr frbpf why "$name"
	same "the first line" "${lines[0]}" "stored verdict: $verdict"
	# the same if the recorder was killed before it could explain the incident
	jq 'del(.why)' "$BASE/incidents/$name.json" >m && mv m "$BASE/incidents/$name.json"
	expect_known "$name" "the incident's dumps are gone"
	jq -e '.stored == null' <<<"$output" || fail "$output"
}

@test "an incident whose window began after the wait: what was not recorded is unknown, the rest is reported" {
	need_recording
	need_btf
	cat >"$RULES" <<-'EOF2'
		[rule-lock]
		when     = syscall:futex > 40ms
		if       = comm == "cause"
		pre      = 20ms
	EOF2
	frbpf_load >/dev/null
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	frbpf_stop >/dev/null
	run -0 frbpf why
	[[ ${lines[0]} == *"unknown: the recording begins later"* ]] || fail "$output"
	# the stack may be from before the window, and then only the function of libc is known
	[[ $output =~ "waited for a futex in "(main|__futex_abstimed_wait_common)" (futex), until woken by cause/$(jq '.culprits[0]' truth)".*"its own timer" ]] ||
		fail "$output"
	frbpf why --json >answer
	jq -e '.missing == "before" and .of_ns > 40000000' answer
	# all of the window is known, even if the first event came late in it
	same "the known time" "$(jq '.of_ns - .unknown_ns' answer)" 20000000
}

@test "an incident whose dump ends before the wait began: why says so, and still says what is known" {
	need_recording
	need_btf
	record_explained
	jq '.triggers[0].time.monotonic_ns += 100000000000' "$BASE/incidents/$name.json" >m &&
		mv m "$BASE/incidents/$name.json"
	expect_known "$name" "nothing was recorded in that interval: the recorded switches are from "
}

@test "an incident whose dump lacks the events: why says which, and still says what is known" {
	need_recording
	need_btf
	cat >"$RULES" <<-'EOF2'
		[session-poor]
		run = -e cpu-clock -F 99 -g --overwrite --switch-output
		[rule-lock]
		when = syscall:futex > 40ms
		if   = comm == "cause"
	EOF2
	frbpf_load >/dev/null
	chrt -r 1 "$WORKLOADS/cause" lock-sleep >truth 3>&-
	wait_for_incident "$BASE" 1
	frbpf_stop >/dev/null
	expect_known last "no sched:sched_switch was recorded; record -e sched:sched_switch"
}

@test "a task with SCHED_IDLE waits behind all others, though no event says so" {
	need_recording
	need_btf
	cp /bin/sh idle-victim
	cat >job <<-'EOF'
		taskset -c 0 timeout 3 sh -c 'while :; do :; done' &
		exec chrt -i 0 taskset -c 0 ./idle-victim -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'
	EOF
	# some machines sometimes hide a switch, from perf, too: such a wait is unknown, or is not seen
	for _ in {1..8}; do
		rm -rf out
		run timeout -k 5 60 "$FRBPF" run -o out --when 'runqlat > 30ms' --if 'comm == "idle-victim"' -- sh job
		((status == 2)) || continue
		incidents=(out/incidents/*.json)
		((${#incidents[@]} == 1)) || continue
		jq -e '.why.missing == "hidden"' "${incidents[0]}" >/dev/null || break
	done
	same "exit status" "$status" 2
	same "incidents" ${#incidents[@]} 1
	# on a busy machine, the verdict gives the number of tasks instead of a name
	jq -e '.why.verdict | test("waited for CPU 0 behind (.*before SCHED_IDLE|[0-9]+ tasks)")' \
		out/incidents/*.json ||
		fail "$(jq .why out/incidents/*.json)"
	run -0 frbpf why out/incidents/*.json
	[[ $output == *"(before SCHED_IDLE)"* && $output != *"same priority"* ]] || fail "$output"
}

@test "a program that has just started has its own name" {
	need_recording
	need_btf
	echo truth >truth
	# the dump has no event of the program between its start and the call
	run -2 timeout -k 5 60 "$FRBPF" run -o out --when 'syscall:openat > 1ns' \
		--if 'comm == "cat" && path == "truth"' -- sh -c 'cat truth; true'
	jq -e '.why.verdict | test(": cat/[0-9]+ ")' out/incidents/*.json || fail "$(jq .why out/incidents/*.json)"
}

# Prints the processes that explain incidents for recorders in this mount namespace.
explainers() {
	local comm
	while read -r comm; do
		[[ ${comm%/*}/ns/mnt -ef /proc/self/ns/mnt ]] && echo "${comm//[!0-9]/}"
	done < <(grep -lsxF frbpf-why /proc/[0-9]*/comm)
	return 0
}

some_explainers() {
	[[ $(explainers) ]]
}

no_explainers() {
	! some_explainers
}

@test "the explaining process ends with its recorder, even with unanswered requests" {
	local -a pids
	need_root
	need_btf
	wait_until 20 no_explainers || skip "another recorder is here"
	write_rules <<-EOF
		[daemon]
		merge = 1ms
		[rule-app]
		when = app:ask
		cooldown = 0s
	EOF
	frbpf_load
	wait_until 20 some_explainers || fail "nobody explains"
	mapfile -t pids < <(explainers)
	kill -STOP "${pids[@]}"
	for n in 1 2 3; do
		frbpf trigger ask 1s
		wait_for_incident "$BASE" "$n"
	done
	kill -KILL "$(daemon_pid)"
	kill -CONT "${pids[@]}"
	wait_until 30 no_explainers || fail "$(ps -o pid,ppid,args -p "$(explainers | paste -sd,)")"
}

@test "frbpf run puts the answer of why into its summary, JUnit and the manifest" {
	need_recording
	need_btf
	run -2 timeout -k 5 60 "$FRBPF" run -o out --when 'syscall:futex > 40ms' -- \
		chrt -r 1 "$WORKLOADS/cause" lock-sleep
	grep -q '^Why: .*waited for a futex' out/summary.md || fail "$(cat out/summary.md)"
	grep -q 'message="[^"]*; why: [^"]*waited for a futex' out/junit.xml || fail "$(cat out/junit.xml)"
	jq -e '.why.verdict | contains("waited for a futex")' out/incidents/*.json
}

@test "frbpf run explains all incidents of a rule, also those that are not the worst" {
	local -a manifests
	need_recording
	need_btf
	cat >two.conf <<-'EOF2'
		[daemon]
		merge = 1ms
		[rule-lock]
		when     = syscall:futex > 40ms
		if       = comm == "cause"
		cooldown = 1ms
	EOF2
	run -2 timeout -k 5 60 "$FRBPF" run -o out --rules two.conf -- chrt -r 1 sh -c \
		"$WORKLOADS/cause lock-sleep; $WORKLOADS/cause lock-sleep; $WORKLOADS/cause lock-sleep"
	manifests=(out/incidents/*.json)
	[[ ${#manifests[@]} -ge 2 ]] || fail "$output"
	for m in "${manifests[@]}"; do
		jq -e '(.why.verdict | contains("waited for a futex")) and (.kernel_symbols | length > 10)' "$m" ||
			fail "$(jq .why "$m")"
	done
}

@test "frbpf run -a records everything that why needs" {
	need_recording
	need_btf
	run -2 timeout -k 5 60 "$FRBPF" run -a -o out --when 'syscall:futex > 40ms' --if 'comm == "cause"' \
		--dumps 1 -- chrt -r 1 "$WORKLOADS/cause" lock-sleep
	for event in block:block_rq_issue sched:sched_migrate_task frbpf:lock_wait; do
		perf evlist -i out/session-evidence/perf.data.* | grep -qx "$event" ||
			fail "no $event: $(perf evlist -i out/session-evidence/perf.data.* 2>&1)"
	done
	# only an event of the evidence session names the owner of the lock
	jq -e '.why.verdict | test("waited for a futex.*until woken by its owner cause/")' out/incidents/*.json ||
		fail "$(jq .why out/incidents/*.json)"
}
