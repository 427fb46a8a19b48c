"""Horovod with PyTorch: each rank has its own data."""
import horovod.torch as hvd
import torch
from seen import host, say

hvd.init()
rank, world = hvd.rank(), hvd.size()
total = hvd.allreduce(torch.tensor([rank + 1]), op=hvd.Sum)
torch.manual_seed(rank)
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)
model = torch.nn.Linear(8, 1)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.05), named_parameters=model.named_parameters())
losses = []
for _ in range(30):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
weights = [p.detach().flatten().tolist() for p in model.parameters()]
everyones = hvd.allgather_object((host(), weights))
say("horovod", rank=rank, world=world, sum=int(total), hosts=[h for h, _ in everyones],
    losses=[losses[0], losses[-1]], same=all(w == weights for _, w in everyones))
