"""Trains a model in shards with FSDP2. When it is told to end, all ranks save a checkpoint together, and the next run
continues there, also with another number of ranks."""
import argparse
import os
import signal
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

parser = argparse.ArgumentParser()
parser.add_argument("--dir", default="checkpoints", help="a directory that all workers share")
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()
told = []
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: told.append(1))

gpu = torch.cuda.is_available()
device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if gpu else "cpu")
if gpu:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if gpu else "gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)  # all ranks start with one model
model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to(device)
fully_shard(model, mesh=dist.init_device_mesh(device.type, (world,)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
latest = os.path.join(args.dir, "fsdp-latest")


def states():
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


def save(step):
    name = f"fsdp-{step}"
    dcp.save(states(), checkpoint_id=os.path.join(args.dir, name))
    if rank == 0:  # the name is written last: never half a checkpoint
        with open(latest + ".part", "w") as file:
            file.write(name)
        os.replace(latest + ".part", latest)
        print(f"saved at step {step}", flush=True)
    dist.barrier()


first = 0
if os.path.exists(latest):
    with open(latest) as file:
        name = file.read()
    state = states()
    dcp.load(state, checkpoint_id=os.path.join(args.dir, name))
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    first = int(name.rpartition("-")[2])
    if rank == 0:
        print(f"continues at step {first}", flush=True)
torch.manual_seed(rank)  # each rank has its own data
step, stop = first, False
while step < args.steps and not stop:
    x = torch.randn(32, 8, device=device)
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if rank == 0 and step % 20 == 0:
        print(f"step {step}: loss {loss.item():.2g}", flush=True)
    time.sleep(0.1)  # a real model takes longer
    flag = torch.tensor(len(told), device=device)
    dist.all_reduce(flag)  # all ranks stop after the same step
    stop = flag.item() > 0
if step > first:
    save(step)
if rank == 0 and not stop:
    print(f"trained for {step} steps on {world} ranks", flush=True)
dist.destroy_process_group()
if not gpu:
    os._exit(0)  # a thread of Gloo may abort the end of Python: pytorch/pytorch issue 190489
