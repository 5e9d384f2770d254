#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The pages list what the program itself lists: commands, options, keys, sources and fields.

# shellcheck disable=SC2154 # set by bats and the helpers
# with: others
load helpers

setup() {
	common_setup
	cd "$root" || return
}

commands() {
	"$FRBPF" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'
}

# Prints the names on standard input that no list item of PAGE has after MACRO.
missing() { # PAGE MACRO
	local name
	while read -r name; do
		grep -qE "^\.It (.* )?$2 $name( |$)" "$1" || echo "$name"
	done
}

# Prints the part of PAGE that describes COMMAND.
part_of() { # COMMAND PAGE
	awk -v name="$1" '/^\.It Cm / {inside = $3 == name} /^\.S[hs]/ {inside = 0} inside' "$2"
}

# Prints the options in --help: x for -x, -long for --long. Options that every command has are left out, as the page
# describes them once.
options_of() { # COMMAND
	"$FRBPF" "$1" --help | sed -n 's/^  \(    \)\{0,1\}-/-/p' | sed 's/   *.*//' |
		grep -oE '(^|[ ,])-(-[a-z-]+|[a-z]\b)' | sed 's/^[ ,]*-//' | sort -u |
		grep -vxE -e '-(base|config|help)|h'
}

# Prints the options of all list items of PAGE, in the same form.
options_in() { # PAGE
	grep '^\.It ' "$1" | grep -oE '\bFl [A-Za-z-]+' | sed 's/^Fl //' | sort -u |
		grep -vxE -e '-(base|config|help)|h'
}

# Prints the names on standard input that are nowhere in PAGE.
missing_words() { # PAGE
	local name
	while read -r name; do
		grep -qwF -e "$name" "$1" || echo "$name"
	done
}

@test "a page has every command and each of its options, and no other" {
	local command page
	[[ $(commands | wc -l) -ge 10 ]]
	[[ ! $(commands | missing docs/frbpf.8 Cm) ]] || fail "missing: $(commands | missing docs/frbpf.8 Cm)"
	for command in $(commands); do
		page=docs/frbpf-$command.1
		if [[ ! -e $page ]]; then
			page=$BATS_TEST_TMPDIR/$command
			part_of "$command" docs/frbpf.8 >"$page"
		fi
		same "the options of $command in its page" "$(options_in "$page")" "$(options_of "$command")"
	done
	[[ $(options_of dump) == *-session*s ]]
	for command in -base -config; do
		[[ ! $(missing docs/frbpf.8 Fl <<<"$command") ]]
	done
}

@test "the page on rules files has every key of a section" {
	printf '%s\n' '[daemon]' 0 '0zqxj = 1' 'zqxj = 1' '[session-a]' 'run = -a' 'zqxj = 1' '[rule-a]' \
		'when = runqlat > 1s' 'zqxj = 1' |
		sed '/^0/d' >"$RULES"
	run -1 --separate-stderr "$FRBPF" check "$RULES"
	sed -n "s/.*unknown key 'zqxj' in .*: use one of //p" <<<"$stderr" | tr ' ' '\n' |
		sort -u >"$BATS_TEST_TMPDIR/keys"
	grep -qx base "$BATS_TEST_TMPDIR/keys"
	grep -qx run "$BATS_TEST_TMPDIR/keys"
	grep -qx when "$BATS_TEST_TMPDIR/keys"
	[[ ! $(missing docs/frbpf-rules.5 Ic <"$BATS_TEST_TMPDIR/keys") ]] ||
		fail "missing: $(missing docs/frbpf-rules.5 Ic <"$BATS_TEST_TMPDIR/keys")"
}

