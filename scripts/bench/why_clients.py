#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Clients and a server of scripts/bench/why_software. A client prints who waited, and when, by CLOCK_MONOTONIC."""

import socket
import subprocess
import sys
import threading
import time

lock = threading.Lock()


def told(subject, begin, end):
    def seconds(ns):
        return "%d.%09d" % divmod(ns, 1000000000)

    print('{"subject": %d, "from": %s, "to": %s}' % (subject, seconds(begin), seconds(end)), flush=True)


def serve(connection):
    """hold: sleeps with the lock. need: takes it. compute: as long as 30 ms of CPU time."""
    with connection:
        what = connection.recv(100).decode().strip()
        if what == "hold":
            with lock:
                connection.send(b"%d\n" % threading.get_native_id())
                time.sleep(0.4)
        elif what == "need":
            with lock:
                connection.send(b"%d\n" % threading.get_native_id())
        elif what == "compute":
            end = time.thread_time_ns() + 30000000
            while time.thread_time_ns() < end:
                pass
            connection.send(b"%d\n" % threading.get_native_id())


def service(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(10)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


def connect(where):
    if where.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(where)
        return s
    return socket.create_connection(("127.0.0.1", int(where)))


def ask(where, text, whole=False):
    """Send one line, and wait for the first bytes of the answer, or for all of it."""
    with connect(where) as s:
        begin = time.monotonic_ns()
        s.sendall(text.encode().decode("unicode_escape").encode())
        answer = s.recv(100)
        while whole and s.recv(100000):
            pass
        end = time.monotonic_ns()
    if not answer:
        sys.exit("no answer")
    told(threading.get_native_id(), begin, end)


def fetch(where, text):
    ask(where, text, whole=True)


def behind(path):
    """One that holds the service's lock, and another one that needs it."""
    with connect(path) as holder, connect(path) as s:
        holder.sendall(b"hold\n")
        tid = int(holder.recv(100))
        s.sendall(b"need\n")
        begin = time.monotonic_ns()
        s.recv(100)
        end = time.monotonic_ns()
    print(tid, flush=True)
    told(threading.get_native_id(), begin, end)


class Psql:
    def __init__(self, command):
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.backend = int(self.run("SELECT pg_backend_pid();"))

    def run(self, text):
        self.program.stdin.write(text + "\n\\echo done\n")
        self.program.stdin.flush()
        answer = []
        while True:
            line = self.program.stdout.readline()
            if not line:
                sys.exit("psql has ended")
            if line.strip() == "done":
                return "".join(answer)
            answer.append(line)


def idle_transaction(command):
    """One updates a row and leaves its transaction open; the other one wants to update it, too."""
    idle, waiter = Psql(command), Psql(command)
    idle.run("CREATE TABLE IF NOT EXISTS t (n int); DELETE FROM t; INSERT INTO t VALUES (1);")
    idle.run("BEGIN; UPDATE t SET n = 2;")
    ends = threading.Timer(0.4, lambda: idle.run("COMMIT;"))
    ends.start()
    begin = time.monotonic_ns()
    waiter.run("UPDATE t SET n = 3;")
    end = time.monotonic_ns()
    ends.join()
    # its backend, psql, and who tells psql what to do: all are the one who was idle
    print(idle.backend, idle.program.pid, ends.native_id, flush=True)
    told(waiter.backend, begin, end)


if __name__ == "__main__":
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "idle-transaction":
        idle_transaction(arguments)
    else:
        {"service": service, "ask": ask, "fetch": fetch, "behind": behind}[what](*arguments)
