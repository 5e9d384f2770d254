#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf tune: the values of a source, and the threshold of a rule.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers
load memory_group

setup() {
	common_setup
}

teardown() {
	[[ ! ${tuner-} ]] || kill -KILL "$tuner" 2>/dev/null || true
	common_teardown
	memory_group_remove
}

is_watching() {
	grep -qs "watching for" "$BATS_TEST_TMPDIR/messages"
}

# Runs frbpf tune until finish_tune. The answer is in $answer.
start_tune() { # ARGUMENTS...
	answer=$BATS_TEST_TMPDIR/answer
	rm -f "$BATS_TEST_TMPDIR/messages"
	timeout -k 5 120 "$FRBPF" tune --for 100s --json "$@" >"$answer" 2>"$BATS_TEST_TMPDIR/messages" </dev/null \
		3>&- &
	tuner=$!
	wait_until 60 is_watching || fail "$(cat "$BATS_TEST_TMPDIR/messages")"
}

finish_tune() {
	kill -INT "$tuner"
	wait "$tuner"
	tuner=
}

# The rules that the answer suggests are valid.
same_rules() { # WHEN, of those of all rates
	local line
	while read -r line; do
		[[ $line =~ ^$1$ ]] || fail "$line"
		printf '[rule-r]\nwhen = %s\n' "$line" >"$RULES"
		"$FRBPF" check "$RULES" >/dev/null || fail "$line: $("$FRBPF" check "$RULES" 2>&1)"
	done < <(jq -r '.thresholds[].when // empty' "$answer")
}

@test "tune counts every value of the source, and prints lines of a rule" {
	need_root
	need_btf
	start_tune 'syscall:clock_nanosleep > 3s' --if 'comm == "tuned"'
	"$WORKLOADS/slow_syscall" --comm tuned --call clock_nanosleep --ms 30 --times 12 >"$BATS_TEST_TMPDIR/truth"
	finish_tune
	jq -e '.values == 12 and ([.histogram[].values] | add) == 12' "$answer" || fail "$(cat "$answer")"
	# each call took at least 30 ms, and none longer than the workload measured
	jq -e '.steps[] | select(.threshold_ns == 20000000) | .matched == 12 and .fired >= 1' "$answer"
	jq -e --slurpfile truth "$BATS_TEST_TMPDIR/truth" \
		'.largest_ns >= 30e6 and .largest_ns <= ([$truth[] | .end_ns - .begin_ns] | max)' "$answer"
	same "rates" "$(jq -c '[.thresholds[].per_day]' "$answer")" '[20,5,1]'
	# for rare values, the report says what so short a measurement proves
	jq -e '.unreached.threshold_ns as $ns | $ns >= .largest_ns and .unreached.when == "syscall:clock_nanosleep > " +
		if $ns < 1e9 then "\($ns / 1e6)ms" else "\($ns / 1e9)s" end' "$answer" || fail "$(cat "$answer")"
	# rules on what is pending, or compared with what is usual, have the same values
	for when in 'pending(syscall:clock_nanosleep) > 3s' 'syscall:clock_nanosleep > p99 * 4'; do
		start_tune "$when" --if 'comm == "tuned"'
		"$WORKLOADS/slow_syscall" --comm tuned --call clock_nanosleep --ms 30 --times 3 >/dev/null
		finish_tune
		jq -e '.values == 3 and .largest_ns >= 30e6' "$answer" || fail "$when: $(cat "$answer")"
	done
}

@test "tune measures connects that are refused" {
	need_root
	need_btf
	unshare -n ip link set lo up 2>/dev/null || skip "no network namespaces here"
	cp "$(type -P bash)" "$BATS_TEST_TMPDIR/frbpf-client"
	start_tune connect --if 'comm == "frbpf-client" && port == 9'
	# shellcheck disable=SC2016 # $1 is of that shell
	unshare -n sh -c 'ip link set lo up && exec "$1" -c "for i in 1 2 3 4; do (: <>/dev/tcp/127.0.0.1/9); done"' - \
		"$BATS_TEST_TMPDIR/frbpf-client" 2>"$BATS_TEST_TMPDIR/refused" 3>&- || true
	same "refused" "$(grep -c "connect: Connection refused" "$BATS_TEST_TMPDIR/refused")" 4
	finish_tune
	jq -e '.values == 4 and .largest_ns > 0' "$answer" || fail "$(cat "$answer")"
	same_rules 'connect > [0-9]+[a-z]+'
}

@test "tune measures as many searches for memory as perf counts" {
	need_root
	need_perf
	need_btf
	need_tracepoints vmscan:mm_vmscan_memcg_reclaim_end
	local counted=$BATS_TEST_TMPDIR/counted
	memory_group_make 8388608
	cp "$(command -v cat)" "$BATS_TEST_TMPDIR/frbpf-mem"
	truncate -s 64M "$BATS_TEST_TMPDIR/file"
	start_tune reclaim --if 'comm == "frbpf-mem"'
	(in_memory_group perf stat -x , -o "$counted" \
		-e vmscan:mm_vmscan_memcg_reclaim_end,vmscan:mm_vmscan_direct_reclaim_end \
		"$BATS_TEST_TMPDIR/frbpf-mem" "$BATS_TEST_TMPDIR/file" >/dev/null)
	finish_tune
	same "searches" "$(jq .values "$answer")" "$(awk -F, '/reclaim_end/ {n += $1} END {print n}' "$counted")"
	jq -e '.values > 0 and .largest_ns > 0' "$answer" || fail "$(cat "$answer")"
	same_rules 'reclaim > [0-9]+[a-z]+'
}

