"""Computes pi with tasks on all nodes of a Ray cluster."""
import random
import sys
import time

import ray

NODES, TASKS, POINTS = int(sys.argv[1]), 16, 200_000
ray.init(log_to_driver=False)  # Muster has started the head beside this driver


@ray.remote(scheduling_strategy="SPREAD")
def inside(seed):
    draw = random.Random(seed)
    hits = sum(draw.random() ** 2 + draw.random() ** 2 < 1 for _ in range(POINTS))
    return hits, ray.get_runtime_context().get_node_id()


for _ in range(120):  # nodes may join after the driver's start
    if sum(node["Alive"] for node in ray.nodes()) == NODES:
        break
    time.sleep(1)
else:
    sys.exit(f"not all of {NODES} nodes have joined")
found = ray.get([inside.remote(seed) for seed in range(TASKS)])
pi = 4 * sum(hits for hits, _ in found) / (TASKS * POINTS)
print(f"pi is about {pi:.2f}, by tasks on {len({node for _, node in found})} nodes", flush=True)
