"""mpi4py ranks, of which the last one times out after waiting a second for rank 0: times_out.py WAY.

WAY is load (rank 0 sleeps in load_batch), save (rank 0 handles SIGTERM too), bug (the last rank
fails by itself) or good (rank 0 sends).
"""
import os
import signal
import sys
import time
import traceback

if "MPI4PY_PATH" in os.environ:  # setting PYTHONPATH would replace the worker's
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
time.sleep(2)  # so that the workers have seen their ranks
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
        os._exit(1)  # mpi4py waits for the other ranks at exit
