"""Fits a linear model on the devices of all processes: each has its own part of the data."""
import jax
import jax.numpy as jnp
import numpy
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.distributed.initialize()  # Muster tells it where, who and how many
mesh = Mesh(jax.devices(), ("data",))
random = numpy.random.default_rng(jax.process_index())
mine = random.normal(size=(64 * jax.local_device_count(), 8)).astype(numpy.float32)
x = multihost_utils.host_local_array_to_global_array(mine, mesh, PartitionSpec("data"))
w = jax.device_put(numpy.zeros(8, numpy.float32), NamedSharding(mesh, PartitionSpec()))


@jax.jit
def step(w, x):
    def loss(w):
        return jnp.mean((x @ w - x.sum(1)) ** 2)

    value, gradient = jax.value_and_grad(loss)(w)
    return w - 0.1 * gradient, value


for _ in range(100):
    w, value = step(w, x)
if jax.process_index() == 0:
    print(f"loss {float(value):.2g} on {jax.device_count()} devices of {jax.process_count()} processes", flush=True)
jax.distributed.shutdown()
