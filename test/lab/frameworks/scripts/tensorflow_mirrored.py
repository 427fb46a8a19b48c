"""MultiWorkerMirroredStrategy: an all-reduce, and a model that all ranks share."""
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"  # Keras 3 cannot fit under this strategy
import numpy
import tensorflow as tf
from seen import hosts, row, say

strategy = tf.distribute.MultiWorkerMirroredStrategy()
resolver, world = strategy.cluster_resolver, strategy.num_replicas_in_sync
rank = resolver.task_id + (resolver.task_type == "worker" and "chief" in resolver.cluster_spec().jobs)


def all_reduce(value):
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(value))  # identity puts the value on the replica's device


@tf.function
def summed(value):
    return strategy.run(all_reduce, args=(value,))


def of_all(value):
    return strategy.experimental_local_results(summed(tf.constant(value)))[0].numpy()


total = of_all(numpy.float32(rank + 1))
everyones = hosts(of_all(row(rank, world)), world)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(8,))])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss="mse")
x = numpy.random.default_rng(0).normal(size=(96, 8)).astype(numpy.float32)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(24).with_options(options)
losses = model.fit(data, epochs=6, steps_per_epoch=4, verbose=0).history["loss"]
weights = numpy.concatenate([w.ravel() for w in model.get_weights()])
mean = of_all(weights) / world
say("tensorflow", rank=int(rank), world=world, sum=int(total), hosts=everyones, losses=[losses[0], losses[-1]],
    same=bool(numpy.allclose(mean, weights, atol=1e-6)))
