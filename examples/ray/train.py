"""Computes pi with tasks on all nodes of a Ray cluster."""
import random
import sys

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

NODES, TASKS, POINTS = int(sys.argv[1]), 16, 200_000
ray.init(log_to_driver=False)  # Muster has started the head beside this driver
group = placement_group([{"CPU": 1}] * NODES, strategy="STRICT_SPREAD")
ray.get(group.ready(), timeout=120)  # nodes may join after the driver's start


@ray.remote(num_cpus=1)
def inside(seed):
    draw = random.Random(seed)
    hits = sum(draw.random() ** 2 + draw.random() ** 2 < 1 for _ in range(POINTS))
    return hits, ray.get_runtime_context().get_node_id()


def on(node):
    return PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=node)


found = ray.get([inside.options(scheduling_strategy=on(seed % NODES)).remote(seed) for seed in range(TASKS)])
pi = 4 * sum(hits for hits, _ in found) / (TASKS * POINTS)
print(f"pi is about {pi:.2f}, by tasks on {len({node for _, node in found})} nodes", flush=True)
