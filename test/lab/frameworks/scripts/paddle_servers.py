"""Paddle's parameter servers, asynchronous: each trainer has data only for its own
features, so it can learn the weights of the others' features only from the servers."""
import os
import tempfile
import time

import numpy
import paddle
from paddle.distributed import fleet
from seen import host, say

FEATURES, BATCH = 8, 64

os.chdir(tempfile.mkdtemp())  # Paddle writes files to the working directory
paddle.enable_static()
fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
x, y = paddle.static.data("x", [None, FEATURES]), paddle.static.data("y", [None, 1])
zeros = paddle.ParamAttr("weights", initializer=paddle.nn.initializer.Constant(0))
loss = paddle.nn.functional.mse_loss(paddle.static.nn.fc(x, 1, weight_attr=zeros, bias_attr=False), y)
strategy = fleet.DistributedStrategy()
strategy.a_sync = True  # synchronous mode crashes in its first step
fleet.distributed_optimizer(paddle.optimizer.SGD(0.02), strategy).minimize(loss)

if fleet.is_server():
    fleet.init_server()
    say("paddle-server", rank=fleet.server_index(), world=fleet.server_num(), sum=0, hosts=[host()])
    fleet.run_server()
    say("paddle-server-ended", rank=fleet.server_index())
    raise SystemExit

run = paddle.static.Executor(paddle.CPUPlace())
run.run(paddle.static.default_startup_program())
fleet.init_worker()
rank, world = fleet.worker_index(), fleet.worker_num()
random = numpy.random.RandomState(rank)
own = numpy.zeros(FEATURES)
own[rank::world] = 1


def train(steps):
    """Only here do the weights come from the servers, not in run.run()."""
    with tempfile.NamedTemporaryFile("w") as file:
        for line in random.randn(BATCH * steps, FEATURES) * own:
            print(FEATURES, *line, 1, line.sum(), file=file)
        file.flush()
        data = paddle.distributed.QueueDataset()
        data.init(batch_size=BATCH, thread_num=1, use_var=[x, y], pipe_command="cat")
        data.set_filelist([file.name])
        run.train_from_dataset(loss.block.program, data)
    return numpy.array(paddle.static.global_scope().find_var("weights").get_tensor()).ravel()


test = random.randn(1000, FEATURES)
losses = [float((test.sum(1) ** 2).mean())]
end = time.time() + 100
while time.time() < end and losses[-1] > losses[0] / 20:
    weights = train(2)
    losses.append(float(((test @ weights - test.sum(1)) ** 2).mean()))
say("paddle", rank=rank, world=world, sum=int((weights > 0.5).sum()), hosts=[host()], losses=[losses[0], losses[-1]],
    steps=len(losses))
fleet.stop_worker()
