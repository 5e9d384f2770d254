# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by lib.bash
#
# What verdicts and verdicts_against share: building the program that judges, and counting its verdicts.

# Builds $tmp/verdicts.
build_verdicts() {
	local -a libs=(-lbpf -ldw -lelf -llzma -lcap -ljansson -lz -lzstd -lm -lpthread -ldl)
	[[ $(uname -m) != x86_64 ]] || libs+=(-lZydis)
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -Iuser -Ibpf scripts/bench/verdicts.c .output/libfrbpf.a "${libs[@]}" \
		-o "$tmp/verdicts" || fail "verdicts.c cannot be built"
}

# note_rates TITLE FILE: notes the number of comparisons, and the share of each verdict in percent. For `regressed`, it
# also notes the 95 % confidence interval of the share (Wilson).
note_rates() {
	awk -v title="$1" '
		function wilson(k, n, sign,   p, z) {
			p = k / n; z = 1.96
			return 100 * (p + z * z / 2 / n + sign * z * sqrt(p * (1 - p) / n + z * z / 4 / n / n)) / (1 + z * z / n)
		}
		function share(row, value) {
			printf "%s: %s\t%.6g\n", title, row, value
		}
		{count[$1]++}
		END {
			share("comparisons", NR)
			if (!NR) exit # too few pairs were undisturbed
			share("disturbed, %", 100 * count["disturbed"] / NR)
			share("regressed, %", 100 * count["regressed"] / NR)
			share("regressed, % at least", wilson(count["regressed"], NR, -1))
			share("regressed, % at most", wilson(count["regressed"], NR, 1))
			given = count["pass"] + count["regressed"]
			if (given) share("regressed, % of verdicts", 100 * count["regressed"] / given)
		}' "$2" >>"$tmp/values"
}
