#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks which directory of user/ may include which, as TAP: one test per directory. Also checks that no two files share
# a name, and that there are no stray files at the top of the tree. A directory may use itself and the directories on
# its line below, and nothing else. A new directory needs a line.
#
#	scripts/layers.sh [DIRECTORY]	a tree with user/; default: this tree
set -u
# shellcheck source=check/tap.sh
. "$(dirname "$0")/check/tap.sh"
cd "${1:-$(dirname "$0")/..}" || exit 1

# DIRECTORY: what it uses. Each line names only directories of lines above it, so there are no cycles. `bpf` has the types
# that user/ shares with BPF programs, `skeletons` the programs.
layers='
bpf:
skeletons:
common:
perfdata: common
symbols: perfdata common
rules: common bpf
confine: symbols rules perfdata common
admin: common
examine: symbols rules perfdata common bpf
proxy: common
record: admin rules perfdata common bpf
sideband: examine admin symbols perfdata common
detect: examine admin symbols rules common bpf skeletons
dump: detect record sideband examine symbols rules perfdata common bpf
analyse: symbols perfdata common bpf
trial: analyse rules common
daemon: dump detect record sideband proxy examine admin confine symbols rules perfdata common
run: daemon dump detect record sideband proxy examine confine symbols analyse rules perfdata common bpf
bench: run record rules common
cmd: bench run daemon dump detect record sideband proxy examine admin confine symbols trial analyse rules perfdata common bpf
main.c: cmd rules common
'

# Prints "DIRECTORY FILE:LINE INCLUDED-DIRECTORY" for every include of a file in another directory.
includes() {
	# shellcheck disable=SC2016 # of awk
	find user -name '*.[ch]' -print0 | sort -z | xargs -0 awk -v of_bpf=" $(echo bpf/*.h) " '
		/^#include "/ {
			split(FILENAME, of, "/")
			split($2, what, /[\/"]/)
			if (index(of_bpf, " bpf/" what[2] " "))
				what[2] = "bpf"
			else if (what[2] ~ /\.skel\.h$/)
				what[2] = "skeletons"
			else if ($2 !~ /\//)
				next
			if (of[2] != what[2])
				print of[2], FILENAME ":" FNR, what[2]
		}'
}

all=$(includes)
for directory in user/*; do
	directory=${directory#user/}
	if ! grep -q "^$directory:" <<<"$layers"; then
		result "layer of user/$directory" "scripts/layers.sh has no line for it"
		continue
	fi
	uses=$(sed -n "s/^$directory: *//p" <<<"$layers")
	result "user/$directory uses ${uses:-nothing}" "$(awk -v directory="$directory" -v uses=" $uses " '
		$1 == directory && !index(uses, " " $3 " ") {print $2 ": includes " $3 "/"}' <<<"$all")"
done
result "table without cycles" "$(awk -F: '$1 {
	split($2, uses, " ")
	for (i in uses)
		if (!(uses[i] in above))
			print $1 " uses " uses[i] ", which is not above it"
	above[$1]
}' <<<"$layers")"
result "files of user/ have names of their own" "$(find user -name '*.[ch]' -printf '%f %p\n' | sort | awk '
	$1 == name {print $2 " and " path} {name = $1; path = $2}')"
# Files of other users are parsed in processes without privileges, and in processes that only read recordings. Openers
# only look for these files.
result "files of other users are parsed by whom that cannot harm" "$(grep -nE \
	'#include "(common/elf_copy|symbols/(elf_.*|cfi|module))\.h"|elf_begin|build_id__read_fd' -r user |
	grep -vE '^user/(symbols|examine|analyse|perfdata/build_id\.[ch]|common/elf_copy\.c)' )"
result "nothing else at the top" "$(git ls-files 2>/dev/null | sed 's|/.*||' | sort -u |
	grep -vxE '\..*|Makefile|(README|CONTRIBUTING)\.md|bpf|configs|docs|scripts|tests|user|vmlinux')"
echo "1..$n"
exit $failed
