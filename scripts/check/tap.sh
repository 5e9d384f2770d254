# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # failed: of the includer
#
# How the lint scripts print their results, in TAP.

n=0 failed=0
result() { # TITLE COMPLAINTS
	((++n))
	if [[ $2 ]]; then
		echo "not ok $n - $1"
		echo "# ${2//$'\n'/$'\n'# }"
		failed=1
	else
		echo "ok $n - $1"
	fi
}
