#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A local user who owns files, names, folders and processes that we look at, and uses them against us.

# shellcheck disable=SC2034,SC2154 # for the helpers; set by bats and them
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
# with: others
load run_helpers

setup() {
	need_root
	need_btf
	common_setup
	background=
	cgroup=
	OUT=$BATS_TEST_TMPDIR/out
	# a place that any user reaches, with a folder of theirs and one that is nobody's business
	open_dir=$(mktemp -d /tmp/frbpf-hostile.XXXXXX)
	theirs=$open_dir/theirs
	secret=$open_dir/secret
	mkdir -p "$theirs" "$secret/out/session-x"
	touch "$secret/out/file" "$secret/out/session-x/perf.data"
	chmod 755 "$open_dir"
	chmod 700 "$secret"
	chown 65534:65534 "$theirs"
}

as_them() { # COMMAND...
	setpriv --reuid 65534 --regid 65534 --clear-groups timeout -k 5 60 "$@" </dev/null 3>&-
}

need_their_name() {
	their_name=$(getent passwd 65534 | cut -d: -f1)
	[[ $their_name ]] || skip "no user with uid 65534"
}

@test "run --user gives away what it has made, whatever has taken its name" {
	need_their_name
	as_them mkdir "$theirs/p"
	run -0 frbpf_run "--user=$their_name" --when 'runqlat > 1h' -o "$theirs/p/out" -- \
		sh -c "mv '$theirs/p' '$theirs/away' && ln -s '$secret' '$theirs/p'"
	same "owners of the secret" "$(find "$secret" -printf '%U\n' | sort -u)" 0
	same "owners of the folder" "$(find "$theirs/away/out" -printf '%U\n' | sort -u)" 65534
	[[ -s $theirs/away/out/summary.json ]]
}
