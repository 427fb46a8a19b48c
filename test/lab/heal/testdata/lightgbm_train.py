"""LightGBM. The current model is the checkpoint."""
import os
import socket

import heal

heal.start()
import lightgbm
import numpy

machines, port = os.environ["LIGHTGBM_MACHINES"], os.environ["LIGHTGBM_LOCAL_LISTEN_PORT"]
everyones = machines.split(",")
heal.rank = everyones.index(socket.gethostbyname(socket.gethostname()) + ":" + port)
kept = os.path.join(heal.shared, "model.txt")
step = heal.load()
heal.say("begin", step=step, world=len(everyones))


def keep(env):
    done = env.iteration + 1 + (0 if env.begin_iteration else step)
    if heal.rank == 0:
        env.model.save_model(kept + ".new")
        os.replace(kept + ".new", kept)
    heal.save(done)
    heal.strike(done)


random = numpy.random.default_rng(heal.rank)
x = random.normal(size=(100 * (heal.rank + 1), 4))
data = lightgbm.Dataset(x, label=x @ numpy.arange(4.0), free_raw_data=False)
model = lightgbm.train({"machines": machines, "local_listen_port": int(port), "num_machines": int(os.environ["LIGHTGBM_NUM_MACHINES"]),
                        "tree_learner": "data", "objective": "regression", "metric": "l2", "num_threads": 1, "verbosity": -1,
                        "pre_partition": True, "num_leaves": 7, "learning_rate": 0.3},
                       data, heal.steps - step, init_model=kept if step else None, callbacks=[keep])
heal.say("end", step=model.current_iteration())
