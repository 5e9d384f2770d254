# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # for the tests; set by bats and the helpers
#
# Shared by the tests of a local user who attacks us. $theirs is a directory of that user, $secret a directory of root.

load run_helpers

setup() {
	need_root
	need_btf
	common_setup
	background=
	cgroup=
	OUT=$BATS_TEST_TMPDIR/out
	# a directory that any user can reach; in it, one that belongs to the user and one that only root can read
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
	setpriv --reuid 65534 --regid 65534 --clear-groups timeout -k 5 180 "$@" </dev/null 3>&-
}

# Fails if TEXT has control characters. They could control a terminal, or make one line look like two.
harmless() { # TEXT
	! LC_ALL=C grep -q '[[:cntrl:]]' <<<"$1" || fail "not harmless: $(cat -v <<<"$1")"
}

# Loads a rule on what hung_files does when it reads "close".
load_rule_on_bad_close() {
	write_rules <<-'EOF'
		[rule-close]
		when = syscall:close fails (EBADF)
		if = comm == "frbpf-hung"
	EOF
	frbpf_load
}
