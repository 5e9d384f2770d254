#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf diff on recordings of perf and of frbpf, with known differences. perf report serves as the witness for shares.

# shellcheck disable=SC2154,SC2030,SC2031 # set by bats and the helpers; every test is a subshell
# with: others
load helpers

setup() {
	common_setup
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	[[ ! ${recorder-} ]] || kill -KILL "$recorder" 2>/dev/null || true
	common_teardown
}

need_recording() {
	need_root
	need_perf
}

# perf_record FILE OPTIONS...
perf_record() {
	local file=$1
	shift
	timeout -k 5 60 perf record -q -o "$file" "$@" >/dev/null 2>"$BATS_TEST_TMPDIR/perf.err" </dev/null 3>&- ||
		fail "perf record $*: $(cat "$BATS_TEST_TMPDIR/perf.err")"
}

# changes A B FILTER: the result of a jq filter on the JSON output of diff
changes() {
	frbpf diff --json --limit 0 "$1" "$2" | jq -er "$3"
}

# row FUNCTION PATH: a jq filter for the row of a function in the first event
row() {
	echo "[.sessions[0].events[0].functions[] | select(.symbol == \"$1\")][0].$2"
}

# Which shares are compared: of the function alone (self), or with its callees (total).
which=self

# all_shares FILE EVENT: "symbol percent", as frbpf prints it in a comparison with a recording that lacks these samples
all_shares() {
	changes "$1" "$BATS_TEST_TMPDIR/none.data" ".sessions[0].events[] | select(.event == \"$2\") | .functions[] |
		select(.symbol) | \"\(.symbol) \(.${which}_percent.a)\"" |
		awk '{n[$1] += $2} END {for (s in n) print s, n[s]}' | sort # modules may share a name
}

# The same from perf, with names as frbpf prints them: without symbol versions. Samples in OBJECT are left out.
perf_shares() { # FILE EVENT [OBJECT]
	local -a columns=(--no-children "-Foverhead,sym,dso")
	[[ $which == self ]] || columns=(--children "-Foverhead_children,sym,dso")
	timeout -k 5 200 perf report -i "$1" "${columns[@]}" --no-inline --no-demangle --stdio -g none -t '|' \
		2>/dev/null </dev/null |
		awk -v event="$2" -v without="$3" -F '|' '/^# Samples:/ {on = index($0, "\047" event "\047")}
			on && /^ *[0-9.]+%/ {
				sub(/^ *\[.\] /, "", $2); sub(/ +$/, "", $2); sub(/%/, "", $1); gsub(/ /, "", $3)
				if ($2 !~ /@plt$/) sub(/@.*/, "", $2)
				if ($2 !~ /^0x|^0+$|^@plt$/ && $3 != without) n[$2] += $1}
			END {for (s in n) print s, n[s]}' | sort
}

