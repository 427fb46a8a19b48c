"""notebook.py PAGE NAME IMAGE: runs the blocks of docs/guides/python.md as a notebook would.

The API server is made to end watches after a second, and the first watch begins where
the server remembers nothing any more (410). Ends with 0 when all was as the page says.
"""
import re
import sys

page, name, image = sys.argv[1:]
with open(page) as f:
    text = f.read()
blocks = re.findall(r"```python\n(.*?)```", text, re.S)
(last,) = re.findall(r"```python notebook\n(.*?)```", text, re.S)
assert len(blocks) == 5, len(blocks)
cells = {"__name__": "__main__"}
for block in blocks:
    exec(compile(block, page, "exec"), cells)

client, watch, jobs = cells["client"], cells["watch"], cells["jobs"]
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

# Four ranks over two workers say who they are, and take longer than a watch.
program = """
import os, time
time.sleep(4)
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], flush=True)
"""
seen = {}


def pods_seen(name):
    seen.update(cells["pods_of"](name))


for was, then in [('"demo"', repr(name)), ('"registry.example.com/train:1"', repr(image)),
                  ('["python3", "train.py"]', repr(["python3", "-c", program])),
                  ("\ndelete(", "\nseen(%r); ranks = logs(%r)\ndelete(" % (name, name))]:
    assert was in last, was
    last = last.replace(was, then)
cells["seen"] = pods_seen
exec(compile(last, page, "exec"), cells)

assert cells["job"]["status"]["phase"] == "Succeeded", cells["job"]["status"]
ranks = cells["ranks"]
assert all(ranks[r] == [f"rank {r} of 4"] for r in range(4)), ranks
assert set(seen) == {name + "-launcher", name + "-worker-0", name + "-worker-1"}, seen
assert len(expired) == 1, expired
assert len(ends) >= 2, ends
try:
    jobs.get_namespaced_custom_object(**cells["KIND"], name=name)
    sys.exit("the job is still there")
except client.ApiException as e:
    assert e.status == 404
assert not cells["pods_of"](name), "its pods are still there"
print(f"notebook ok: {len(ends)} watches ended, {len(expired)} had expired")
