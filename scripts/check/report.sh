# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # tmp: of scripts/check.sh
#
# What scripts/check.sh prints about its jobs: a line for each suite, and below it what has failed.

total_passed=0 total_failed=0 total_skipped=0
unsteady=0 # number of tests that passed only the second time
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

# Counts a failed test. Its output comes from standard input. It is cut to a screen, and ends before the memory map of a
# sanitizer's report. Do not use it at the end of a pipeline: it would count in a subshell.
suite_fail() { # TITLE
	((++suite_failed))
	{
		echo "  FAILED: $1"
		sed '/^Shadow bytes around/,$d' | tail -n 60 | sed 's/^/  | /'
	} >>"$suite_notes"
}

# Adds the TAP in FILE to the suite. A test's output is printed below its line. Results that the plan promises and that
# are missing count as failed.
suite_add_tap() { # TITLE STATUS FILE
	local title=$1 status=$2 out=$3 planned ok bad skip
	# one process for all, as there are some 700 such files
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

# Prints the names of failed tests in the TAP in FILE, one a line.
failed_tests() { # FILE
	sed -nE '/# (skip|SKIP)/d; s/^not ok [0-9]+ (- )?//p' "$1"
}

# Prints a regular expression that matches only the names of failed tests in the TAP in FILE.
failed_regex() { # FILE
	printf '^(%s)$' "$(failed_tests "$1" | sed 's/[][\.*^$+?(){}|]/\\&/g' | paste -sd '|')"
}

# Succeeds if so few tests of the job NAME failed that they may run again, and nothing else was wrong.
may_try_again() { # NAME
	local dir=$tmp/$1 failures planned ran
	failures=$(failed_tests "$dir/out" | wc -l)
	planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$dir/out")
	ran=$(grep -cE '^(not )?ok ' "$dir/out")
	((failures && failures <= UNSTEADY_LIMIT - unsteady && ran == ${planned:-0})) || return
	! compgen -G "$dir/sanitizer.*" >/dev/null && [[ ! -e $dir/left ]]
}

# Succeeds if the tests that failed in the job NAME passed in the job NAME.again. Then they count as passed, and their
# first output is kept in NAME/unsteady.
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
