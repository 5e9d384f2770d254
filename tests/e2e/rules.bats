#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Features of rules, in a running daemon: failures, limits, rules that only count.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	need_root
	need_btf
	need_tracepoints
	common_setup
	# a program with a unique name
	cp "$(command -v cat)" "$BATS_TEST_TMPDIR/frbpf-cat"
}

teardown() {
	common_teardown
}

fail_to_open() {
	! "$BATS_TEST_TMPDIR/frbpf-cat" /no/such/file 2>/dev/null
}

# rule PATH: prints a value of the only rule from `frbpf status --json`
rule() {
	frbpf status --json | jq -re ".rules[0]$1"
}

has_matched() { # AT-LEAST
	(($(rule .matched) >= $1))
}

@test "a failing call makes an incident, and max-dumps limits them" {
	write_rules <<-'EOF'
		[daemon]
		merge = 0

		[rule-missing]
		when = syscall:openat fails (ENOENT)
		if = comm ~ "frbpf-c?t" && ret == -ENOENT
		cooldown = 0
		max-dumps = 2 in 1h
	EOF
	frbpf_load
	fail_to_open
	wait_for_incident "$BASE" 1
	name=$(incidents "$BASE" | head -n 1) # there may be more incidents, of files that the C library looks for
	same "rule" "$(manifest "$name" rule)" missing
	same "comm" "$(manifest "$name" comm)" frbpf-cat
	same "ret" "$(jq -re '.triggers[0].ret' "$BASE/incidents/$name.json")" -2
	run -0 frbpf show
	[[ $output == *"openat failed with ENOENT"* ]]
	fail_to_open
	wait_for_incident "$BASE" 2
	for _ in 1 2; do
		fail_to_open
	done
	same "incidents of the rule" "$(rule .incidents)" 2
	between "$(rule .suppressed.rule_max_dumps)" 2 1000 "suppressed by max-dumps"
	run -0 frbpf status
	[[ $output == *"max-dumps of the rule"* ]]
	frbpf_finish
	same "number of incidents" "$(incidents "$BASE" | wc -l)" 2
}

@test "the max-dumps of all rules together outlasts a reload" {
	write_rules <<-'EOF'
		[daemon]
		max-dumps = 1 in 1h
		merge = 0

		[rule-missing]
		when = syscall:openat fails
		if = comm == "frbpf-cat"
		cooldown = 0
	EOF
	frbpf_load
	fail_to_open
	wait_for_incident "$BASE" 1
	sed -i 's/^cooldown = 0/cooldown = 1ms/' "$RULES"
	frbpf_load
	fail_to_open
	between "$(rule .suppressed.max_dumps)" 1 1000 "suppressed by max-dumps of all"
	frbpf_finish
	same "number of incidents" "$(incidents "$BASE" | wc -l)" 1
}

@test "dump = none only counts, and status -v draws the values" {
	write_rules <<-'EOF'
		[rule-opens]
		when = syscall:openat > 1ns
		if = comm == "frbpf-cat"
		dump = none
		cooldown = 0
	EOF
	frbpf_load
	fail_to_open
	wait_until 15 has_matched 1
	same "sum of the histogram" "$(rule '.values | map(.matches) | add')" "$(rule .matched)"
	run -0 frbpf status -v
	[[ $output == *"(only counts)"* && $output == *"***"* ]]
	frbpf_finish
	same "number of incidents" "$(incidents "$BASE" | wc -l)" 0
}

# suppressed NAME: prints the suppressed matches in the manifest of NAME
suppressed() {
	jq -c '[.suppressed[] | [.rule, .count, .largest.value_ns, .largest.subject.pid > 0]]' \
		"$BASE/incidents/$1.json"
}

has_suppressed() { # NAME
	[[ $(suppressed "$1") != "[]" ]]
}

@test "the manifest counts what a cooldown suppressed, once the cooldown is over or the rule fires again" {
	write_rules <<-'EOF'
		[daemon]
		merge = 0

		[rule-late]
		when = app:late > 10ms
		cooldown = 1h
	EOF
	frbpf_load
	frbpf trigger late 20ms
	wait_for_incident "$BASE" 1
	first=$(incidents "$BASE" | head -n 1)
	for ms in 30 70 25; do frbpf trigger late ${ms}ms; done
	same "nothing yet" "$(suppressed "$first")" "[]"
	frbpf trigger late 900ms # this value is high enough to break the cooldown
	wait_for_incident "$BASE" 2
	wait_until 10 has_suppressed "$first"
	same "the first" "$(suppressed "$first")" '[["late",3,70000000,true]]'
	second=$(incidents "$BASE" | tail -n 1)
	same "it broke the cooldown" "$(jq .triggers[0].escalated "$BASE/incidents/$second.json")" true
	frbpf trigger late 50ms
	wait_until 10 has_matched 6
	frbpf_finish
	same "the second" "$(suppressed "$second")" '[["late",1,50000000,true]]'
	run -0 frbpf show "$first"
	[[ $output == *"then suppressed: 3 more of rule late, the largest 70ms"* ]]
}
