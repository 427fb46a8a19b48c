"""Lightning, with the number of nodes and one process on each."""
import sys
import tempfile

import lightning
import torch
import torch.distributed as dist
from seen import host, leave, say


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.losses = []

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.layer(x), y)
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


torch.manual_seed(0)
x = torch.randn(240, 8)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=20)
model = Model()
trainer = lightning.Trainer(accelerator="cpu", strategy="ddp", num_nodes=int(sys.argv[1]), devices=1, max_epochs=8,
                            logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, default_root_dir=tempfile.gettempdir())
trainer.fit(model, data)
rank, world = trainer.global_rank, trainer.world_size
total = torch.tensor([rank + 1])
dist.all_reduce(total)
weights = [p.detach().flatten().tolist() for p in model.parameters()]
everyones = [None] * world
dist.all_gather_object(everyones, (host(), weights))
say("lightning", rank=rank, world=world, sum=int(total), hosts=[h for h, _ in everyones],
    losses=[model.losses[0], model.losses[-1]], same=all(w == weights for _, w in everyones))
leave()
