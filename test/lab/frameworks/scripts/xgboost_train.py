"""XGBoost with its tracker, each rank with its own rows.

xgboost_train.py: reports the model's hash. xgboost_train.py die: rank 1 is killed during training."""
import hashlib
import os
import signal
import sys

import numpy
import xgboost
from seen import hosts, row, say
from xgboost import collective
from xgboost.tracker import RabitTracker

address, port, task = os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"]), os.environ["DMLC_TASK_ID"]
if int(task) == 0:
    tracker = RabitTracker(int(os.environ["DMLC_NUM_WORKER"]), host_ip=address, port=port, sortby="task")
    tracker.start()

with collective.CommunicatorContext(dmlc_tracker_uri=address, dmlc_tracker_port=port, dmlc_task_id=task):
    rank, world = collective.get_rank(), collective.get_world_size()
    total = int(collective.allreduce(numpy.array([rank + 1.0]), collective.Op.SUM)[0])
    everyones = hosts(collective.allreduce(row(rank, world).ravel(), collective.Op.SUM), world)
    dies = sys.argv[1:] == ["die"]

    class Die(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, log):
            if epoch == 5 and rank == 1:
                say("died", rank=rank)
                os.kill(os.getpid(), signal.SIGKILL)

    if dies:
        say("xgboost", rank=rank, world=world, sum=total, hosts=everyones)
    random = numpy.random.default_rng(rank)
    x = random.normal(size=(300, 5))
    data = xgboost.DMatrix(x, label=x @ numpy.arange(5.0))
    seen = {}
    model = xgboost.train({"max_depth": 3, "tree_method": "hist", "nthread": 1}, data, 30, evals=[(data, "train")],
                          evals_result=seen, verbose_eval=False, callbacks=[Die()] if dies else None)
    losses = seen["train"]["rmse"]
    say("xgboost", rank=rank, world=world, sum=total, hosts=everyones, losses=[losses[0], losses[-1]],
        model=hashlib.sha256(model.save_raw("ubj")).hexdigest())
if int(task) == 0:
    tracker.wait_for()
