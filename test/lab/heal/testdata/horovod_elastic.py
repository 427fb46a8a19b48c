"""torch_elastic.py for elastic horovodrun. Horovod keeps the state in the memory
of the remaining workers; the last commit is the checkpoint."""
import os

import horovod.torch as hvd
import torch

import heal

heal.start()
enough = os.path.join(heal.shared, "enough")


@hvd.elastic.run
def train(state):
    heal.rank = hvd.rank()
    heal.say("begin", step=state.step, world=hvd.size())
    while True:
        mine = torch.tensor([1, int(hvd.rank() == 0 and os.path.exists(enough))])
        tally = hvd.allreduce(mine, op=hvd.Sum, name="tally")
        assert int(tally[0]) == hvd.size()
        state.step += 1
        if state.step % 5 == 0:
            state.commit()
            if hvd.rank() == 0:
                heal.say("saved", step=state.step, world=hvd.size())
        if int(tally[1]):
            return
        heal.strike(state.step)


hvd.init()
state = hvd.elastic.TorchState(step=0)
train(state)
heal.say("end", step=state.step, world=hvd.size())
