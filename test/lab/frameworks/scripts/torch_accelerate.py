"""Accelerate: reports the world in its own state, and a falling loss."""
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from seen import host, leave, say

accelerator = Accelerator(cpu=True)
rank, world = accelerator.process_index, accelerator.num_processes
torch.manual_seed(rank)
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)
model = torch.nn.Linear(8, 1)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.05))
losses = []
for _ in range(30):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    losses.append(loss.item())
weights = [p.detach().flatten().tolist() for p in model.parameters()]
everyones = gather_object([(host(), weights)])
total = accelerator.reduce(torch.tensor([rank + 1]), "sum")
say("accelerate", rank=rank, world=world, sum=int(total), hosts=[h for h, _ in everyones],
    losses=[losses[0], losses[-1]], same=all(w == weights for _, w in everyones))
accelerator.end_training()
leave()
