#!/usr/bin/python3
"""A launcher that swallows failures: it runs its last word as a shell's text, and ends with
SAYS, 0 without it, whatever the text ended with. torchrun and accelerate give the text a rank,
and run each line as one."""
import os
import subprocess
import sys

texts = [sys.argv[-1]]
if os.path.basename(sys.argv[0]) in ("torchrun", "accelerate"):
    os.environ["RANK"] = os.environ.get("PET_NODE_RANK", os.environ.get("RANK", "0"))
    texts = sys.argv[-1].split("\n")
for text in texts:
    subprocess.call(["sh", "-c", text])
sys.exit(int(os.environ.get("SAYS", "0")))
