"""Trains with parameter servers: the chief gives steps to the workers, and the variables are on the ps."""
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):  # these serve until the chief has ended
    server = tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id,
                                  protocol="grpc", start=True)
    server.join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weights = tf.Variable([0.0] * 8)


@tf.function
def step():
    x = tf.random.normal([32, 8])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.linalg.matvec(x, weights) - tf.reduce_sum(x, 1)) ** 2)
    weights.assign_sub(0.05 * tape.gradient(loss, weights))
    return loss


losses = [coordinator.schedule(step) for _ in range(200)]
coordinator.join()
workers = len(resolver.cluster_spec().as_dict()["worker"])
print(f"loss {losses[-1].fetch():.2g} with {workers} workers, variables on {weights.device.split('/')[1]}", flush=True)
