"""A driver: a placement group over every node, a task on each."""
import sys
import time

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from seen import host, say

world = int(sys.argv[1])
ray.init(log_to_driver=False)
for _ in range(300):
    nodes = [node for node in ray.nodes() if node["Alive"]]
    if len(nodes) == world:
        break
    time.sleep(0.2)
group = placement_group([{"CPU": 1}] * world, strategy="STRICT_SPREAD")
ray.get(group.ready(), timeout=120)


@ray.remote(num_cpus=1)
def task(rank):
    return rank + 1, ray.util.get_node_ip_address()


found = ray.get([task.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=i)).remote(i)
                 for i in range(world)], timeout=120)
for rank in range(world):
    say("ray", rank=rank, world=len(nodes), sum=sum(n for n, _ in found), hosts=[address for _, address in found])
