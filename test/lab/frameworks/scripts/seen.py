"""Reports what a rank knows about its world, as one line of JSON that other ranks' output cannot split."""
import json
import os
import socket
import sys
import time


def host():
    """Returns the worker's name, because fake workers share one host name."""
    return os.environ.get("MUSTER_WORKER") or socket.gethostname()


def say(framework, **what):
    line = {"framework": framework, "pid": os.getpid(), "at": time.time(), **what}
    os.write(1, (json.dumps(line) + "\n").encode())


def leave():
    """Ends the process without finalizing Python. DDP and FSDP keep Gloo's threads alive behind
    destroy_process_group, and one that releases a tensor during finalization aborts the process
    ("terminate called without an active exception", https://github.com/pytorch/pytorch/issues/190489)."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def row(rank, world, width=64):
    """Returns a matrix with this rank's host in its own line and zeros elsewhere. The sum of all
    ranks' matrices has the hosts of all ranks."""
    import numpy
    matrix = numpy.zeros((world, width), dtype=numpy.float32)
    name = host().encode()[:width]
    matrix[rank, :len(name)] = list(name)
    return matrix


def hosts(matrix, world):
    """Returns the hosts in a sum of rows."""
    import numpy
    return [bytes(int(c) for c in line if c).decode() for line in numpy.asarray(matrix).reshape(world, -1)]
