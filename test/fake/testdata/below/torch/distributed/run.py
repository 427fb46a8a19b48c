"""A stand-in for torchrun, with the options and PET_ variables of torch/distributed/run.py."""

import os
import subprocess
import sys
import time

FLAGS = ("standalone",)


def parse(words):
    options = {name[4:].lower(): value for name, value in os.environ.items() if name.startswith("PET_")}
    while words and words[0].startswith("--"):
        name, _, value = words.pop(0)[2:].replace("-", "_").partition("=")
        options[name] = value or ("1" if name in FLAGS else words.pop(0))
    return options, words


def main():
    options, script = parse(sys.argv[1:])
    nodes, node = int(options.get("nnodes", "1").split(":")[0]), int(options.get("node_rank", "0"))
    each = int(options.get("nproc_per_node", "1"))
    address, port = options.get("master_addr", "localhost"), options.get("master_port", "29500")
    if options.get("standalone"):
        address, port = "localhost", "0"
        if nodes > 1:
            time.sleep(600)  # no other node connects
    ranks = []
    for local in range(each):
        env = dict(os.environ, RANK=str(node * each + local), WORLD_SIZE=str(nodes * each), LOCAL_RANK=str(local),
                   MASTER_ADDR=address, MASTER_PORT=port)
        ranks.append(subprocess.Popen([sys.executable] + script, env=env))
    sys.exit(max(rank.wait() for rank in ranks))


main()
