# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by lib.bash
#
# What verdicts and verdicts_against share: the program that judges, and a table of its verdicts.

# Builds $tmp/verdicts.
build_verdicts() {
	local -a libs=(-lbpf -lelf -llzma -lcap -ljansson -lz -lzstd -lm -lpthread -ldl)
	[[ $(uname -m) != x86_64 ]] || libs+=(-lZydis)
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -Iuser -Ibpf scripts/bench/verdicts.c .output/libfrbpf.a "${libs[@]}" \
		-o "$tmp/verdicts" || fail "verdicts.c cannot be built"
}

print_rates_title() { # WHAT
	printf '\n%-24s %6s %6s %9s %9s   %s\n' "$1" n pass disturbed regressed "regressed (95 %), of verdicts given"
}

# The share with an interval that holds the true one 95 times in 100 (Wilson).
print_rates() { # TITLE FILE
	awk -v title="$1" '
		function wilson(k, n, sign,   p, z) {
			p = k / n; z = 1.96
			return 100 * (p + z * z / 2 / n + sign * z * sqrt(p * (1 - p) / n + z * z / 4 / n / n)) / (1 + z * z / n)
		}
		{n++; count[$1]++}
		END {
			if (!n) {
				printf "%-24s %6d   too few pairs were left alone\n", title, 0
				exit
			}
			printf "%-24s %6d %6d %9d %9d   %5.1f %% (%.1f .. %.1f)", title, n, count["pass"],
				count["disturbed"], count["regressed"], 100 * count["regressed"] / n,
				wilson(count["regressed"], n, -1), wilson(count["regressed"], n, 1)
			given = count["pass"] + count["regressed"]
			if (given) printf "   %5.1f %% of %d\n", 100 * count["regressed"] / given, given
			else print "   no verdict"
		}' "$2"
}
