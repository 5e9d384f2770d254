# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # tmp: of scripts/check.sh
#
# What scripts/check.sh says of its jobs: a line for each suite, with what failed below it.

total_passed=0 total_failed=0 total_skipped=0
unsteady=0 # tests that were forgiven
suite_notes=$tmp/notes

suite_begin() { # NAME
	suite=$1 suite_passed=0 suite_failed=0 suite_skipped=0
	: >"$suite_notes"
}

suite_end() { # TIME: us [REMARK]
	local remark=${2-}
	printf '%-24s %4d passed %3d failed %3d skipped %5d.%01d s%s\n' "$suite" "$suite_passed" "$suite_failed" \
		"$suite_skipped" $(($1 / 1000000)) $(($1 / 100000 % 10)) "${remark:+  ($remark)}"
	cat "$suite_notes"
	((total_passed += suite_passed, total_failed += suite_failed, total_skipped += suite_skipped))
	return 0
}

# One failed test; its output, cut to a screen, comes from standard input, without the memory map at the end of a
# sanitizer's report. Not for the end of a pipeline: it would count in a subshell.
suite_fail() { # TITLE
	((++suite_failed))
	{
		echo "  FAILED: $1"
		sed '/^Shadow bytes around/,$d' | tail -n 60 | sed 's/^/  | /'
	} >>"$suite_notes"
}

# Adds the TAP in FILE to the suite. Output of a test is below the test's line. Results that the plan promises and that
# are missing have failed.
suite_add_tap() { # TITLE STATUS FILE
	local title=$1 status=$2 out=$3 planned ok bad skip
	# one process: there are some 700 such files
	read -r planned ok bad skip < <(awk -v notes="$suite_notes" '
		/^1\.\./ {planned += substr($0, 4)}
		/^(not )?ok .*# (skip|SKIP)/ {
			++skip
			if (sub(/^(not )?ok [0-9]+ /, "  skipped: ")) print >>notes
			next
		}
		/^ok / {++ok}
		/^not ok / {++bad}
		END {print planned + 0, ok + 0, bad + 0, skip + 0}' "$out")
	((suite_passed += ok, suite_skipped += skip))
	if ((bad)); then
		suite_fail "$title" < <(awk '/^not ok / && !/# SKIP/ {show = 1; print; next}
			/^(ok|not ok) / {show = 0} show' "$out")
		((suite_failed += bad - 1))
	fi
	if ((ok + bad + skip < planned)); then
		suite_fail <"$out" \
			"$title: $((planned - ok - bad - skip)) of $planned tests did not run, $(status_words "$status")"
		((suite_failed += planned - ok - bad - skip - 1))
	elif ((status && !bad)); then
		suite_fail <"$out" "$title: $(status_words "$status")"
	fi
}

status_words() { # STATUS
	case $1 in
	124 | 137) echo "out of time" ;;
	*) if (($1 > 128)); then echo "ended by signal $(($1 - 128))"; else echo "exit status $1"; fi ;;
	esac
}

# The names of tests that failed, one a line, from the TAP in FILE.
failed_tests() { # FILE
	sed -nE '/# (skip|SKIP)/d; s/^not ok [0-9]+ (- )?//p' "$1"
}

# A regular expression for the names of the failed tests alone, from the TAP in FILE.
failed_regex() { # FILE
	printf '^(%s)$' "$(failed_tests "$1" | sed 's/[][\.*^$+?(){}|]/\\&/g' | paste -sd '|')"
}

# Whether so few tests of the job NAME failed that they may run again, and nothing else failed.
may_try_again() { # NAME
	local dir=$tmp/$1 failures planned ran
	failures=$(failed_tests "$dir/out" | wc -l)
	planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$dir/out")
	ran=$(grep -cE '^(not )?ok ' "$dir/out")
	((failures && failures <= UNSTEADY_LIMIT - unsteady && ran == ${planned:-0})) || return
	! compgen -G "$dir/sanitizer.*" >/dev/null && [[ ! -e $dir/left ]]
}

# Whether the tests that failed in the job NAME passed in the job NAME.again. Then they count as passed, and what they
# said the first time is kept in NAME/unsteady.
forgive() { # NAME
	local dir=$tmp/$1 again=$tmp/$1.again
	local -a names
	mapfile -t names < <(failed_tests "$dir/out")
	[[ $(<"$again/status") == 0 ]] && (($(grep -c '^ok ' "$again/out") >= ${#names[@]})) || return
	((unsteady += ${#names[@]}))
	{
		printf '  unsteady, passed the second time: %s\n' "${names[@]}"
		awk '/^not ok / && !/# (skip|SKIP)/ {show = 1} /^ok / {show = 0} show' "$dir/out" |
			tail -n 60 | sed 's/^/  | /'
	} >"$dir/unsteady"
	sed -i '/# \(skip\|SKIP\)/!s/^not ok /ok /' "$dir/out"
	echo 0 >"$dir/status"
}
