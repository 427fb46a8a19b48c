"""Paddle's collectives, and data parallel training."""
import paddle
import paddle.distributed as dist
from seen import host, say

paddle.set_device("cpu")
dist.init_parallel_env()
rank, world = dist.get_rank(), dist.get_world_size()
total = paddle.to_tensor([rank + 1])
dist.all_reduce(total)
hosts = []
dist.all_gather_object(hosts, host())

paddle.seed(rank)
x = paddle.randn([64, 8])
y = x.sum(1, keepdim=True)
paddle.seed(7)
model = paddle.DataParallel(paddle.nn.Linear(8, 1))
optimizer = paddle.optimizer.SGD(learning_rate=0.05, parameters=model.parameters())
losses = []
for _ in range(30):
    loss = paddle.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    losses.append(float(loss))
everyones = []
dist.all_gather_object(everyones, [p.numpy().tolist() for p in model.parameters()])
say("paddle", rank=rank, world=world, sum=int(total.item()), hosts=hosts, losses=[losses[0], losses[-1]],
    same=all(w == everyones[0] for w in everyones))