# Fails if shares differ by more than a quarter of a percent, or by more than two samples if that is more. Files may
# have been replaced between the two readings.
assert_same_shares() { # FILE EVENT
	local bad samples unknown=
	perf_record none.data -e page-faults -c 1000000 true
	# perf names the vdso by the one of the running kernel, and writes no build id of it into files that were
	# switched out
	if frbpf diff -v "$1" none.data 2>&1 | grep -q '\[vdso\] has no build id'; then
		unknown='[vdso]'
	fi
	perf_shares "$1" "$2" "$unknown" >perf.shares
	all_shares "$1" "$2" >our.shares
	[[ -s perf.shares ]] || fail "perf report shows nothing of $2 in $1"
	samples=$(perf script -i "$1" -F event 2>/dev/null | grep -c "^ *$2:")
	((samples)) || fail "perf script shows nothing of $2 in $1"
	bad=$(join -a 1 -a 2 -e 0 -o 0,1.2,2.2 perf.shares our.shares |
		awk -v apart="$samples" 'BEGIN {apart = 201 / apart; if (apart < 0.25) apart = 0.25}
			{d = $2 - $3; if (d < 0) d = -d} d > apart {print $1 ": perf " $2 ", frbpf " $3}')
	[[ ! $bad ]] || fail "$1, $2: $bad"
}

# Sends the signal again, because perf ignores it while it opens events.
switched_out() { # PID
	kill -USR2 "$1"
	sleep 0.2
	compgen -G 's.data.[0-9]*' >/dev/null
}

@test "diff names the function that takes more time first" {
	need_recording
	perf_record a.data -e cpu-clock -F 4999 -g "$WORKLOADS/mix" --heavy 10 --rounds 300
	perf_record b.data -e cpu-clock -F 4999 -g "$WORKLOADS/mix" --heavy 60 --rounds 300
	run -0 frbpf diff a.data b.data
	[[ $output == *"mix_heavy  mix"* && $output == *"mix_light  mix"* ]] || fail "$output"
	# other programs may slow down one of the functions more than the other
	changes a.data b.data "$(row mix_heavy self_percent.change) | . > 25 and . < 65" >/dev/null ||
		fail "$output"
	changes a.data b.data "$(row mix_light self_percent.change) | . < -25 and . > -65" >/dev/null
	changes a.data b.data "$(row mix_heavy self_noise) == false" >/dev/null
	# mix_heavy takes the time of mix_light, so the share of their caller changes less
	changes a.data b.data "($(row mix_round total_percent.change) // 0) | fabs < 10" >/dev/null
	changes a.data b.data \
		'.sessions[0].events[0].functions[0:2] | map(.symbol) | sort == ["mix_heavy", "mix_light"]'
	# the comparison in the other direction has the opposite sign
	changes b.data a.data "$(row mix_heavy self_percent.change) < -25" >/dev/null
}

@test "--limit and --sort are obeyed" {
	need_recording
	perf_record a.data -e cpu-clock -F 1999 -g "$WORKLOADS/mix" --heavy 10
	perf_record b.data -e cpu-clock -F 1999 -g "$WORKLOADS/mix" --heavy 60
	[[ $(frbpf diff --json --limit 1 a.data b.data | jq '.sessions[0].events[0].functions | length') == 1 ]]
	frbpf diff --json --limit 0 --sort total a.data b.data | jq -e '.sessions[0].events[0].functions |
		map(.total_percent.change | fabs) | . == (sort | reverse)'
	run -0 --separate-stderr frbpf diff --limit 1 a.data b.data
	[[ $output == *"smaller changes: --limit 0 shows all"* ]] || fail "$output"
}

@test "a recording does not differ from itself" {
	need_recording
	need_tracepoints
	keep_cpus_awake
	perf_record a.data -a -g -e cpu-clock -e sched:sched_switch "$WORKLOADS/mix" --waits 2
	run -0 --separate-stderr frbpf diff a.data a.data
	[[ ${lines[-1]} == "no difference" ]] || fail "$output"
	[[ $output == *"off CPU:"* ]] || fail "$output"
	changes a.data a.data '[.sessions[] | .events[].functions[], .offcpu.stacks[]] == []'
}

@test "a wait looks the same, however many programs are attached to the switch tracepoint" {
	need_recording
	need_tracepoints
	write_rules <<-'EOF'
		[rule-any]
		when = runqlat > 1h
	EOF
	perf_record a.data -g -e sched:sched_switch "$WORKLOADS/mix" --waits 20
	frbpf_load # attaches two programs to the tracepoint
	perf_record b.data -g -e sched:sched_switch "$WORKLOADS/mix" --waits 20
	run -0 frbpf diff --limit 0 a.data b.data
	[[ $output != *__traceiter_* && $output != *perf_trace_* ]] || fail "$output"
}

@test "shares agree with perf report: callchains, all CPUs, kernel and user" {
	need_recording
	perf_record a.data -a -g -e cpu-clock -F 1999 "$WORKLOADS/mix"
	assert_same_shares a.data cpu-clock
}

@test "shares agree with perf report: several events, tracepoints" {
	need_recording
	need_tracepoints
	perf_record a.data -a -e cpu-clock -e page-faults -e sched:sched_wakeup -e sched:sched_switch \
		"$WORKLOADS/mix" --waits 5 --wait 5
	assert_same_shares a.data cpu-clock
	assert_same_shares a.data page-faults
	assert_same_shares a.data sched:sched_switch
}

@test "shares agree with perf report: user stacks, registers and all other fields in the samples" {
	need_recording
	perf_record a.data -e cpu-clock -F 1999 --call-graph dwarf,512 "$WORKLOADS/mix"
	assert_same_shares a.data cpu-clock
	perf_record b.data -e cpu-clock -F 1999 -d --phys-data -W --transaction -I --data-page-size --code-page-size \
		-s --running-time --namespaces --all-cgroups --switch-events "$WORKLOADS/mix"
	assert_same_shares b.data cpu-clock
	perf_record c.data -e '{cpu-clock,page-faults}:S' -F 1999 --buildid-mmap "$WORKLOADS/mix"
	# perf itself computes the values of the other member of the group, from the leader's samples
	same "samples of a group" "$(changes c.data c.data '[.sessions[0].events[].samples.a] | add')" \
		"$(perf script -i c.data -F event 2>/dev/null | grep -c cpu-clock)"
}

@test "shares agree with perf report: user stacks are unwound, even without frame pointers" {
	need_recording
	# shellcheck disable=SC2016 # of the inner shell
	perf_record a.data -e cpu-clock -F 1999 --call-graph dwarf -- \
		sh -c 'ls -lR /usr/include | sort >/dev/null; "$0"' "$WORKLOADS/mix"
	assert_same_shares a.data cpu-clock
	# Some of perf's stacks end early: in one run all samples have __libc_start_main at the bottom, in the next only
	# a third. On a slow machine there are 400 samples, and one or two of them may differ.
	which=total
	perf_shares a.data cpu-clock >perf.shares
	all_shares a.data cpu-clock >our.shares
	bad=$(join -a 1 -e 0 -o 0,1.2,2.2 perf.shares our.shares |
		awk '$2 - $3 > 0.6 {print $1 ": perf " $2 ", frbpf " $3}')
	[[ ! $bad ]] || fail "$bad"
	awk '$1 == "__libc_start_main" {all = $2} $1 == "mix_round" {mix = $2} END {exit !(all > 90 && mix > 10)}' \
		our.shares ||
		fail "$(sort -k 2nr our.shares | head -n 20)"
}

@test "shares agree with perf report: overwritten rings that were switched out" {
	need_recording
	local file
	perf record -o s.data -e cpu-clock -F 1999 -g -m 64 --overwrite --switch-output=signal -a \
		>/dev/null 2>perf.err </dev/null 3>&- &
	recorder=$!
	wait_until 10 test -s s.data
	"$WORKLOADS/mix" >/dev/null
	wait_until 20 switched_out "$recorder" || fail "$(cat perf.err)"
	kill -INT "$recorder"
	wait "$recorder" || true
	for file in s.data.[0-9]*; do
		[[ $(perf script -i "$file" 2>/dev/null | head -n 1) ]] || continue
		assert_same_shares "$file" cpu-clock
		return
	done
	fail "no sample: $(cat perf.err)"
}

@test "new waiting is the off-CPU stack that grew" {
	need_recording
	need_tracepoints
	keep_cpus_awake
	perf_record a.data -a -g -e sched:sched_switch "$WORKLOADS/mix" --waits 0
	perf_record b.data -a -g -e sched:sched_switch "$WORKLOADS/mix" --waits 6 --wait 50
	local of_mix='[.sessions[0].offcpu.stacks[] | select(.comm == "mix" and .state == "S" and
		([.frames[].symbol] | index("do_nanosleep")))]'
	# A has no such wait. B has 6 waits of 50 ms and the time of the wake-ups, 300 ms or more in total; 50 ms
	# suffice here, as perf may have missed switches.
	changes a.data b.data ". as \$all | $of_mix | map(.ms_per_second.b) | add * \$all.sessions[0].seconds.b >= 50"
	changes a.data b.data "$of_mix | map(.ms_per_second.a) | add == 0"
	changes a.data b.data "$of_mix | any(.frames[].symbol == \"mix_waits\")"
	changes a.data b.data "$of_mix | map(.percent.change) | add > 0"
	run -0 --separate-stderr frbpf diff --limit 0 a.data b.data
	[[ $output == *"mix: do_nanosleep <- "* ]] || fail "$output"
}

