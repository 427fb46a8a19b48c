"""The same as torch_elastic.py under elastic horovodrun. `horovod_elastic.py DIR [PAUSE]`

The state is Horovod's own, in the memory of the workers that stay; a commit is its
checkpoint. DIR/enough, looked at by rank 0, ends the training.
"""
import json
import os
import sys
import time

import horovod.torch as hvd
import torch

where = sys.argv[1]
pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0.2


def say(at, **more):
    print(json.dumps({"at": at, "t": round(time.time(), 2), "world": hvd.size(), **more}), flush=True)


@hvd.elastic.run
def train(state):
    say("begin", rank=hvd.rank(), step=state.step)
    while True:
        mine = torch.tensor([1, int(hvd.rank() == 0 and os.path.exists(os.path.join(where, "enough")))])
        tally = hvd.allreduce(mine, op=hvd.Sum, name="tally")
        assert int(tally[0]) == hvd.size()
        state.step += 1
        if state.step % 5 == 0:
            state.commit()
            if hvd.rank() == 0:
                say("saved", step=state.step)
        if int(tally[1]):
            return
        time.sleep(pause)


hvd.init()
state = hvd.elastic.TorchState(step=0)
train(state)
say("end", rank=hvd.rank(), step=state.step)
