#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Clients and a server for scripts/bench/why_software. A client prints the culprits, then the thread that waits.
For scripts/bench/why: a program that waits for a disk 50 times a second.

Threads have names that rules use, as in real programs: client, service, idle-app."""

import os
import socket
import subprocess
import sys
import threading
import time

lock = threading.Lock()


def named(name):
    with open("/proc/self/comm", "w") as f:
        f.write(name)


def serve(connection):
    """hold: sleep with the lock. need: take the lock. compute: use 30 ms of CPU time."""
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
    named("service")
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


def ask(where, text):
    """Send one line, and wait for the first bytes of the answer."""
    named("client")
    with connect(where) as s:
        s.sendall(text.encode().decode("unicode_escape").encode())
        answer = s.recv(100)
    if not answer:
        sys.exit("no answer")
    print(threading.get_native_id())


def behind(path):
    """One request holds the service's lock, and another one needs it."""
    named("client")
    with connect(path) as holder, connect(path) as s:
        holder.sendall(b"hold\n")
        tid = int(holder.recv(100))
        s.sendall(b"need\n")
        s.recv(100)
    print(tid, threading.get_native_id(), sep="\n")


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


def idle_app(*command):
    """Update a row, and do something else before the commit."""
    named("idle-app")
    psql = Psql(command)
    psql.run("CREATE TABLE IF NOT EXISTS t (n int); DELETE FROM t; INSERT INTO t VALUES (1);")
    psql.run("BEGIN; UPDATE t SET n = 2;")
    # the backend, psql, or the application: naming any of them is right
    print(psql.backend, psql.program.pid, threading.get_native_id(), flush=True)
    time.sleep(0.4)
    psql.run("COMMIT;")


def idle_transaction(*command):
    """One application has updated a row that another one wants to update."""
    named("client")
    waiter = Psql(command)
    with subprocess.Popen([sys.executable, __file__, "idle-app", *command], stdout=subprocess.PIPE, text=True) as idle:
        idlers = idle.stdout.readline()
        waiter.run("UPDATE t SET n = 3;")
    print(idlers, waiter.backend, sep="")


def write_often(path):
    f = os.open(path, os.O_RDWR | os.O_CREAT)
    while True:
        os.pwrite(f, b"x" * 65536, 0)
        os.fdatasync(f)
        time.sleep(0.02)


if __name__ == "__main__":
    commands = {"service": service, "ask": ask, "behind": behind, "idle-app": idle_app, "idle-transaction": idle_transaction,
                "write-often": write_often}
    commands[sys.argv[1]](*sys.argv[2:])
