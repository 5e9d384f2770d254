#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One idiom for errors, as TAP: one test for each directory of user/. A variable with an error is `int err`, or
# `int code` beside a `struct err *err`; never r, ret or rc. Steps are chained by `err = err ?: step();`. The length of
# an array is ARRAY_SIZE().
#
#	scripts/idioms.sh [DIRECTORY]	that has user/; the default is this tree
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

# "FILE:LINE: what is wrong"
other_idioms() { # DIRECTORY
	# shellcheck disable=SC2016 # of awk
	find "$1" -name '*.c' -print0 | sort -z | xargs -0 awk '
		FNR == 1 {guard = ""}
		/^\t+int ([a-z_0-9]+( = [^;,()]*)?, )*(r|ret|rc)( =|,|;)/ {print FILENAME ":" FNR ": an error is int err, or int code"}
		/\<(err|code) \? (err|code) : / {print FILENAME ":" FNR ": write ?:"}
		/sizeof\([^()]*\) \/ sizeof\(/ {print FILENAME ":" FNR ": write ARRAY_SIZE()"}
		guard && $0 ~ "^" guard "\t(err|code) = .*;$" {chained = FILENAME ":" FNR ": write err = err ?: ..."; guard = ""; next}
		chained {
			if ($0 !~ /^\t+else/)
				print chained
			chained = ""
		}
		{guard = ""}
		/^\t+if \(!(err|code)\)$/ {match($0, /^\t+/); guard = substr($0, 1, RLENGTH)}'
}

n=0 failed=0
for directory in user/*/; do
	directory=${directory%/}
	wrong=$(other_idioms "$directory")
	((++n))
	if [[ $wrong ]]; then
		echo "not ok $n - errors in $directory"
		echo "# ${wrong//$'\n'/$'\n'# }"
		failed=1
	else
		echo "ok $n - errors in $directory"
	fi
done
echo "1..$n"
exit $failed
