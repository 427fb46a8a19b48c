"""An all-reduce over gloo, for plain ranks and for torchrun's."""
import os

import torch
import torch.distributed as dist
from seen import host, say

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
total = torch.tensor([rank + 1])
dist.all_reduce(total)
hosts = [None] * world
dist.all_gather_object(hosts, host())
say("torch", rank=rank, world=world, sum=int(total), hosts=hosts,
    local=int(os.environ["LOCAL_RANK"]), local_world=int(os.environ["LOCAL_WORLD_SIZE"]))
dist.destroy_process_group()
