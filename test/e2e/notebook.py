"""notebook.py PAGE NAME IMAGE: runs the notebook of docs/guides/python.md, with the installed package.

The API server ends each watch after a second, and the first watch begins at a version that
the server no longer has (410). Exits with 0 if everything was as the page says.
"""
import re
import sys

import muster
from kubernetes import client, watch

page, name, image = sys.argv[1:]
with open(page) as f:
    (cell,) = re.findall(r"```python notebook\n(.*?)```", f.read(), re.S)
ends, expired = [], []


def brief(stream):
    def wrapped(self, *args, **kwargs):
        kwargs["timeout_seconds"] = 1
        if not ends and not expired:
            kwargs["resource_version"] = "1"
        try:
            for event in stream(self, *args, **kwargs):
                yield event
                return
            ends.append(kwargs["resource_version"])
        except client.ApiException as e:
            if e.status == 410:
                expired.append(e.reason)
            raise
    return wrapped


watch.Watch.stream = brief(watch.Watch.stream)

# Four ranks on two workers print their numbers, and run longer than a watch.
program = """
import os, time
time.sleep(4)
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], flush=True)
"""
for was, then in [('"demo"', repr(name)), ('"registry.example.com/train:1"', repr(image)),
                  ('["python3", "train.py"]', repr(["python3", "-c", program])),
                  ("\njob.delete(", "\nresult, seen, ranks = job.result(), job.pods(), job.logs()\njob.delete(")]:
    assert was in cell, was
    cell = cell.replace(was, then)
cells = {"__name__": "__main__"}
exec(compile(cell, page, "exec"), cells)

job, result, seen, ranks = (cells[n] for n in ("job", "result", "seen", "ranks"))
assert result and result.exit_code == 0 and result.completed, result
assert all(ranks[r] == [f"rank {r} of 4"] for r in range(4)), ranks
assert set(seen) == {name + "-launcher", name + "-worker-0", name + "-worker-1"}, seen
assert len(expired) == 1, expired
assert len(ends) >= 2, ends
try:
    muster.get(name)
    sys.exit("the job is still there")
except client.ApiException as e:
    assert e.status == 404
assert not job.pods(), "its pods are still there"
print(f"notebook ok: {len(ends)} watches ended, {len(expired)} had expired")
