#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# --off-cpu on a `run =` line: offcpu-time in dumps, as perf reads it, compared with a program that measures its own
# sleeps.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_perf
	need_btf
	need_tracepoints
	common_setup
	export session_options='-m 1M'
}

teardown() {
	[[ ! ${target:-} ]] || kill "$target" || true
	[[ ! ${group:-} ]] || leave_group
	common_teardown
}

# Prints "PID NS FUNCTION" for each sample of offcpu-time. FUNCTION is the innermost function of the program.
samples() { # FILE [PID]
	perf script -F pid,period,event,ip,sym -i "$1" 2>/dev/null | awk -v pid="${2:-}" '
		/offcpu-time:/ {of = $1; ns = $2; next}
		!NF {of = 0}
		of && $1 !~ /^ffffffff/ {
			if (pid == "" || of == pid)
				print of, ns, $2
			of = 0
		}'
}

sum() { # FUNCTION <SAMPLES
	awk -v sym="$1" '$3 == sym {sum += $2} END {printf "%d", sum}'
}

# Succeeds if the samples cover most of the time that the program measured for its sleeps, and no more.
agrees() { # FILE PID "long NS short NS"
	local words
	read -ra words <<<"$3"
	samples "$1" "$2" >"$BATS_TEST_TMPDIR/samples"
	for i in 0 2; do
		got=$(sum "${words[i]}_sleep" <"$BATS_TEST_TMPDIR/samples")
		((got <= words[i + 1] && got > words[i + 1] / 2)) ||
			fail "${words[i]}: $got of ${words[i + 1]} ns: $(cat "$BATS_TEST_TMPDIR/samples")"
	done
}

make_group() {
	group=$(findmnt -no TARGET -t cgroup2 | head -n 1)/frbpf-off-cpu-$$
	mkdir -p "$group/below"
}

leave_group() {
	wait_until 10 rmdir "$group/below" && rmdir "$group"
}

