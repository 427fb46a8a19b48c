"""Trains a linear model with DDP. When it is told to end, it saves a checkpoint, and the next run continues there."""
import argparse
import os
import signal
import time

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--dir", default="checkpoints", help="a directory that all workers share")
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()
told = []
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: told.append(1))

gpu = torch.cuda.is_available()
device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if gpu else "cpu")
dist.init_process_group("nccl" if gpu else "gloo")
rank, world = dist.get_rank(), dist.get_world_size()
layer = torch.nn.Linear(8, 1).to(device)
model = torch.nn.parallel.DistributedDataParallel(layer)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
path = os.path.join(args.dir, "ddp.pt")
first = 0
if os.path.exists(path):
    state = torch.load(path, map_location=device)
    layer.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["step"]
    if rank == 0:
        print(f"continues at step {first}", flush=True)


def save(step):
    if rank == 0:
        os.makedirs(args.dir, exist_ok=True)
        torch.save({"model": layer.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path + ".part")
        os.replace(path + ".part", path)  # never half a checkpoint
        print(f"saved at step {step}", flush=True)
    dist.barrier()  # no rank ends before the checkpoint is there


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
