# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by lib.bash
#
# A PostgreSQL server for a benchmark. Source this file after lib.bash.

PATH=$PATH:$(printf '%s:' /usr/lib/postgresql/*/bin)
# PostgreSQL does not run as root.
as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups)
pg='' pg_pid=''

# postgres_start: sets $pg to the directory of the server's data and socket, and $pg_pid. Its superuser is postgres.
# Returns 1 if PostgreSQL is not installed.
postgres_start() {
	need initdb pg_isready && getent passwd postgres >/dev/null || return
	pg=$tmp/pg
	chmod 0711 "$tmp"
	install -d -m 0700 -o postgres "$pg"
	{
		"${as_postgres[@]}" initdb -D "$pg" --auth trust --no-sync -U postgres
		background "${as_postgres[@]}" postgres -D "$pg" -k "$pg" -c listen_addresses= -c fsync=off
		pg_pid=$!
		wait_until 30 pg_isready -q -h "$pg"
	} &>"$tmp/postgres" || fail "PostgreSQL: $(tail -n 3 "$tmp/postgres")"
}

postgres_end() {
	[[ ! $pg_pid ]] || end "$pg_pid" INT
}
