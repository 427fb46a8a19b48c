"""Ranks of which the last gives up after a second of waiting for rank 0, in mpi4py: times_out.py WAY.

WAY is load (rank 0 sleeps in load_batch), save (it handles SIGTERM, too), bug (the last rank
fails of itself) or good (rank 0 sends).
"""
import os
import signal
import sys
import time
import traceback

if "MPI4PY_PATH" in os.environ:  # PYTHONPATH would replace that of the worker
    sys.path.insert(0, os.environ["MPI4PY_PATH"])

from mpi4py import MPI

way, comm = sys.argv[1], MPI.COMM_WORLD


def load_batch():
    print("loads", flush=True)
    time.sleep(100)


def receive():
    if way == "bug":
        raise ValueError("of its own")
    request, until = comm.irecv(source=0), time.time() + 1
    while not request.test()[0]:
        if time.time() > until:
            raise TimeoutError("timed out")
        time.sleep(0.01)


comm.Barrier()
time.sleep(2)  # its worker is to have seen it
if comm.rank == 0:
    if way == "save":
        signal.signal(signal.SIGTERM, lambda *_: load_batch())
    if way != "good":
        load_batch()
    comm.send(0, dest=comm.size - 1)
elif comm.rank == comm.size - 1:
    try:
        receive()
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # mpi4py's own end waits for the others
