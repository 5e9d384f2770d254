#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs libFuzzer programs one after the other.
#
#	scripts/fuzz.sh [SECONDS] BIN...
#
# Each program runs for SECONDS (300). The corpus of NAME grows in .output/fuzz-corpus/NAME. It begins with
# tests/fuzz/seeds/NAME, for fuzz_rules also with the rules files of tests/rules. An input that crashes is kept in
# .output/fuzz-crashes. Exit status 1 if a program has failed.
set -u
cd "$(dirname "$0")/.." || exit 1

corpus_root=.output/fuzz-corpus
crashes=.output/fuzz-crashes

seed_corpus() { # NAME
	local corpus=$corpus_root/$1 file
	mkdir -p "$corpus" "$crashes" || return 1
	if [[ -d tests/fuzz/seeds/$1 ]]; then
		cp -r "tests/fuzz/seeds/$1/." "$corpus/"
	fi
	[[ $1 == fuzz_rules ]] || return 0
	for file in tests/rules/good/*.conf tests/rules/bad/*.conf; do
		[[ -e $file ]] && cp "$file" "$corpus/$(basename "$(dirname "$file")")-${file##*/}"
	done
	return 0
}

fuzz() { # SECONDS BIN
	local name=${2##*/} log status dict
	dict=tests/fuzz/$name.dict
	log=$corpus_root/$name.log
	seed_corpus "$name" || return 1
	# libFuzzer ends a second later than told, so subtract one. The limit of `timeout` leaves time for the last
	# input.
	local options=()
	[[ ! -e $dict ]] || options=("-dict=$dict")
	timeout -k 10 $(($1 + 60)) "$2" "${options[@]}" -max_total_time=$(($1 > 1 ? $1 - 1 : 1)) -timeout=10 \
		-rss_limit_mb=2048 \
		-artifact_prefix="$crashes/$name-" "$corpus_root/$name" >"$log" 2>&1
	status=$?
	if ((status == 0)); then
		echo "$name: $(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\) second.*/\1 runs in \2 s/p' "$log")"
	else
		echo "$name: FAILED, status $status; $log ends in:"
		tail -n 40 "$log" | sed 's/^/    /'
	fi
	return $status
}

seconds=300
if [[ ${1-} =~ ^[0-9]+$ ]]; then
	seconds=$1
	shift
fi
if (($# == 0)); then
	echo "usage: scripts/fuzz.sh [SECONDS] BIN..." >&2
	exit 2
fi
failed=0
for bin in "$@"; do
	fuzz "$seconds" "$bin" || failed=1
done
exit $failed