@test "the page on rules files has every source, and every field of if for it" {
	local source
	"$FRBPF" events --json 2>/dev/null |
		jq -r '.events[] | select(.in == "when" and (.name | contains(":") | not)) | .name' \
		>"$BATS_TEST_TMPDIR/sources"
	grep -qx runqlat "$BATS_TEST_TMPDIR/sources"
	[[ ! $(missing_words docs/frbpf-rules.5 <"$BATS_TEST_TMPDIR/sources") ]] ||
		fail "missing: $(missing_words docs/frbpf-rules.5 <"$BATS_TEST_TMPDIR/sources")"
	while read -r source; do
		"$FRBPF" events -v "$source" 2>/dev/null | sed -n 's/^    \([a-z]*\)[0-9]* .*/\1/p'
	done <"$BATS_TEST_TMPDIR/sources" | sort -u >"$BATS_TEST_TMPDIR/fields"
	grep -qx comm "$BATS_TEST_TMPDIR/fields"
	sed -i 's/^arg$/arg0/' "$BATS_TEST_TMPDIR/fields"
	[[ ! $(missing_words docs/frbpf-rules.5 <"$BATS_TEST_TMPDIR/fields") ]] ||
		fail "missing: $(missing_words docs/frbpf-rules.5 <"$BATS_TEST_TMPDIR/fields")"
}

# Words in quotes that may be names in JSON.
quoted_words() {
	grep -v '#include' | grep -oE '"[a-z_]{2,}"' | tr -d '"' | sort -u
}

