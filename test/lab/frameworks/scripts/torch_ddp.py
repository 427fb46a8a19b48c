"""DDP: each rank has its own data, the loss falls, and all ranks have the same model."""
import torch
import torch.distributed as dist
from seen import host, leave, say

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)  # the models differ until DDP synchronizes them
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(64, 8)
y = x @ torch.arange(8.0).reshape(8, 1)
losses = []
for _ in range(30):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
weights = [p.detach().flatten().tolist() for p in model.parameters()]
everyones = [None] * world
dist.all_gather_object(everyones, (host(), weights))
total = torch.tensor([rank + 1])
dist.all_reduce(total)
say("torch", rank=rank, world=world, sum=int(total), hosts=[h for h, _ in everyones],
    losses=[losses[0], losses[-1]], same=all(w == weights for _, w in everyones))
dist.destroy_process_group()
leave()
