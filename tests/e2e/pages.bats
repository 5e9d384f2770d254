#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Commands, outputs and files that README.md and CONTRIBUTING.md name are right.

# shellcheck disable=SC2154 # set by bats and the helpers
# shellcheck disable=SC2016 # the pages' backticks
# with: others
load helpers

setup() {
	common_setup
	cd "$root" || return
}

# Prints the code blocks and the `words` of a page.
code_of() { # PAGE
	awk '/^```/ {inside = !inside; next} inside || /^    / {print; next}
		{n = split($0, part, "`"); for (i = 2; i <= n; i += 2) print part[i]}' "$1"
}

@test "every make target named in the pages exists" {
	local target
	code_of README.md >"$BATS_TEST_TMPDIR/code"
	code_of CONTRIBUTING.md >>"$BATS_TEST_TMPDIR/code"
	grep -oE '^ *(sudo )?make( [a-z]+)+' "$BATS_TEST_TMPDIR/code" | sed 's/.*make //' | tr ' ' '\n' |
		sort -u >"$BATS_TEST_TMPDIR/targets"
	grep -qx quickstart "$BATS_TEST_TMPDIR/targets"
	while read -r target; do
		grep -qE "^$target:" Makefile || fail "make $target: no such target"
	done <"$BATS_TEST_TMPDIR/targets"
}

@test "CONTRIBUTING.md names every part of scripts/check.sh, and no other" {
	sed -n 's/^check_\([a-z0-9]*\)() {/\1/p' scripts/check.sh | sort >"$BATS_TEST_TMPDIR/parts"
	sed -n 's/^\* `scripts\/check.sh \([a-z]*\)` (\(.*\)) runs a part.*/\1 \2/p' CONTRIBUTING.md | tr -d '`,' |
		tr ' ' '\n' | sort |
		diff "$BATS_TEST_TMPDIR/parts" -
}

@test "every command and option in README.md is known" {
	local words command option
	code_of README.md | grep -oE '(^|/| )frbpf [a-z]+.*' |
		sed 's/ *#.*//; s/.*frbpf //; s/ -- .*//' >"$BATS_TEST_TMPDIR/lines"
	grep -q '^load' "$BATS_TEST_TMPDIR/lines"
	while read -r command words; do
		"$FRBPF" --help | grep -q "^  $command " || fail "frbpf $command: no such command"
		while read -r option; do
			"$FRBPF" "$command" --help | grep -qE "(^|[ ,[])$option([ ,=]|\$)" ||
				fail "frbpf $command $option: no such option"
		done < <(grep -oE '(^| )--?[a-z-]+' <<<"$words")
	done <"$BATS_TEST_TMPDIR/lines"
}

@test "the error in README.md is printed in exactly these words" {
	local line
	sed -n '/^rules.conf:[0-9]/,/^```/p' README.md | sed '/^```/d' >"$BATS_TEST_TMPDIR/wanted"
	line=$(sed -n 's/^rules.conf:\([0-9]*\):.*/\1/p' "$BATS_TEST_TMPDIR/wanted")
	{
		printf '[session-a]\nrun = -e cpu-clock --overwrite -a\n\n[rule-a]\n'
		yes '# a comment' | head -n $((line - 5))
		sed -n 's/^ *[0-9]* | \(when.*\)/\1/p' "$BATS_TEST_TMPDIR/wanted"
	} >"$BATS_TEST_TMPDIR/rules.conf"
	cd "$BATS_TEST_TMPDIR"
	run -1 --separate-stderr "$FRBPF" check rules.conf
	diff wanted <(head -n 3 <<<"$stderr")
}

@test "README.md has a row for each shipped rules file" {
	diff <(sed -n 's/^| \[@[a-z]*\](\(.*\)).*/\1/p' README.md | sort) \
		<(printf '%s\n' configs/*.conf | grep -v quickstart | sort)
}

@test "README.md names every library that frbpf is linked with" {
	local library
	while read -r library; do
		case $library in
		m | pthread | dl | z) continue ;; # these belong to the C library, or are on every system
		esac
		sed -n '/^\* To build/,/^\* /p' README.md | grep -qiw -e "$library" -e "lib$library" ||
			fail "$library is missing"
	done < <(sed -n 's/^LIBS *:= //p' Makefile | grep -oE -e '-l[A-Za-z]+' | sed 's/^-l//')
}

@test "functions, tables and types named in CONTRIBUTING.md exist" {
	local name
	code_of CONTRIBUTING.md | grep -xE '(enum |struct )?[a-z]+_[a-z_]+(\(\))?' | sed 's/()$//; s/.* //' |
		grep -vx ret_x | sort -u >"$BATS_TEST_TMPDIR/names"
	grep -qx cmd_next_option "$BATS_TEST_TMPDIR/names"
	while read -r name; do
		grep -rqw -e "$name" --include='*.[ch]' --include='*.bash' user bpf tests || fail "$name is nowhere"
	done <"$BATS_TEST_TMPDIR/names"
}

@test "make bench prints ratios, and writes all values as JSON" {
	need_root
	need_perf
	[[ -x $root/.output/tests/workloads/burn ]] || skip "not built here"
	cat >"$BATS_TEST_TMPDIR/some" <<-EOF
		#!/bin/bash
		source "$root/scripts/bench/lib.bash"
		bench_begin 1
		for value in 20 21 22; do note 'frbpf, "1" rule' \$value; note others \$((3 * value)); done
		table "a thing: ns" 'frbpf, "1" rule' best
	EOF
	chmod +x "$BATS_TEST_TMPDIR/some"
	run -0 scripts/bench/all --json "$BATS_TEST_TMPDIR/json" "$BATS_TEST_TMPDIR/some"
	[[ ${lines[0]} == 'a thing: ns (1: frbpf, "1" rule)' && ${lines[2]} =~ ^\ +others\ +3$ ]] || fail "$output"
	jq -e '.schema == 1 and (.rows | length) == 2 and .rows[1].ratio == 3 and .rows[1].value == 60 and
		.rows[1].median == 63' \
		"$BATS_TEST_TMPDIR/json"
	printf '#!/bin/bash\nexit 1\n' >"$BATS_TEST_TMPDIR/some"
	run -1 --separate-stderr scripts/bench/all --json "$BATS_TEST_TMPDIR/json" "$BATS_TEST_TMPDIR/some"
	[[ $stderr == "failed: $BATS_TEST_TMPDIR/some" ]] || fail "$stderr"
}
