"""At least three ranks, of which rank 1 hangs: hung.py TRANSPORT WAY SECONDS PORT.

TRANSPORT is gloo (PyTorch), plain (sockets) or mpi (mpi4py). All ranks meet once. Then rank 1
hangs in load_batch, and the others wait for it in step, for at most SECONDS if the
transport has a timeout; 0: forever. plain meets at $HUNG_HOST (default 127.0.0.1).
"""
import ctypes
import os
import signal
import socket
import sys
import threading
import time

transport, way, seconds, port = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
host = os.environ.get("HUNG_HOST", "127.0.0.1")


def load_batch():
    if way == "sleep":
        time.sleep(100000)
    if way == "futex":
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    while way == "gil":  # a signal ends libc's sleep
        ctypes.PyDLL(None).sleep(100000)
    if way == "read":
        os.read(os.pipe()[0], 1)
    if way == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    while way == "loop":
        pass
    while way == "left":
        try:
            socket.create_connection(("127.0.0.1", 1))
        except ConnectionRefusedError:
            time.sleep(10)


class Plain:
    """A barrier over sockets to rank 0."""

    def __init__(self):
        self.rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        if self.rank == 0:
            at = socket.create_server((host, port))
            self.peers = [at.accept()[0] for _ in range(size - 1)]
            return
        while True:
            try:
                self.peers = [socket.create_connection((host, port))]
                return
            except ConnectionRefusedError:
                time.sleep(0.05)

    def barrier(self):
        for peer in self.peers:
            peer.settimeout(seconds or None)
            if self.rank > 0:
                peer.sendall(b"x")
            if peer.recv(1) == b"":
                raise ConnectionError("the peer has gone")
        for peer in self.peers:
            if self.rank == 0:
                peer.sendall(b"x")


class Gloo:
    def __init__(self):
        import datetime
        import torch.distributed as dist

        limit = datetime.timedelta(seconds=seconds or 3600)
        dist.init_process_group("gloo", timeout=limit)
        self.rank = dist.get_rank()

    def barrier(self):
        import torch
        import torch.distributed as dist

        dist.all_reduce(torch.ones(1))


class Mpi:
    def __init__(self):
        from mpi4py import MPI

        self.comm = MPI.COMM_WORLD
        self.rank = self.comm.rank

    def barrier(self):
        self.comm.Barrier()


def step(job):
    job.barrier()


job = {"plain": Plain, "gloo": Gloo, "mpi": Mpi}[transport]()
step(job)
os.write(1, b"rank %d is there\n" % job.rank)
open("there.%d" % job.rank, "w").close()
if job.rank == 1:
    load_batch()
step(job)
