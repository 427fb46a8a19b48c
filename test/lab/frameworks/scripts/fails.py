"""Rank 1 ends with 3. The others would continue for a minute."""
import os
import sys
import time

rank = int(os.environ.get("RANK") or os.environ.get("HOROVOD_RANK") or 0)
print("rank", rank, "begins", flush=True)
if rank == 1:
    time.sleep(1)  # let rank 0 start
    sys.exit(3)
time.sleep(60)
