"""Counts steps, with a collective in each, from the checkpoint on: train.py torch|mpi|plain.

`train.py torch hang`: rank 1 waits for a message that no rank sends.
"""
import sys

import heal

heal.start()


def of_torch():
    import datetime

    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))

    def reduce(value):
        if sys.argv[2:] == ["hang"] and value == 1 and heal.rank == 1:
            dist.recv(torch.zeros(1), src=0)
        t = torch.tensor([value])
        dist.all_reduce(t)
        return int(t[0])
    return reduce, dist.get_world_size()


def of_mpi():
    from mpi4py import MPI
    heal.rank = MPI.COMM_WORLD.rank
    return MPI.COMM_WORLD.allreduce, MPI.COMM_WORLD.size


def of_plain():
    return lambda value: value, 1


reduce, world = {"torch": of_torch, "mpi": of_mpi, "plain": of_plain}[sys.argv[1]]()
# Only one rank reads, so that all use the same checkpoint.
step = reduce(heal.load() if heal.rank == 0 or world == 1 else 0)
heal.say("begin", step=step, world=world)
while step < heal.steps:
    assert reduce(1) == world
    step += 1
    heal.save(step)
    heal.strike(step)
heal.say("end", step=step)
if sys.argv[1] == "torch":
    import torch.distributed
    torch.distributed.destroy_process_group()  # a thread of Gloo that lives until the end may abort the process
