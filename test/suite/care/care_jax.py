"""A process of JAX. When it is stopped, it computes for $CARE_SECONDS more (default 2) and saves."""
import glob, os, signal, sys, time

if glob.glob("saved.*"):
    sys.exit(0)
import jax
import numpy

jax.distributed.initialize()
me = os.environ["RANK"] if "RANK" in os.environ else str(jax.process_index())
step = jax.jit(lambda x: x * 2 + 1)
asked, seconds = [], float(os.environ.get("CARE_SECONDS", "2")) + float(os.environ.get("CARE_APART", "0")) * int(me)
signal.signal(signal.SIGTERM, lambda *_: asked.append(time.time()))
signal.signal(signal.SIGINT, lambda *_: asked.append(time.time()))
step(numpy.ones(8)).block_until_ready()
open("up." + me, "w").close()
print("rank", me, "is up", flush=True)
while not asked or time.time() < asked[0] + seconds:
    out = step(numpy.ones(8)).block_until_ready()
    time.sleep(0.05)
with open("saved." + me, "wb") as f:
    numpy.save(f, out)
