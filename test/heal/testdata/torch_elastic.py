"""Counts steps over a group whose size changes. `torch_elastic.py DIR [PAUSE]`

DIR is shared by all workers. Rank 0 keeps the number of the last step in DIR/step
and ends the training when DIR/enough is there. Each line on stdout is one record, with its time (t):

  {"at": "begin", "t": ..., "world": 3, "rank": 0, "step": 12, "attempt": "1"}   after the checkpoint was read
  {"at": "saved", "t": ..., "world": 3, "step": 15}                              by rank 0
  {"at": "end", "t": ..., "world": 2, "rank": 0, "step": 40}

A begin whose step is smaller than that of a saved before it has lost work. Run by
`torchrun torch_elastic.py` under --min-workers, or as it is with --framework=torch.
"""
import datetime
import json
import os
import sys
import time

import torch
import torch.distributed as dist

where = sys.argv[1]
pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0.2
checkpoint, enough = os.path.join(where, "step"), os.path.join(where, "enough")


def say(at, **more):
    print(json.dumps({"at": at, "t": round(time.time(), 2), "world": dist.get_world_size(), **more}), flush=True)


def save(step):
    """Whole or not at all: a rank may be killed at any moment."""
    with open(checkpoint + ".new", "w") as f:
        f.write(str(step))
        f.flush()
        os.fsync(f.fileno())
    os.replace(checkpoint + ".new", checkpoint)


def load():
    try:
        with open(checkpoint) as f:
            return int(f.read())
    except FileNotFoundError:
        return 0


dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
rank, world = dist.get_rank(), dist.get_world_size()
start = torch.tensor([load() if rank == 0 else 0])
dist.broadcast(start, 0)  # one reads, lest two see different checkpoints
step = int(start)
say("begin", rank=rank, step=step, attempt=os.environ.get("MUSTER_ATTEMPT", ""))
while True:
    tally = torch.tensor([1, int(rank == 0 and os.path.exists(enough))])
    dist.all_reduce(tally)
    assert int(tally[0]) == world, f"{int(tally[0])} of {world} took part"
    step += 1
    if rank == 0 and step % 5 == 0:
        save(step)
        say("saved", step=step)
    if int(tally[1]):
        break
    time.sleep(pause)
say("end", rank=rank, step=step)
dist.destroy_process_group()
