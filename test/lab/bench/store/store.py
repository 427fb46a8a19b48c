"""Runs a TCPStore and its clients: see doc.go. Prints one line of JSON."""
import argparse
import json
import os
import resource
import sys
import threading
import time
from datetime import timedelta

from torch.distributed import TCPStore

LIMIT = timedelta(minutes=5)


def serve(options, ready, over):
    """Serves until the pipe over is closed, and prints what it took."""
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=LIMIT,
                     use_libuv=options.backend == "libuv")
    before = resource.getrusage(resource.RUSAGE_SELF)
    os.write(ready, b"%d\n" % store.port)
    os.read(over, 1)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"cpu": cpu, "grown": (after.ru_maxrss - before.ru_maxrss) * 1024}), flush=True)


def join(i, options, port, start, ends):
    """Is one client. Its end is the time at which it knows the first client's id."""
    at = start + options.spread * i / options.clients
    time.sleep(max(0, at - time.monotonic()))
    store = TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False, timeout=LIMIT)
    if i == 0:
        store.set("id", "x" * 128)
    if store.add("arrived", 1) == options.clients:
        store.set("all", "1")
    store.wait(["all"])
    if len(store.get("id")) != 128:
        raise ValueError("another id")
    ends[i] = time.monotonic()
    ends[-1, i] = store  # its connection stays open until the process ends, as a rank's does


def clients(options, first, port, start, report):
    ends = {}
    threading.stack_size(256 << 10)
    mine = range(first, options.clients, options.processes)
    threads = [threading.Thread(target=join, args=(i, options, port, start, ends)) for i in mine]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    done = [ends[i] for i in mine if i in ends]
    os.write(report, (json.dumps([len(done), max(done, default=0)]) + "\n").encode())
    sys.stdin.read()


def fork(work):
    """Runs work in a child, which has no threads of ours."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--backend", choices=["threads", "libuv"])
    parser.add_argument("--spread", type=float)
    options = parser.parse_args()
    options.processes = min(options.processes, options.clients)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    ready, tells_ready = os.pipe()
    over, tells_over = os.pipe()
    reports, tells = os.pipe()

    def server():
        os.close(tells_over)
        serve(options, tells_ready, over)
    fork(server)
    os.close(over)
    port = int(os.fdopen(ready).readline())
    start = time.monotonic() + 1 + options.clients / 4000  # all threads exist by then
    hold, tells_hold = os.pipe()
    for first in range(options.processes):
        def child(first=first):
            os.close(tells_hold)
            os.close(tells_over)
            os.dup2(hold, 0)
            clients(options, first, port, start, tells)
        fork(child)
    lines = os.fdopen(reports)
    all_ = [json.loads(lines.readline()) for _ in range(options.processes)]
    print(json.dumps({"joined": sum(n for n, _ in all_), "seconds": max(end for _, end in all_) - start}), flush=True)
    os.close(tells_over)
    os.wait()
    os.close(tells_hold)


main()