@test "tune measures shares of time, and gives them in percent" {
	need_root
	need_btf
	start_tune 'oncpu > 90% in 500ms per thread' --if 'comm == "burn"'
	"$WORKLOADS/burn" --seconds 2 >/dev/null
	finish_tune
	# the machine may be busy, but in 2 s the workload got a CPU for some of its ticks
	jq -e '.values >= 2 and .largest_ns > 0 and .largest_ns <= 6e8' "$answer" || fail "$(cat "$answer")"
	jq -e '[.steps[].threshold_ns] | .[0] == 5e6 and .[-1] == 5e9' "$answer"
	jq -e '.steps[0].matched >= 1 and .steps[-1].matched == 0' "$answer" || fail "$(cat "$answer")"
	same_rules 'oncpu > [0-9]+% in 500ms per thread'
	# if a thread got nearly all of a CPU, no step is above its value
	jq -e '(if any(.steps[]; .threshold_ns == 475e6 and .matched > 0) then "unknown" else "unseen" end) as $how |
		.thresholds | length == 3 and all(.how == $how)' "$answer" || fail "$(cat "$answer")"
}

@test "tune listens for messages of applications, unless a recorder does" {
	need_root
	need_btf
	# both have a /run/frbpf of their own
	# shellcheck disable=SC2016 # of the inner shell
	FRBPF=$FRBPF WORKLOADS=$WORKLOADS unshare -m bash -c \
		'mkdir -p /run/frbpf && mount -t tmpfs -o mode=755 t /run/frbpf && . "$1"' - /dev/stdin <<-'EOF'
		cd "$BATS_TEST_TMPDIR"
		timeout -k 5 60 "$FRBPF" tune 'app:job > 1s' --if 'size > 3' --for 100s --json >answer 2>messages </dev/null 3>&- &
		tuner=$!
		until grep -q 'watching for' messages; do kill -0 $tuner || exit 1; sleep 0.02; done
		for size in 1 2 3 4 5 6; do
			echo "job 2${size}ms size=$size" | "$WORKLOADS/app_send" /run/frbpf/app >/dev/null
		done
		echo "other 1s size=9" | "$WORKLOADS/app_send" /run/frbpf/app >/dev/null
		# a second listener is refused
		"$FRBPF" tune 'app:job > 1s' --for 100s >refused 2>&1 && exit 2
		kill -INT $tuner
		wait $tuner
	EOF
	jq -e '.values == 3 and .largest_ns == 26e6' "$BATS_TEST_TMPDIR/answer" ||
		fail "$(cat "$BATS_TEST_TMPDIR/answer")"
	grep -q 'messages go to the recorder that listens at /run/frbpf/app' "$BATS_TEST_TMPDIR/refused" ||
		fail "$(cat "$BATS_TEST_TMPDIR/refused")"
}

@test "check --live hears messages of applications, unless a recorder does" {
	need_root
	need_btf
	write_rules <<-EOF
		[rule-job]
		when = app:job > 20ms
		if = size > 3
	EOF
	# shellcheck disable=SC2016 # of the inner shell
	FRBPF=$FRBPF WORKLOADS=$WORKLOADS RULES=$RULES unshare -m bash -c \
		'mkdir -p /run/frbpf && mount -t tmpfs -o mode=755 t /run/frbpf && . "$1"' - /dev/stdin <<-'EOF'
		cd "$BATS_TEST_TMPDIR"
		timeout -k 5 60 "$FRBPF" check --live 100s --json "$RULES" >answer 2>messages </dev/null 3>&- &
		checker=$!
		until grep -q 'watching for' messages; do kill -0 $checker || exit 1; sleep 0.02; done
		for size in 1 2 3 4 5 6; do
			echo "job 2${size}ms size=$size" | "$WORKLOADS/app_send" /run/frbpf/app >/dev/null
		done
		# a second listener is refused
		timeout -k 5 60 "$FRBPF" check --live 10ms "$RULES" >deaf 2>&1 || exit 2
		kill -INT $checker
		wait $checker
	EOF
	jq -e '(.live.rules[0].matched == 3) and (.left_out | any(test("messages")) | not)' \
		"$BATS_TEST_TMPDIR/answer" ||
		fail "$(cat "$BATS_TEST_TMPDIR/answer")"
	grep -qx 'not checked: messages of applications: they go to the recorder that listens at /run/frbpf/app' \
		"$BATS_TEST_TMPDIR/deaf" || fail "$(cat "$BATS_TEST_TMPDIR/deaf")"
}

@test "tune reports what it cannot measure, at its place" {
	run -1 "$FRBPF" tune 'syscall:fsink'
	[[ $output == *"unknown system call 'fsink' (did you mean"* ]]
	run -1 "$FRBPF" tune 'psi:cpu some > 10ms in 2s'
	[[ $output == *"not a duration"* ]] || fail "$output"
	run -1 "$FRBPF" tune 'sched:sched_switch'
	[[ $output == *"not a duration"* ]] || fail "$output"
	run -1 "$FRBPF" tune 'rule:a then rule:b within 2s'
	[[ $output == *"combines other rules"* ]] || fail "$output"
	run -1 "$FRBPF" tune 'absent(runqlat)'
	[[ $output == *"fires when nothing comes"* ]] || fail "$output"
	run -1 "$FRBPF" tune 'oncpu'
	[[ $output == *"measured as a share of time"* ]] || fail "$output"
	run -1 "$FRBPF" tune runqlat --if 'foo == 1'
	[[ $output == *"unknown field 'foo'"* ]]
	run -1 "$FRBPF" tune
	[[ $output == *"give one source"* ]]
	run -1 "$FRBPF" tune runqlat --for never
	[[ $output == *"--for"* ]]
}
