"""XGBoost with its tracker. The current model is the checkpoint."""
import os

import heal

heal.start()
import numpy
import xgboost
from xgboost import collective
from xgboost.tracker import RabitTracker

address, port, task = os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"]), os.environ["DMLC_TASK_ID"]
kept = os.path.join(heal.shared, "model.json")
if int(task) == 0:
    tracker = RabitTracker(int(os.environ["DMLC_NUM_WORKER"]), host_ip=address, port=port, sortby="task")
    tracker.start()

with collective.CommunicatorContext(dmlc_tracker_uri=address, dmlc_tracker_port=port, dmlc_task_id=task):
    # Only one rank reads, so that all use the same checkpoint.
    step = int(collective.broadcast(heal.load(), 0))
    heal.say("begin", step=step, world=collective.get_world_size())

    class Keep(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, log):
            done = model.num_boosted_rounds()
            if heal.rank == 0:
                model.save_model(kept + ".new.json")
                os.replace(kept + ".new.json", kept)
            heal.save(done)
            heal.strike(done)

    random = numpy.random.default_rng(heal.rank)
    x = random.normal(size=(300, 5))
    data = xgboost.DMatrix(x, label=x @ numpy.arange(5.0))
    model = xgboost.train({"max_depth": 3, "tree_method": "hist", "nthread": 1}, data, heal.steps - step,
                          xgb_model=kept if step else None, callbacks=[Keep()])
    heal.say("end", step=model.num_boosted_rounds())
if int(task) == 0:
    tracker.wait_for()
