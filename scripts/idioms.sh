#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks one idiom for errors, as TAP: one test for each directory of user/. A variable for an error is `int err`, or
# `int code` beside a `struct err *err`; never r, ret or rc. Steps are chained by `err = err ?: step();`. The length of
# an array is ARRAY_SIZE().
#
# One more test for each directory with C files: no line is longer than 100 columns.
#
#	scripts/idioms.sh [DIRECTORY]	a tree with user/, and perhaps bpf/, tests/ and configs/; default: this tree
set -u
# shellcheck source=check/tap.sh
. "$(dirname "$0")/check/tap.sh"
cd "${1:-$(dirname "$0")/..}" || exit 1

# Prints "FILE:LINE: what is wrong" for idioms.
other_idioms() { # DIRECTORY
	# shellcheck disable=SC2016 # of awk
	find "$1" -name '*.c' -print0 | sort -z | xargs -0 awk '
		FNR == 1 {guard = ""}
		/^\t+int ([a-z_0-9]+( = [^;,()]*)?, )*(r|ret|rc)( =|,|;)/ ||
		/^[a-z].*[(,] ?int (r|ret|rc|error)[,)]/ {
			print FILENAME ":" FNR ": an error is int err, or int code"
		}
		/\<(err|code) \? (err|code) : / {print FILENAME ":" FNR ": write ?:"}
		/sizeof\([^()]*\) \/ sizeof\(/ {print FILENAME ":" FNR ": write ARRAY_SIZE()"}
		guard && $0 ~ "^" guard "\t(err|code) = .*;$" {
			chained = FILENAME ":" FNR ": write err = err ?: ..."
			guard = ""
			next
		}
		chained {
			if ($0 !~ /^\t+else/)
				print chained
			chained = ""
		}
		{guard = ""}
		/^\t+if \(!(err|code)\)$/ {match($0, /^\t+/); guard = substr($0, 1, RLENGTH)}'
}

# Prints "FILE:LINE: what is wrong" for long lines. A tab leads to the next multiple of 8; a UTF-8 character is one
# column.
long_lines() { # DIRECTORY
	# shellcheck disable=SC2016 # of awk
	find "$1" -name '*.[ch]' -print0 | sort -z | LC_ALL=C xargs -0 awk '
		{
			columns = 0
			n = split($0, part, "\t")
			for (i = 1; i <= n; i++) {
				gsub(/[\200-\277]/, "", part[i])
				columns += length(part[i])
				if (i < n)
					columns += 8 - columns % 8
			}
			if (columns > 100)
				print FILENAME ":" FNR ": " columns " columns, more than 100"
		}'
}

for directory in user/*/; do
	result "errors in ${directory%/}" "$(other_idioms "${directory%/}")"
done
for directory in user/*/ bpf/ tests/*/ configs/include/; do
	[[ ! -d $directory ]] || result "columns in ${directory%/}" "$(long_lines "${directory%/}")"
done
echo "1..$n"
exit $failed
