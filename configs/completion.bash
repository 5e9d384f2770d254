# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Completion for bash. Commands, options and their values come from --help, shipped rules from the error of `check @`.

_frbpf_commands() {
	"$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'
}

_frbpf_options() { # PROGRAM COMMAND
	local help
	help=$("$1" "$2" --help 2>/dev/null | sed -n 's/^  \(    \)\{0,1\}-/-/p' | sed 's/   *.*//')
	# a line may have several
	grep -oE -e '(^|, )--[a-z-]+' <<<"$help" | sed 's/^, //'
	grep -oE -e '^-[a-z]\b' <<<"$help"
}

_frbpf_rules() {
	"$1" status 2>/dev/null | sed -n 's/^rule \([^:]*\): .*/\1/p'
}

_frbpf_shipped() {
	"$1" check @ 2>&1 | sed -n 's/.* use one of//p'
}

# The words of "[a|b]" in the usage of a command, or of "[OPTION a|b]".
_frbpf_choices() { # PROGRAM COMMAND [OPTION]
	"$1" "$2" --help 2>/dev/null | sed -n "s/^Usage:.*\[${3:+$3 }\([a-z]*|[a-z|]*\)\].*/\1/p" | tr '|' ' '
}

# The second column of status -x, but for the daemon's own line.
_frbpf_sessions() {
	"$1" status -x, 2>/dev/null | sed -n '2,$s/^[^,]*,\([^,]*\),.*/\1/p'
}

_frbpf_words() { # PROGRAM COMMAND PREVIOUS
	case $2:$3 in
	diff:--sort) _frbpf_choices "$1" diff --sort ;;
	*:--session | dump:-s) [[ $2 == run ]] || _frbpf_sessions "$1" ;;
	daemon:daemon) _frbpf_choices "$1" daemon ;;
	help:help) _frbpf_commands "$1" ;;
	mute:--for | check:--live | arm:--if | arm:--for) ;;
	mute:* | arm:--off) _frbpf_rules "$1" ;;
	load:* | check:* | test:test) _frbpf_shipped "$1" ;;
	why:--* | why:-i) ;;
	show:* | why:*) echo last && "$1" ls 2>/dev/null | sed 's/ .*//' ;;
	esac
}

_frbpf() {
	local program=$1 word=$2 previous=$3 command='' i
	# what follows -- is another program's command line
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) COMPREPLY=() && compopt -o default && return ;;
		--base | --config) [[ $command ]] || ((i++)) ;;
		-*) ;;
		*) command=${command:-${COMP_WORDS[i]}} ;;
		esac
	done
	if [[ $command:$previous == show:--kallsyms ]]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		compopt -o filenames 2>/dev/null # fails outside of a completion
	elif [[ ! $command ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_frbpf_commands "$program")" -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_frbpf_options "$program" "$command")" -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -W "$(_frbpf_words "$program" "$command" "$previous")" -- "$word")
	fi
}

# Where there is nothing to offer, bash offers names of files.
complete -o default -F _frbpf frbpf
