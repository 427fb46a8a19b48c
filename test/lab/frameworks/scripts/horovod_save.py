"""Trains for a minute with data loaders, and takes 3 s to save after SIGTERM."""
import signal
import sys
import time

import horovod.torch as hvd
import torch
from seen import host, say
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 6000

    def __getitem__(self, i):
        time.sleep(0.01)
        return torch.zeros(2)


if __name__ == "__main__":
    hvd.init()
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(1))
    seen = {"rank": hvd.rank(), "world": hvd.size(), "hosts": [host()]}
    for step, _ in enumerate(DataLoader(Slow(), num_workers=2)):
        if step == 0:
            say("horovod", **seen)
        if told:
            time.sleep(3)
            say("horovod-saved", **seen)
            sys.exit(0)
