"""A rank that waits, computes or talks: still.py WAY SECONDS PORT.

wait: rank 1 sits in a receive that nobody sends, and the others in one on it.
spin: it computes and says nothing. talk: it says something every second.
All end well when the seconds are over.
"""
import os
import signal
import socket
import sys
import time

way, seconds, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rank = next(os.environ[k] for k in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK") if k in os.environ)


def say(word):
    # One write: where Python does not buffer print makes two, and mpirun mixes them.
    sys.stdout.write(f"rank {rank} {word}\n")
    sys.stdout.flush()


def end(*_):
    say("ends")
    os._exit(0)


signal.signal(signal.SIGALRM, end)
signal.alarm(seconds)
say("begins")
if way == "spin":
    while True:
        pass
if way == "talk":
    while True:
        time.sleep(1)
        print(f"rank {rank} talks", flush=True)
if rank == "1":
    at = socket.create_server(("", port))
    peers = [at.accept()[0] for _ in range(2)]
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).recv(1)
while True:
    try:
        to = socket.create_connection(("127.0.0.1", port))
        break
    except OSError:
        time.sleep(0.1)
to.recv(1)
end()
