"""ParameterServerStrategy: the chief trains with workers, and with variables on a ps.
Workers and ps wait forever."""
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf
from seen import host, say

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    server = tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id,
                                  protocol="grpc", start=True)
    say("tensorflow-" + resolver.task_type, rank=resolver.task_id, world=1, sum=0, hosts=[host()])
    server.join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
tasks = resolver.cluster_spec().as_dict()
with strategy.scope():
    total, weight = tf.Variable(0.0), tf.Variable([0.0] * 8)
ps = total.device

# A sum on the ps, to which each worker contributes.
for i in range(len(tasks["worker"])):
    with tf.device("/job:worker/replica:0/task:%d" % i):
        part = tf.constant(i + 1.0) + 0
        assert "task:%d" % i in part.device, part.device
    total.assign_add(part)


@tf.function
def step():
    x = tf.random.normal([32, 8])
    y = tf.reduce_sum(x, 1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.linalg.matvec(x, weight) - y) ** 2)
    weight.assign_sub(0.05 * tape.gradient(loss, weight))
    return loss


losses = [coordinator.schedule(step) for _ in range(60)]
coordinator.join()
losses = [loss.fetch() for loss in losses]
remote = {(d.job, d.task) for d in map(tf.DeviceSpec.from_string, (d.name for d in tf.config.list_logical_devices())) if d.job != "chief"}
say("tensorflow", rank=0, world=1 + len(remote), sum=int(total.numpy()), hosts=[host()],
    losses=[float(sum(losses[:3]) / 3), float(sum(losses[-3:]) / 3)], same="job:ps" in ps)