@test "--off-cpu: every target has the sleeps of its tasks, with the functions in which they slept" {
	"$WORKLOADS/sleeps" 1000000 3 2 >/dev/null 3>&- &
	target=$!
	make_group
	sessions >"$RULES" <<-END
		all -e dummy --off-cpu --overwrite -a
		long -e dummy --off-cpu --off-cpu-thresh 25 --overwrite
		beside -e sched:sched_switch --off-cpu -g --overwrite -p $target
		user -e dummy --off-cpu --user-callchains --overwrite -t $target
		cpu -e dummy --off-cpu --overwrite -C 0
		group -e dummy -G ${group##*/} --off-cpu --overwrite
	END
	frbpf_load
	# shellcheck disable=SC2016 # of sh
	measured=$(sh -c 'echo $$ >"$1/below/cgroup.procs"; echo $$; exec "$2" 5 30 7' group "$group" \
		"$WORKLOADS/sleeps")
	pid=${measured%%$'\n'*} measured=${measured#*$'\n'}
	frbpf dump >/dev/null
	for name in all long beside user cpu group; do
		perf_quiet script -i "$(dumps "$name")"
	done
	agrees "$(dumps all)" "$pid" "$measured"
	agrees "$(dumps group)" "$pid" "$measured"
	samples "$(dumps long)" | awk '$2 < 25000000 {exit 1}' || fail "shorter than 25 ms: $(samples "$(dumps long)")"
	samples "$(dumps long)" | grep -q "^$pid .* long_sleep$"
	for name in beside user group; do
		samples "$(dumps "$name")" >"$BATS_TEST_TMPDIR/samples"
		[[ $name == group ]] && of=$pid || of=$target
		grep -q "^$of " "$BATS_TEST_TMPDIR/samples"
		if grep -v "^$of " "$BATS_TEST_TMPDIR/samples"; then
			fail "session $name has other tasks"
		fi
	done
	if perf script -F cpu,event -i "$(dumps cpu)" 2>/dev/null | grep offcpu-time | grep -v '\[000\]'; then
		fail "-C 0 has another CPU"
	fi
	perf script -F event -i "$(dumps beside)" 2>/dev/null | grep -q 'sched:sched_switch:'
	# the callchain goes from the kernel to main(), unless the line has --user-callchains
	perf script -F event,ip,sym -i "$(dumps beside)" 2>/dev/null | grep -A 9 offcpu-time >"$BATS_TEST_TMPDIR/chains"
	grep -q 'nanosleep' "$BATS_TEST_TMPDIR/chains"
	grep -q ' main$' "$BATS_TEST_TMPDIR/chains"
	if perf script -F event,ip,sym -i "$(dumps user)" 2>/dev/null | grep -A 9 offcpu-time |
		grep 'ffffffff.*nanosleep'; then
		fail "--user-callchains has kernel functions"
	fi
	perf_quiet report -i "$(dumps all)" --stdio --no-children -g none --sort comm,sym
	grep -q 'sleeps .* long_sleep' "$perf_out"
	[[ $(perf evlist -i "$(dumps all)") == *offcpu-time* ]]
}

@test "--off-cpu: why takes the stacks of waits from these samples, and names the waits without a stack" {
	sessions >"$RULES" <<-END
		all -e sched:sched_switch -e sched:sched_waking --off-cpu --off-cpu-thresh 300 --overwrite -a
	END
	keep_cpus_awake
	frbpf_load
	# shellcheck disable=SC2016 # of sh
	pid=$(sh -c 'echo $$; exec "$1" 3 400 7 >/dev/null' sleeps "$WORKLOADS/sleeps")
	frbpf dump >/dev/null
	run -0 "$FRBPF" why -v -i "$(dumps all)" --tid "$pid"
	[[ $output == *" waited for its own timer in long_sleep (nanosleep)"*", "*" times"* ]] || fail "$output"
	[[ $output == *" waited (stack not recorded)"*", "*" times"* && $output != *short_sleep* ]] || fail "$output"
}

sleeps_now() { # PID
	[[ $(<"/proc/$1/stat") == *") S "* && -e /proc/$1/syscall && $(<"/proc/$1/syscall") != running &&
		$(tr -d '\0' <"/proc/$1/cmdline") == *sleeps* ]]
}

# Prints "TIME NS" of the only sleep of a process. That sleep must be in long_sleep() and lasts until the end of the
# dump.
the_sleep() { # FILE PID
	same "samples" "$(samples "$1" "$2" | grep -c ' long_sleep$')" 1
	perf script --ns -F pid,time,period,event -i "$1" 2>/dev/null | awk -v pid="$2" '
		/offcpu-time:/ && $1 == pid {sub(/:$/, "", $2); print $2, $3}'
}

@test "--off-cpu: a sleep that has not ended is in every dump, with its stacks and its length so far" {
	sessions >"$RULES" <<-END
		all -e sched:sched_switch --off-cpu --overwrite -a
	END
	frbpf_load
	"$WORKLOADS/sleeps" 1 600000 0 >/dev/null 3>&- &
	target=$!
	wait_until 30 sleeps_now "$target"
	first=$(frbpf dump)
	read -r at ns <<<"$(the_sleep "$first" "$target")"
	# the sleep began when the task was last switched out
	out=$(perf script --ns -F time,event,trace -i "$first" 2>/dev/null | awk -v pid="$target" '
		$2 == "sched:sched_switch:" && $0 ~ "prev_pid=" pid " " {t = $1} END {sub(/:$/, "", t); print t}')
	awk -v at="$at" -v ns="$ns" -v out="$out" 'BEGIN {d = at - ns / 1e9 - out; exit !(d > -0.01 && d < 0.01)}' ||
		fail "until $at for $ns ns, switched out at $out"
	perf script -F pid,event,ip,sym -i "$first" 2>/dev/null | awk -v pid="$target" '
		/offcpu-time:/ {on = $1 == pid} on && NF' >"$BATS_TEST_TMPDIR/chain"
	grep -q 'ffffffff.*nanosleep' "$BATS_TEST_TMPDIR/chain" || fail "$(cat "$BATS_TEST_TMPDIR/chain")"
	grep -q ' main$' "$BATS_TEST_TMPDIR/chain" || fail "$(cat "$BATS_TEST_TMPDIR/chain")"
	second=$(frbpf dump)
	read -r at2 ns2 <<<"$(the_sleep "$second" "$target")"
	awk -v a="$at" -v b="$at2" -v n="$ns" -v m="$ns2" \
		'BEGIN {d = (b - a) * 1e9 - (m - n); exit !(b > a && d > -1e6 && d < 1e6)}' ||
		fail "$at $ns, $at2 $ns2"
	run -0 "$FRBPF" why -v -i "$second" --tid "$target"
	[[ $output == *" waited for its own timer in long_sleep (nanosleep)"* ]] || fail "$output"
}

@test "--off-cpu: a new threshold is loaded, a command and a plain session are recorded" {
	sessions >"$RULES" <<-END
		some -e dummy --off-cpu --off-cpu-thresh 20 --overwrite
	END
	frbpf_load
	sed -i 's/thresh 20/thresh 0/' "$RULES"
	frbpf_load
	"$WORKLOADS/sleeps" 20 0 1 >/dev/null
	frbpf dump >/dev/null
	samples "$(dumps some)" | grep -q ' short_sleep$'
	samples "$(dumps some)" | awk '$2 < 20000000 {found = 1} END {exit !found}'
	frbpf stop
	# shellcheck disable=SC2016 # of sh
	run "$FRBPF" run --rules "$RULES" -o "$BATS_TEST_TMPDIR/run" -- "$WORKLOADS/sleeps" 5 30 7
	((status == 0)) || fail "$output"
	file=("$BATS_TEST_TMPDIR"/run/session-some/perf.data*)
	perf_quiet script -i "${file[0]}"
	samples "${file[0]}" >"$BATS_TEST_TMPDIR/samples"
	grep -q ' long_sleep$' "$BATS_TEST_TMPDIR/samples"
	(($(cut -d ' ' -f 1 "$BATS_TEST_TMPDIR/samples" | sort -u | wc -l) == 1)) ||
		fail "$(cat "$BATS_TEST_TMPDIR/samples")"
	sessions >"$RULES" <<-END
		plain -e dummy --off-cpu -z -- $WORKLOADS/sleeps 5 30 7
	END
	frbpf start --config "$RULES"
	wait_until 30 ended_plain
	perf_quiet script -i "$BASE/session-plain/perf.data"
	samples "$BASE/session-plain/perf.data" >"$BATS_TEST_TMPDIR/samples"
	grep -q ' long_sleep$' "$BATS_TEST_TMPDIR/samples"
}

ended_plain() {
	! frbpf status | grep -q '\[[0-9]*:plain\]'
}
