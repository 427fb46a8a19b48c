"""Counts steps with as many workers as there are. A change of the workers starts the ranks again, at the last checkpoint."""
import argparse
import os
import time

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--dir", default="checkpoints", help="a directory that all workers share")
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()

gpu = torch.cuda.is_available()
device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if gpu else "cpu")
dist.init_process_group("nccl" if gpu else "gloo")
rank, world = dist.get_rank(), dist.get_world_size()
path = os.path.join(args.dir, "elastic.pt")
state = {"step": 0, "samples": 0}
if os.path.exists(path):
    state = torch.load(path)
if rank == 0:
    print(f"{world} ranks, from step {state['step']}", flush=True)
while state["step"] < args.steps:
    samples = torch.tensor(32, device=device)
    dist.all_reduce(samples)  # each rank has seen 32 more
    state = {"step": state["step"] + 1, "samples": state["samples"] + samples.item()}
    time.sleep(0.1)  # a real model takes longer
    if rank == 0 and state["step"] % 10 == 0:
        os.makedirs(args.dir, exist_ok=True)
        torch.save(state, path + ".part")
        os.replace(path + ".part", path)  # never half a checkpoint
if rank == 0:
    print(f"trained for {state['step']} steps, {state['samples']} samples, {world} ranks at the end", flush=True)
dist.destroy_process_group()