@test "evidence: where tasks wait, without stacks of switches" {
	need_recording
	need_tracepoints lock:contention_begin
	need_btf
	keep_cpus_awake
	write_rules <<-'EOF'
		[session-evidence]
		run = evidence -m 1M
	EOF
	frbpf_load
	workload mix --waits 0 >/dev/null
	frbpf dump >/dev/null
	mv "$BASE"/session-evidence/perf.data.* a.data
	workload mix --waits 6 --wait 50 >/dev/null
	frbpf dump >/dev/null
	mv "$BASE"/session-evidence/perf.data.* b.data
	run -0 perf evlist -v -i b.data
	grep '^sched:sched_switch:' <<<"$output" | grep -v CALLCHAIN || fail "switches have stacks: $output"
	changes a.data b.data \
		'.sessions[0].offcpu.stacks | any(.comm == "mix" and .state == "S" and .ms_per_second.b > 0 and
		([.frames[].symbol] | (index("mix_waits") and index("hrtimer_nanosleep"))))'
}

@test "our own dumps: two directories are compared by session, incidents by name" {
	need_recording
	need_btf
	write_rules
	frbpf_load
	workload mix --heavy 10 --rounds 100 >/dev/null
	frbpf dump >/dev/null
	mkdir before
	cp -r "$BASE"/session-* before/
	workload mix --heavy 70 --rounds 600 >/dev/null
	frbpf dump >/dev/null
	mkdir after
	for session in cpu sched; do
		mkdir "after/session-$session"
		mv "$(find "$BASE/session-$session" -name 'perf.data.*' | sort | tail -n 1)" "after/session-$session"
	done
	changes before after '[.sessions[].session] == ["cpu", "sched"]'
	changes before after '[.sessions[0].events[].event] | index("cpu-clock") != null'
	# each share depends on what else runs, but the ratio of two shares does not
	# shellcheck disable=SC2016 # variables of jq
	changes before after \
		'[.sessions[] | select(.session == "cpu").events[] | select(.event == "cpu-clock").functions[]] |
		([.[] | select(.symbol == "mix_heavy")][0].self_percent) as $heavy |
		([.[] | select(.symbol == "mix_light")][0].self_percent) as $light |
		$heavy.b * $light.a > 2 * $heavy.a * $light.b'
	changes before after '.sessions[1].offcpu.stacks | length > 0'
	changes before after '[.sessions[].events[].event] | any(startswith("frbpf:")) | not'
	run -0 --separate-stderr frbpf diff before after
	[[ $output == *"session cpu, cpu-clock: A "* && $output == *"session sched, off CPU:"* ]] || fail "$output"
	# the dump of B was moved, so its manifest names a file that does not exist
	local names
	mapfile -t names < <(incidents "$BASE")
	run -0 --separate-stderr frbpf diff "${names[0]}" "${names[0]}"
	[[ ${lines[-1]} == "no difference" ]] || fail "$output"
	run -1 frbpf diff "${names[0]}" "${names[1]}"
	[[ $output == *"cannot open it: No such file"* ]] || fail "$output"
	frbpf_stop
}

