# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # for and from why_software
#
# The incidents of why_software: how each one is set up and run, and what is known about it.
#
# Each case has two functions. NAME_begin is called once; it returns 1 and sets $why_not if the case is not possible
# here. NAME_run prints the culprits, and on the last line the thread that waited. $rule fires on that thread. $cause is
# a pattern for the kind of cause. $function is a pattern for a function that the culprit must have; it may be empty.
#
# The kernel gives no client a port below 32768. A port that a client has had until a minute ago cannot be listened on.

# on_slow_disk MS PREPARE COMMAND: runs COMMAND in the background, with a file system on a slow disk
on_slow_disk() {
	need mkfs.ext4 || return
	background "$cause_program" --ms "$1" on-slow-disk "$2" "$3" &>"$tmp/slow-disk"
	slow_disk_pid=$!
}

postgres_begin() {
	need psql && postgres_start || return
	cause=own-timer
	# the functions in which a backend waits for a lock, and for the next command of its client
	rule="when = uprobe:$(command -v postgres):ProcSleep > 200ms
		if = process == \"postgres\""
	function='WaitEventSetWait|WaitLatch|secure_read'
}

postgres_run() {
	"${clients[@]}" idle-transaction psql -h "$pg" -U postgres -qAtX
}

redis_begin() {
	need redis-server redis-cli || return
	cause=computed rule='when = syscall:recvfrom > 3ms
		if = process == "client"' function='_Fork|redisFork'
	background "${first[@]}" redis-server --port 17110 --save '' --dir "$tmp" --enable-debug-command yes &>/dev/null
	redis_pid=$!
	wait_for redis-cli -p 17110 ping
	redis-cli -p 17110 debug populate 100000 key 4000 >/dev/null
}

# Waits until an earlier BGSAVE has ended, so that the dump does not have it.
redis_run() {
	wait_for redis_saved
	echo "$redis_pid"
	"${clients[@]}" ask 17110 'BGSAVE\r\n'
}

redis_saved() {
	redis-cli -p 17110 info persistence | grep -q 'rdb_bgsave_in_progress:0'
}

redis-aof_begin() {
	need redis-server redis-cli || return
	# the process that serves the disk sleeps
	cause='device|own-timer' rule='when = syscall:recvfrom > 40ms
		if = process == "client" || process == "redis-server"' function='flushAppendOnlyFile'
	# shellcheck disable=SC2016 # of the inner shells
	on_slow_disk 30 'findmnt -no SOURCE "$DISK" >'"$tmp/redis-aof.disk" \
		'exec redis-server --port 17112 --save "" --dir "$DISK" --appendonly yes \
		--appendfsync always --pidfile '"$tmp/redis-aof.pid" || return
	wait_for redis-cli -p 17112 ping
}

# The culprits are redis, the journal of its file system, and the server of its disk.
redis-aof_run() {
	local device
	device=$(<"$tmp/redis-aof.disk")
	cat "$tmp/redis-aof.pid"
	pgrep -x "jbd2/${device#/dev/}-8"
	pgrep -P "$slow_disk_pid" -x cause
	"${clients[@]}" ask 17112 "SET key $run\\r\\n"
}

nginx_begin() {
	need nginx || return
	cause=device rule='when = syscall:recvfrom > 40ms
		if = process == "client" || process == "nginx"' function='ngx_'
	cat >"$tmp/nginx.conf" <<-EOF
		daemon off;
		master_process off;
		pid $tmp/nginx.pid;
		error_log $tmp/nginx.log;
		events {}
		http {
			access_log off;
			server { listen 127.0.0.1:17111; root .; }
		}
	EOF
	# shellcheck disable=SC2016 # of the inner shell
	on_slow_disk 60 'dd if=/dev/urandom of="$DISK/file" bs=1M count=32 status=none' \
		"exec ${first[*]} nginx -p \"\$DISK\" -c $tmp/nginx.conf" || return
	wait_for test -s "$tmp/nginx.pid"
}

# Asks for a part of the file that is not in memory: another part in each run.
nginx_run() {
	cat "$tmp/nginx.pid"
	"${clients[@]}" ask 17111 "GET /file HTTP/1.0\\r\\nRange: bytes=$((run * 1000000))-$((run * 1000000 + 200000))\\r\\n\\r\\n"
}

service_start() { # DIRECTORY COMMAND...
	local path=$1/service
	shift
	"$@" /usr/bin/python3 scripts/bench/why_clients.py service "$path" &>"$tmp/service"
	wait_for test -S "$path"
}

python_begin() {
	cause=own-timer rule='when = syscall:recvfrom > 200ms
		if = process == "client" || process == "service"' function='Py'
	mkdir "$tmp/python"
	service_start "$tmp/python" background "${first[@]}"
}

python_run() {
	"${clients[@]}" behind "$tmp/python/service"
}

container_begin() {
	need unshare || return
	cause=quota rule='when = syscall:recvfrom > 60ms
		if = process == "client"' function=''
	mkdir "$tmp/container"
	group_make cpu || return
	if [[ $v1 ]]; then
		group_limit cpu.cfs_quota_us 10000 && group_limit cpu.shares 262144 || return
	else
		group_limit cpu.max "10000 100000" && group_limit cpu.weight 10000 || return
	fi
	# a CPU quota is only for the fair class, so chrt must not be used here
	service_start "$tmp/container" background_in_group nice -n -20 \
		unshare --pid --mount --uts --ipc --fork --kill-child --mount-proc
	container_pid=$!
}

container_run() {
	# all processes of the container, with the pids that the machine gives them
	cat "$group/cgroup.procs"
	"${clients[@]}" ask "$tmp/container/service" 'compute\n'
}
