# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2030,SC2031 # tmp: of scripts/check.sh; each lane has its own lanes
#
# Jobs of scripts/check.sh: commands with a time limit, several at once. A job has a name and a directory $tmp/NAME.
# There, "out" has its output, "us" the time that it took and, when it is over, "status" its exit status.

out=$tmp/out # output of the command that runs
child=
lanes=()

# Prints the leftovers of a test: processes that have a path below DIRECTORY in their arguments or environment.
leftovers() { # DIRECTORY
	# the pattern comes from a file, so that it does not match grep's own arguments
	grep -lsF -f <(echo "$1/") /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d / -f 3 | sort -u
}

end_child() {
	[[ $child ]] && kill "$child" 2>/dev/null && wait "$child" 2>/dev/null
	child=
}

end_lanes() {
	((${#lanes[@]})) && kill "${lanes[@]}" 2>/dev/null && wait "${lanes[@]}" 2>/dev/null
	lanes=()
}

# Runs a command for at most LIMIT seconds, with its output in $out. The command runs in the background, so that our
# traps work.
limited() { # LIMIT COMMAND...
	local limit=$1 status
	shift
	timeout -k 10 "$limit" "$@" </dev/null >"$out" 2>&1 &
	child=$!
	wait "$child"
	status=$?
	child=
	return $status
}

# Runs a function in the background. end_lanes() ends it and all of its jobs.
in_background() { # FUNCTION
	{
		lanes=()
		trap end_lanes EXIT
		"$1"
	} &
	lanes+=("$!")
}

# Runs jobs in the given order, N at a time.
side_by_side() { # N NAME...
	local n=$1
	local -a others=("${lanes[@]}")
	shift
	while ((n--)); do
		run_lane "$@" &
		lanes+=("$!")
	done
	wait "${lanes[@]:${#others[@]}}"
	lanes=("${others[@]}")
}

# Runs, one after the other, all jobs that no other lane has taken.
run_lane() { # NAME...
	local name status began build
	lanes=()
	trap end_child EXIT
	for name in "$@"; do
		[[ ! -e $tmp/$name ]] || continue # this test is cheap, but another lane may be faster: mkdir decides
		mkdir "$tmp/$name" 2>/dev/null || continue
		find_build "$name"
		await_build
		out=$tmp/$name/out began=${EPOCHREALTIME/[.,]/}
		if build_failed; then
			status=unbuilt
		else
			run_job "$name"
			status=$?
		fi
		echo $((${EPOCHREALTIME/[.,]/} - began)) >"$tmp/$name/us"
		echo $status >"$tmp/$name/status.new"
		mv "$tmp/$name/status.new" "$tmp/$name/status"
	done
}

is_over() { # NAME
	[[ -e $tmp/$1/status ]]
}

# Sets $status to the status of a job that is over.
read_status() { # NAME
	read -r status <"$tmp/$1/status"
}

# Sets $build to the job that builds what a job runs, or to nothing.
find_build() { # NAME
	case $1 in
	lint-* | build-*) build= ;;
	san-* | s-* | fuzz-*) build="build-san" ;;
	*) build="build-all" ;;
	esac
}

await_build() {
	[[ $build ]] || return 0
	until is_over "$build"; do
		sleep 2
	done
}

build_failed() {
	local status
	[[ $build ]] && read_status "$build" && [[ $status != 0 ]]
}
