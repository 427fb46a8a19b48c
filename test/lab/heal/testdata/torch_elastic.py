"""Counts steps over a group whose size changes, until the file "enough" is in HEAL_SHARED.

Records: "begin" by each rank, with the size of the world and the step from which it continues;
"saved" by rank 0 after each checkpoint; "end". A "begin" with a smaller step than
an earlier "saved" has lost work. Run it as `torchrun torch_elastic.py` under
--min-workers, or directly with --framework=torch.
"""
import datetime
import os

import torch
import torch.distributed as dist

import heal

heal.start()
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
heal.rank, world = dist.get_rank(), dist.get_world_size()
first = torch.tensor([heal.load() if heal.rank == 0 else 0])
dist.broadcast(first, 0)  # only one rank reads, so that all use the same checkpoint
step = int(first)
heal.say("begin", step=step, world=world)
enough = os.path.join(heal.shared, "enough")
while True:
    tally = torch.tensor([1, int(heal.rank == 0 and os.path.exists(enough))])
    dist.all_reduce(tally)
    assert int(tally[0]) == world, f"{int(tally[0])} of {world} took part"
    step += 1
    if heal.rank == 0 and step % 5 == 0:
        heal.save(step)
        heal.say("saved", step=step, world=world)
    if int(tally[1]):
        break
    heal.strike(step)
heal.say("end", step=step, world=world)
dist.destroy_process_group()
