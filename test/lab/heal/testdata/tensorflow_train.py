"""ParameterServerStrategy: the chief trains with workers, and with variables on a ps. A worker
is killed. If the chief cannot continue, the job is restarted from the chief's checkpoint."""
import os

import heal

heal.start()
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    server = tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id,
                                  protocol="grpc", start=True)
    heal.say("serves", role=resolver.task_type)
    if os.environ.get("HEAL_DIE") == f"{resolver.task_type}:{resolver.task_id}" and heal.attempt == 0:
        import time
        while heal.load() < 5:
            time.sleep(0.1)
        heal.say("dies")
        os.kill(os.getpid(), 9)
    server.join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
step = heal.load()
with strategy.scope():
    weight = tf.Variable([float(step)])
heal.say("begin", step=step, world=len(resolver.cluster_spec().as_dict()["worker"]))


@tf.function
def add():
    weight.assign_add([1.0])
    return weight.read_value()


while step < heal.steps:
    coordinator.schedule(add)
    coordinator.join()
    step += 1
    heal.save(step, force=True)
    heal.strike(step)
heal.say("end", step=step)