@test "shares of our own dump agree with perf report" {
	need_recording
	need_btf
	write_rules
	frbpf_load
	# the dump also has programs of other suites, whose files may be removed between the two readings: try again
	for _ in 1 2 3; do
		workload mix >/dev/null
		dump=$(frbpf dump --session cpu)
		if said=$(assert_same_shares "$dump" cpu-clock 2>&1); then
			frbpf_stop
			return 0
		fi
	done
	fail "$said"
}

@test "a program that was rebuilt does not give wrong names" {
	need_recording
	cp "$WORKLOADS/mix" prog
	perf_record a.data -e cpu-clock -F 1999 ./prog
	changes a.data a.data '.sessions[0].events[0].samples.a > 0'
	rm prog # so that cp creates a new file: perf's copy is a link to the old one
	cp "$WORKLOADS/burn" prog
	perf_record none.data -e page-faults -c 1000000 true
	# perf still has a copy of the earlier program
	all_shares a.data cpu-clock | grep -q '^mix_light '
	rm -r "$HOME/.debug"
	run ! grep -q '^mix_light \|^burn' <(all_shares a.data cpu-clock)
	run -0 frbpf diff -v a.data a.data
	[[ $output == *"/prog is another build than the one recorded"* ]] || fail "$output"
}

@test "what cannot be compared is reported in one line" {
	need_recording
	perf_record a.data -e cpu-clock "$WORKLOADS/mix" --rounds 20
	perf_record z.data -z -e cpu-clock "$WORKLOADS/mix" --rounds 20
	perf record -q -o - -e cpu-clock true >p.data 2>/dev/null 3>&-
	head -c 300 a.data >cut.data
	head -c $(($(stat -c %s a.data) - 1)) a.data >short.data
	: >empty.data
	mkdir nothing here there
	mkdir here/session-a there/session-b here/session-c
	cp a.data here/session-a/perf.data
	cp a.data here/session-c/perf.data
	cp a.data there/session-b/perf.data
	while IFS='|' read -r operand words; do
		run -1 frbpf diff a.data "$operand"
		[[ ${#lines[@]} == 1 && $output == *"$words"* ]] || fail "$operand: $output"
	done <<-'EOF'
		nowhere|nowhere: no such file or directory; 
		./nowhere|./nowhere: No such file
		nothing|no perf.data file in this directory
		/etc/passwd|/etc/passwd: not a perf.data file
		/dev/null|not a regular file
		empty.data|not a perf.data file
		p.data|in pipe mode
		cut.data|offset
		short.data|offset
	EOF
	# compressed files can be compared
	if [[ -e z.data ]]; then
		[[ $(frbpf diff z.data z.data) == *"no difference"* ]]
		same "samples" "$(frbpf diff --json z.data a.data | jq '.sessions[0].events[0].samples.a')" \
			"$(perf script -i z.data -F event 2>/dev/null | grep -c .)"
	fi
	run -1 frbpf diff here there
	[[ $output == *"no session in common"* ]] || fail "$output"
	run -1 frbpf diff a.data
	[[ $output == *"takes two recordings"* ]] || fail "$output"
	run -1 frbpf diff --sort name a.data a.data
	[[ $output == *"self or total"* ]] || fail "$output"
	run -1 frbpf diff --limit many a.data a.data
	[[ $output == *"--limit many"* ]] || fail "$output"
}