@test "the pages have every name in a manifest, and in the verdict of why" {
	local names=$BATS_TEST_TMPDIR/names
	{
		cat user/dump/base/manifest.c
		grep -h json_ user/dump/state/*.c
	} | quoted_words >"$names"
	grep -qx threshold_ns "$names"
	[[ ! $(missing_words docs/frbpf-manifest.5 <"$names") ]] ||
		fail "missing: $(missing_words docs/frbpf-manifest.5 <"$names")"
	quoted_words <user/analyse/why/why_text.c >"$names"
	grep -qx first_ns "$names"
	cat docs/frbpf-why.1 docs/frbpf-manifest.5 >"$names.pages"
	[[ ! $(missing_words "$names.pages" <"$names") ]] || fail "missing: $(missing_words "$names.pages" <"$names")"
}

@test "a rules file in a page is valid" {
	sed -n '/^\[session-cpu\]/,/^\.Ed/p' docs/frbpf-rules.5 | sed '/^\.Ed/,$d' >"$RULES"
	run -0 --separate-stderr "$FRBPF" check "$RULES"
	sed -n '/^\[rule-runq-spike\]/,/^```/p' README.md | sed '/^```/,$d' >"$RULES"
	run -0 --separate-stderr "$FRBPF" check "$RULES"
	sed -n '/^\[session-offcpu\]/,/^```/p' docs/tutorial.md | sed '/^```/,$d' >"$RULES"
	run -0 --separate-stderr "$FRBPF" check "$RULES"
}

@test "the README has at most 150 lines, and the glossary at most 20 terms" {
	(($(wc -l <README.md) <= 150))
	(($(sed -n '/^## Glossary/,$p' CONTRIBUTING.md | grep -c '^| [a-z]') <= 21)) # 20, and the header of the table
}

# Prints sentences of 25 words or more. A sentence ends at a full stop; a table cell is a text of its own.
long_sentences() { # PAGE...
	awk '
		function check(sentence,  i, n, words, count) {
			n = split(sentence, words, " ")
			for (i = 1; i <= n; i++)
				count += words[i] ~ /[A-Za-z0-9]/ && words[i] !~ macros
			if (count >= 25)
				print page ":" start ": " count " words:" sentence
		}
		function flush(  i, n, sentences) {
			n = split(text, sentences, /[.!?]+[])"`*]*( +|$)/)
			for (i = 1; i <= n; i++)
				check(sentences[i])
			text = ""
		}
		function flush_cells(row, separator,  i, n, cells) {
			flush()
			start = FNR
			n = split(row, cells, separator)
			for (i = 1; i <= n; i++) {
				text = " " cells[i]
				flush()
			}
		}
		BEGIN {macros = "^(Ar|Cm|Dq|Dv|Em|Ev|Fl|Ic|Li|Nm|No|Ns|Oc|Oo|Op|Pa|Pq|Ql|Sq|Sx|Va|Vt|Xr)$"}
		FNR == 1 {flush(); page = FILENAME; code = 0}
		/^```/ || /^\.Bd/ {flush(); code = !code; next}
		/^\.Ed/ {code = 0; next}
		code || /^    / || /^\.\\"/ {flush(); next}
		/^\|/ {flush_cells($0, "[|]"); next}
		/^\.It .* Ta / {flush_cells(substr($0, 5), " Ta "); next}
		/^$/ || /^(#|\* |- |[0-9]+\. |\([0-9]+\) )/ || /^\.(Nm|Pp|S[hs]|It|[BE]l)/ {flush()}
		/^\.(S[hs]|It|[BE]l|Pp|D[dt]|Os)/ {next}
		{
			if (text == "")
				start = FNR
			sub(/^(\.[A-Z][a-z]|\([0-9]+\)) /, "")
			text = text " " $0
		}
		END {flush()}' "$@"
}

@test "each sentence of the pages has less than 25 words" {
	local words="two three four five six seven eight nine ten: 11, 12, 13 14 15 16 17 18; 19 20 21 22 23 24"
	run -0 long_sentences README.md CONTRIBUTING.md docs/*.md docs/*.[1-8]
	[[ ! $output ]] || fail "$output"
	same "sentences that are too long" "$(long_sentences - <<-EOF | cut -d : -f 2,3
		One $words. One
		$words
		more. And, 3.4 of it.
		(1) One $words 25
		| One $words | one $words 25. One. |
		.It Li One $words Ta one
		.Cm One $words 25
	EOF
	)" "$(printf '%s: 25 words\n' 1 4 5 7)"
}

@test "files and links named in the pages exist" {
	local page link dir
	for page in README.md CONTRIBUTING.md docs/*.md; do
		dir=$(dirname "$page")
		while read -r link; do
			[[ -e $dir/$link ]] || fail "$page: $link is not there"
		done < <(grep -oE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -v '^http')
		while read -r link; do
			[[ -e $link ]] || fail "$page: $link is not there"
		done < <(grep -oP '(?<![\w/.])(bpf|configs|docs|scripts|tests|user)/[\w./-]*[A-Za-z0-9]\b' "$page" |
			grep -v NAME | sort -u)
	done
	for dir in user/*/; do
		grep -qF "| \`${dir%/}\` |" CONTRIBUTING.md || fail "CONTRIBUTING.md: $dir is not in the code map"
	done
	for page in docs/*.[1-8]; do
		while read -r link; do
			[[ -e docs/$link || $link != frbpf* ]] || fail "$page: $link is not there"
		done < <(sed -n 's/^\.Xr \([a-z-]*\) \([0-9]\).*/\1.\2/p' "$page")
	done
}

@test "the manual pages are formatted without warnings" {
	command -v man >/dev/null || skip "no man"
	local page
	for page in docs/*.[1-8]; do
		run -0 --separate-stderr env MANWIDTH=80 man --warnings ./"$page"
		[[ ! $stderr ]] || fail "$page: $stderr"
		[[ $output == *NAME*DESCRIPTION* ]]
		! command -v mandoc >/dev/null || mandoc -Tlint -W warning "$page"
	done
}

complete_words() { # WORDS...: what is offered for the last one
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_frbpf "$FRBPF" "${*: -1}" "${COMP_WORDS[-2]}"
	printf '%s\n' "${COMPREPLY[@]}" | sort
}

@test "completion offers every command and every option" {
	local command
	# shellcheck source=configs/completion.bash
	source configs/completion.bash
	diff <(commands | sort) <(complete_words frbpf '')
	[[ $(complete_words frbpf che) == check ]]
	for command in $(commands); do
		diff <("$FRBPF" "$command" --help | grep -oE '(^|[ ,[])--[a-z-]+' | grep -oE -e '--.*' | sort -u) \
			<(complete_words frbpf --base "$BASE" "$command" --)
	done
	complete_words frbpf bench -- | grep -qx -e --when
	[[ $(complete_words frbpf help che) == check ]]
	same "commands of daemon" "$(complete_words frbpf daemon '' | xargs)" "ping signal start stop"
	[[ ! $(complete_words frbpf daemon start '') ]]
	same "what diff sorts by" "$(complete_words frbpf diff --sort '' | xargs)" "self total"
	[[ ! $(complete_words frbpf check --live '') ]]
	mkdir "$BATS_TEST_TMPDIR/there"
	touch "$BATS_TEST_TMPDIR/this"
	[[ $(complete_words frbpf show --kallsyms "$BATS_TEST_TMPDIR/th") == "$BATS_TEST_TMPDIR/there" ]]
}

@test "completion, --help, README and manual page name every shipped rules file" {
	local name
	# shellcheck source=configs/completion.bash
	source configs/completion.bash
	for name in load check test; do
		same "what $name offers" "$(complete_words frbpf $name @)" \
			"$(basename -s .conf configs/*.conf | sed 's/^/@/' | sort)"
	done
	[[ $(complete_words frbpf load @l) == @latency ]]
	for name in $(complete_words frbpf load @ | grep -vx @quickstart); do
		[[ $("$FRBPF" load --help) == *"$name"* ]] || fail "load --help lacks $name"
		grep -qF "[$name](configs/${name#@}.conf)" README.md || fail "README.md lacks $name"
		grep -qxF ".It Li $name" docs/frbpf.8 || fail "frbpf.8 lacks $name"
	done
}

@test "make install puts program, pages and completion in place, and make uninstall takes them away" {
	[[ -x $root/frbpf ]] || skip "not built here"
	local file
	make -s -o all -o frbpf install DESTDIR="$BATS_TEST_TMPDIR/i" PREFIX=/usr
	for file in bin/frbpf share/man/man8/frbpf.8 share/man/man1/frbpf-run.1 share/man/man5/frbpf-rules.5 \
		share/man/man5/frbpf-manifest.5 share/man/man7/frbpf-app.7 \
		share/bash-completion/completions/frbpf share/doc/frbpf/README.md share/doc/frbpf/docs/tutorial.md; do
		[[ -e $BATS_TEST_TMPDIR/i/usr/$file ]] || fail "$file is not installed"
	done
	make -s uninstall DESTDIR="$BATS_TEST_TMPDIR/i" PREFIX=/usr
	[[ ! $(find "$BATS_TEST_TMPDIR/i" -type f) ]] || fail "left: $(find "$BATS_TEST_TMPDIR/i" -type f)"
}

capabilities_in() { # FILE FROM [TO]: in the line that matches, or between two, one a line
	sed -n "/$2/${3:+,/$3/}p" "$1" | grep -o 'CAP_[A-Z_]*' | sort
}

@test "the page on security has each capability that a process keeps, and no other" {
	local page=docs/SECURITY.md kept
	kept=$(capabilities_in user/common/rights.c '^int rights__keep_recorder' '};')
	[[ $kept ]]
	same "the daemon's" "$(sed -n '/^## What each/,/^## Proc/s/^| .\(CAP_[A-Z_]*\).*/\1/p' $page | sort)" "$kept"
	same "the opener's" "$(capabilities_in $page '^| .frbpf-opener.')" \
		"$(capabilities_in user/examine/sandbox.c 'int keep\[\]')"
	same "the administrator's" "$(capabilities_in $page '^| .frbpf-admin.')" \
		"$(capabilities_in user/admin/server.c '^static const int kept')"
	same "those of readers' openers" "$(capabilities_in $page '^The opener has')" \
		"$(capabilities_in user/common/rights.c '^int rights__keep_reader' '};')"
}

@test "SECURITY.md names every fuzz target and no other" {
	same "fuzz targets" "$(grep -o 'fuzz_[a-z_]*' docs/SECURITY.md | sort -u)" \
		"$(basename -s .c tests/fuzz/fuzz_*.c | sort)"
}

@test "the page on why has all words for causes, waits, locks and missing events" {
	local word missing=

	# [WAIT_FUTEX] = { "a futex", "futex" }, [MISSING_LOST] = { "lost", "..." }, [WAKE_NET] = "network"
	run -0 grep -ohE '\[(WAIT|LOCK)_[A-Z_]+\] = \{ "[^"]*", "[a-z-]+|\[MISSING_[A-Z_]+\] = \{ "[a-z-]+|\[(CAUSE|WAKE|WHY)_[A-Z_]+\] = "[a-z-]+' \
		user/analyse/why/wait_kind.c user/analyse/why/why_verdict.c user/analyse/why/why_text.c
	((${#lines[@]} > 80)) || fail "only ${#lines[@]} words"
	while read -r word; do
		grep -qE "^\.(Li|It Li) .*\<$word( |\$)" docs/frbpf-why.1 || missing+=" $word"
	done < <(printf '%s\n' "${lines[@]##*\"}" | sort -u)
	[[ ! $missing ]] || fail "not in the page:$missing"
}
