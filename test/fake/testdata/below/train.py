"""Prints the world in which a PyTorch script would meet."""

import os
import time

world = [os.environ.get(name, default) for name, default in
         (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0"), ("MASTER_ADDR", "alone"), ("MASTER_PORT", "0"))]
time.sleep(float(os.environ.get("LAST", "0")))
print("world rank=%s of %s local=%s at %s:%s\n" % tuple(world), end="")  # one write: ranks share a pipe
