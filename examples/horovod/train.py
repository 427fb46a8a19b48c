"""Trains a linear model with Horovod and PyTorch."""
import horovod.torch as hvd
import torch

hvd.init()
device = torch.device(f"cuda:{hvd.local_rank()}" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 1).to(device)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(torch.optim.Adam(model.parameters(), lr=0.05), named_parameters=model.named_parameters())
torch.manual_seed(hvd.rank())  # each rank has its own data
for _ in range(100):
    x = torch.randn(32, 8, device=device)
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if hvd.rank() == 0:
    print(f"loss {loss.item():.2g} on {hvd.size()} ranks", flush=True)
