"""LightGBM: each rank has its own rows, 100 more than the previous rank.

LightGBM has no collective that a script could call. Instead, the row count of the first
split of the model shows that it includes the rows of all ranks."""
import hashlib
import json
import os
import socket

import lightgbm
import numpy
from seen import say

machines, port = os.environ["LIGHTGBM_MACHINES"], os.environ["LIGHTGBM_LOCAL_LISTEN_PORT"]
parameters = {"machines": machines, "local_listen_port": int(port),
              "num_machines": int(os.environ["LIGHTGBM_NUM_MACHINES"]),
              "tree_learner": "data", "objective": "regression", "metric": "l2", "num_threads": 1, "verbosity": 1,
              "pre_partition": True, "num_leaves": 7, "learning_rate": 0.3}
everyones = machines.split(",")
mine = [i for i, machine in enumerate(everyones) if machine.endswith(":" + port)]
if len(mine) > 1:  # the machines have hosts of their own; fake workers have ports of their own
    mine = [everyones.index(socket.gethostbyname(socket.gethostname()) + ":" + port)]
rank = mine[0]
random = numpy.random.default_rng(rank)
x = random.normal(size=(100 * (rank + 1), 4))
data = lightgbm.Dataset(x, label=x @ numpy.arange(4.0))
seen = {}
model = lightgbm.train(parameters, data, 30, valid_sets=[data], valid_names=["train"],
                       callbacks=[lightgbm.record_evaluation(seen)])
trees = model.dump_model()["tree_info"]
rows = trees[0]["tree_structure"]["internal_count"]
losses = seen["train"]["l2"]
say("lightgbm", rank=rank, world=len(everyones), sum=rows // 100, hosts=everyones,
    losses=[losses[0], losses[-1]], model=hashlib.sha256(json.dumps(trees).encode()).hexdigest())
