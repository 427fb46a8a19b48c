"""MPI ranks that poll, or only seem to: polls.py WAY SECONDS.

All ranks meet once and run for SECONDS. Then the waiting ranks get the messages that they wait for.
"""
import hashlib
import os
import sys
import threading
import time

if "MPI4PY_PATH" in os.environ:  # setting PYTHONPATH would replace the worker's
    sys.path.insert(0, os.environ["MPI4PY_PATH"])

from mpi4py import MPI

way, seconds = sys.argv[1], float(sys.argv[2])
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
box = bytearray(8)


def over():
    return time.monotonic() - began > seconds


def exchange():
    comm.Recv(box, source=(rank + 1) % size)


def meet():
    comm.Barrier()


def later(send):
    def run():
        time.sleep(seconds)
        send()

    threading.Thread(target=run).start()


def load_batch():
    time.sleep(seconds)


def compute():
    while not over():
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 4000000)


def count():
    n = 0
    while not over():
        n += 1


def train():
    """Computes a step from time to time. The other ranks only wait for it."""
    while not comm.bcast(over()):
        if rank == 0:
            hashlib.pbkdf2_hmac("sha256", b"x", b"y", 4000000)
        comm.Barrier()


def gossip():
    """Only exchanges messages, all the time."""
    late = False
    while not comm.allreduce(late):
        late = over()


def tight():
    """Sends many messages from one line."""
    late = False
    while not comm.allreduce(late):
        for _ in range(1000):
            comm.Barrier()
        late = over()


def aside():
    """A thread computes while the first one waits."""
    thread = threading.Thread(target=compute)
    thread.start()
    comm.Barrier() if rank else thread.join()
    if rank == 0:
        comm.Barrier()


def overlap():
    """Every rank waits, while a thread of rank 0 computes."""
    thread = threading.Thread(target=compute)
    if rank == 0:
        thread.start()
        later(lambda: [comm.Send(box, dest=other, tag=3) for other in range(size)])
    comm.Recv(box, source=0, tag=3)


comm.Barrier()
print("rank %d is there" % rank, flush=True)
began = time.monotonic()
if way == "recv":
    later(lambda: comm.Send(box, dest=(rank - 1) % size))
    exchange()
elif way == "mixed":
    if rank == 0:
        later(lambda: comm.Send(box, dest=0, tag=7))
        comm.Recv(box, source=0, tag=7)
    meet()
elif way == "apart":
    if rank == 1:
        load_batch()
    meet()
elif way == "alone":
    if rank == 1:
        compute()
    meet()
else:
    {"compute": compute, "count": count, "train": train, "gossip": gossip, "tight": tight, "aside": aside, "overlap": overlap}[way]()
comm.Barrier()
