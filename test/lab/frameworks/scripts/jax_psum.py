"""A psum over every device of every process.

jax_psum.py explicit: pass the arguments of initialize() from the environment.
jax_psum.py auto: call initialize() without arguments.
jax_psum.py explicit|auto die: rank 1 is killed, the others continue.
jax_psum.py explicit|auto stay: all continue. JAX makes them ignore SIGTERM."""
import os
import signal
import sys
import time

import jax
import numpy
from jax.experimental import multihost_utils
from jax.sharding import Mesh, PartitionSpec
from seen import host, hosts, row, say

if sys.argv[1] == "explicit":
    jax.distributed.initialize(coordinator_address=os.environ["JAX_COORDINATOR_ADDRESS"],
                               num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                               process_id=int(os.environ["JAX_PROCESS_ID"]))
else:
    jax.distributed.initialize()
rank, world = jax.process_index(), jax.process_count()

mesh = Mesh(jax.devices(), ("i",))
local = numpy.full(jax.local_device_count(), rank + 1, dtype=numpy.float32)
ones = multihost_utils.host_local_array_to_global_array(local, mesh, PartitionSpec("i"))
psum = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x.sum(), "i"), mesh=mesh, in_specs=PartitionSpec("i"), out_specs=PartitionSpec()))
total = float(psum(ones)) / jax.local_device_count()
everyones = multihost_utils.process_allgather(row(rank, world)).sum(0)
# Variables that made JAX find its cluster must not mislead other libraries in this process.
misled = [name for name in os.environ if name.startswith(("SLURM_", "OMPI_COMM_", "OMPI_MCA_orte_hnp", "PMI_"))]

say("jax", rank=rank, world=world, sum=int(total), hosts=hosts(everyones, world), devices=jax.device_count(), misled=misled)
if sys.argv[2:] == ["die"] and rank == 1:
    time.sleep(1)
    say("died", rank=rank)
    os.kill(os.getpid(), signal.SIGKILL)
while len(sys.argv) > 2:
    time.sleep(1)
