#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# frbpf arm and mute: temporary rules, and muted rules.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	victim=frbpf-$$ # a thread's name of our own: rules look at the whole machine
	write_rules <<-EOF
		[rule-slow]
		when = syscall:clock_nanosleep > 10ms
		if = comm == "$victim"
		cooldown = 0
	EOF
}

teardown() {
	common_teardown
}

has_no_rule() { # RULE
	! status_of "$1" .name >/dev/null 2>&1
}

has_suppressed_muted() { # N
	(($(status_of slow .suppressed.muted) == $1))
}

slow_calls() { # N
	workload slow_syscall --ms 20 --times "$1" --comm "$victim" >/dev/null
}

is_muted() { # RULE
	[[ $(status_of "$1" '.muted | type') == object ]]
}

is_not_muted() { # RULE
	! is_muted "$1"
}

@test "a muted rule only counts, even after a reload, until the mute ends" {
	frbpf_load
	frbpf mute slow --for 10m
	slow_calls 3
	run -0 frbpf status
	[[ $output == *"muted 3"* && $output == *"muted for another "* ]]
	echo '[rule-other]
when = runqlat > 10s' >>"$RULES"
	frbpf_load
	slow_calls 2
	same "matched" "$(status_of slow .matched)" 5
	wait_until 10 has_suppressed_muted 5
	same "incidents" "$(incidents "$BASE")" ""
	frbpf mute slow --for 2s # replaces the earlier mute
	frbpf_load
	wait_until 15 is_not_muted slow
	slow_calls 1
	wait_for_incident "$BASE" 1
	grep -q "rule 'slow' is no longer muted" "$BASE/output"
}

@test "a mute without a time lasts until --off, also while the file lacks the rule" {
	frbpf_load
	frbpf mute slow
	[[ $(frbpf status) == *"muted until "* ]]
	cp "$RULES" "$RULES.old"
	sed -i 's/rule-slow/rule-slower/' "$RULES"
	frbpf_load
	run -0 frbpf status
	[[ $output == *"rule slow: not in the file now"* ]]
	cp "$RULES.old" "$RULES"
	frbpf_load
	is_muted slow
	frbpf mute --off slow
	is_not_muted slow
	run -1 --separate-stderr frbpf mute --off slow
	[[ $stderr == *"not muted"* ]]
	slow_calls 1
	wait_for_incident "$BASE" 1
}

@test "an armed rule fires beside those of the file, even after a reload, until its time ends" {
	frbpf_load
	frbpf mute slow
	run -0 --separate-stderr frbpf arm 'syscall:clock_nanosleep > 15ms' --if "comm == \"$victim\"" --for 10m
	same "name" "$output" arm-1
	run -0 frbpf status
	[[ $output == *"rule arm-1: syscall:clock_nanosleep > 15ms if comm == \"$victim\""*"armed for another "* ]]
	slow_calls 1
	wait_for_incident "$BASE" 1
	same "rule" "$(manifest "$(incidents "$BASE")" rule)" arm-1
	echo '[rule-other]
when = runqlat > 10s' >>"$RULES"
	frbpf_load
	same "matched after a reload" "$(status_of arm-1 .matched)" 1
	frbpf arm --off arm-1
	same "name" "$(frbpf arm 'syscall:clock_nanosleep > 15ms' --if "comm == \"$victim\"" --for 3s)" arm-2
	frbpf_load
	wait_until 15 has_no_rule arm-2
	slow_calls 1
	same "matched of the file's rule" "$(status_of slow .matched)" 2
	same "incidents" "$(incidents "$BASE" | wc -l)" 1
}

@test "arm --off ends an armed rule; its name is not reused" {
	frbpf_load
	same "first" "$(frbpf arm 'runqlat > 10s')" arm-1
	frbpf arm --off arm-1
	has_no_rule arm-1
	same "second" "$(frbpf arm 'runqlat > 10s')" arm-2
	run -1 --separate-stderr frbpf arm --off arm-1
	[[ $stderr == *"arm-1"*armed* ]]
}

@test "errors of an armed rule are shown with their place, and change nothing" {
	frbpf_load
	run -1 --separate-stderr frbpf arm 'runqlat > 20mss'
	[[ ! $output && $stderr == *"(did you mean 'ms'?)"*"^^^^^"* ]]
	[[ $stderr == "frbpf arm: error: "* ]] || fail "$stderr"
	frbpf arm 'runqlat > 20mss' 2>&1 | tail -n 1 | grep -q . || fail "an empty line at the end"
	run -1 --separate-stderr frbpf arm 'runqlat > 20ms' --if 'comn == "x"'
	[[ $stderr == *"did you mean 'comm'?"* ]]
	run -1 --separate-stderr frbpf arm $'runqlat > 20ms\n[session-x]\nrun = -a'
	[[ $stderr == *"one line"* ]]
	run -1 --separate-stderr frbpf arm $'runqlat > 20ms\\' --if 'cpu == 0'
	[[ $stderr == *"one line"* ]]
	run -1 --separate-stderr frbpf mute slwo
	[[ $stderr == *"did you mean 'slow'?"* ]]
	run -1 --separate-stderr frbpf mute slow --for 3
	[[ $stderr == *"--for 3"* ]]
	same "rules" "$(frbpf status --json | jq -r '.rules | map(.name) | join(",")')" slow
	slow_calls 1
	wait_for_incident "$BASE" 1
}

@test "a file with a rule of the same name as an armed one is refused until that ends" {
	frbpf_load
	frbpf arm 'runqlat > 10s' >/dev/null
	printf '[rule-arm-1]\nwhen = runqlat > 9s\n' >>"$RULES"
	run -1 --separate-stderr frbpf_load
	[[ $stderr == *"frbpf arm --off arm-1"* ]]
	frbpf arm --off arm-1
	frbpf_load
	same "when" "$(status_of arm-1 .when)" "runqlat > 9s"
}
