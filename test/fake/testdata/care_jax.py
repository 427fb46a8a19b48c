"""A process of JAX that computes for two seconds more when it is told to end, and saves."""
import glob, os, signal, sys, time

if glob.glob("saved.*"):
    sys.exit(0)
import jax
import numpy

jax.distributed.initialize()
me = os.environ["RANK"] if "RANK" in os.environ else str(jax.process_index())
step = jax.jit(lambda x: x * 2 + 1)
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(time.time()))
signal.signal(signal.SIGINT, lambda *_: asked.append(time.time()))
step(numpy.ones(8)).block_until_ready()
open("up." + me, "w").close()
while not asked or time.time() < asked[0] + 2:
    out = step(numpy.ones(8)).block_until_ready()
    time.sleep(0.05)
with open("saved." + me, "wb") as f:
    numpy.save(f, out)
