"""Trains a linear model with DeepSpeed, ZeRO 1: each rank keeps a part of the optimizer's state."""
import argparse
import os

import torch

gpu = torch.cuda.is_available()
os.environ.setdefault("DS_ACCELERATOR", "cuda" if gpu else "cpu")
import deepspeed
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)  # deepspeed's launcher gives it
parser.parse_args()
deepspeed.init_distributed(dist_backend="nccl" if gpu else "gloo")
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
config = {"train_micro_batch_size_per_gpu": 32, "zero_optimization": {"stage": 1}, "zero_allow_untested_optimizer": True,
          "zero_force_ds_cpu_optimizer": False}
engine, _, _, _ = deepspeed.initialize(model=model, optimizer=torch.optim.Adam(model.parameters(), lr=0.05), config=config)
torch.manual_seed(dist.get_rank())  # each rank has its own data
for _ in range(100):
    x = torch.randn(32, 8, device=engine.device)
    loss = torch.nn.functional.mse_loss(engine(x), x.sum(1, keepdim=True))
    engine.backward(loss)
    engine.step()
if dist.get_rank() == 0:
    print(f"loss {loss.item():.2g} on {dist.get_world_size()} ranks", flush=True)
dist.destroy_process_group()
