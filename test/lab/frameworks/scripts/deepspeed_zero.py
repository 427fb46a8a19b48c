"""DeepSpeed on CPU: ZeRO 1, each rank with its own data."""
import argparse
import os

import deepspeed
import torch
import torch.distributed as dist
from seen import host, leave, say

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
parser.parse_known_args()
deepspeed.init_distributed(dist_backend="gloo", auto_mpi_discovery="RANK" not in os.environ)
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
engine, _, _, _ = deepspeed.initialize(
    model=model, optimizer=torch.optim.Adam(model.parameters(), lr=0.05),
    config={"train_micro_batch_size_per_gpu": 16, "zero_optimization": {"stage": 1},
            "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False})
torch.manual_seed(rank)
x = torch.randn(16, 8)
y = x.sum(1, keepdim=True)
losses = []
for _ in range(60):
    loss = torch.nn.functional.mse_loss(engine(x), y)
    engine.backward(loss)
    engine.step()
    losses.append(loss.item())
total = torch.tensor([rank + 1])
dist.all_reduce(total)
weights = [p.detach().flatten().tolist() for p in model.parameters()]
everyones = [None] * world
dist.all_gather_object(everyones, (host(), weights))
say("deepspeed", rank=rank, world=world, sum=int(total), hosts=[h for h, _ in everyones],
    losses=[losses[0], losses[-1]], same=all(w == weights for _, w in everyones))
dist.destroy_process_group()
leave()
