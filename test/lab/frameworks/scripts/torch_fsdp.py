"""FSDP2: a sharded model, and a distributed checkpoint in a directory that all
ranks share, loaded into a new model."""
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from seen import host, leave, say
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
mesh = dist.init_device_mesh("cpu", (world,))


def build(seed):
    torch.manual_seed(seed)
    return fully_shard(torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.ReLU(), torch.nn.Linear(24, 1)), mesh=mesh)


def shards(model):
    return [p.to_local().detach().clone() for p in model.parameters()]


model = build(1)
whole = sum(p.numel() for p in model.parameters())
mine = sum(p.numel() for p in shards(model))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
torch.manual_seed(100 + rank)
x = torch.randn(48, 12)
y = x.sum(1, keepdim=True)
losses = []
for _ in range(30):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

directory = sys.argv[1] + "/checkpoint"
dcp.save(get_model_state_dict(model), checkpoint_id=directory)
fresh = build(2)
state = get_model_state_dict(fresh)
dcp.load(state, checkpoint_id=directory)
set_model_state_dict(fresh, state)
same = all(torch.equal(a, b) for a, b in zip(shards(model), shards(fresh)))

total = torch.tensor([rank + 1, mine])
dist.all_reduce(total)
hosts = [None] * world
dist.all_gather_object(hosts, host())
say("torch", rank=rank, world=world, sum=int(total[0]), hosts=hosts, losses=[losses[0], losses[-1]],
    same=same and mine < whole and int(total[1]) == whole)
dist.destroy_process_group()
leave()
