"""What the scripts here share: records, the checkpoint, and the death of a rank.

Each line is one record: {"heal": WHAT, "attempt": N, "rank": N, "t": SECONDS, ...}.
HEAL_SHARED is a directory that every worker has, HEAL_STEPS the number of steps,
HEAL_PAUSE seconds between steps. HEAL_DIE="RANK:STEP" makes a rank kill itself at that step in the
first attempt (HEAL_BY=torchrun: in torchrun's first attempt). HEAL_SAVE=term: write a checkpoint only at SIGTERM.
"""
import json
import os
import re
import signal
import socket
import time

shared = os.environ["HEAL_SHARED"]
steps = int(os.environ.get("HEAL_STEPS", "20"))
pause = float(os.environ.get("HEAL_PAUSE", "0.2"))
attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT" if os.environ.get("HEAL_BY") == "torchrun" else "MUSTER_ATTEMPT", "0"))
checkpoint = os.path.join(shared, "checkpoint")
leaving = False


def number():
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "DMLC_TASK_ID"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    found = re.search(r"(\d+)$", socket.gethostname())
    return int(found[1]) if found else -1


rank = number()


def say(what, **more):
    print(json.dumps({"heal": what, "attempt": attempt, "rank": rank, "t": time.time(), **more}), flush=True)


def begun(pid="self"):
    """Returns when a process was started, by the kernel's clock."""
    with open(f"/proc/{pid}/stat") as f:
        ticks = int(f.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/uptime") as f:
        up = float(f.read().split()[0])
    return time.time() - (up - ticks / os.sysconf("SC_CLK_TCK"))


def old():
    """Returns how many processes of an earlier attempt of this job are running."""
    count, ours = 0, f"HEAL_SHARED={shared}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                env = f.read().split(b"\0")
        except OSError:
            continue
        was = [int(kv[15:]) for kv in env if kv.startswith(b"MUSTER_ATTEMPT=")]
        count += bool(was and was[0] < attempt and ours in env)
    return count


def start():
    """Prints the first line of an attempt."""
    say("start", begun=begun(), pod=begun(1), old=old(), port=os.environ.get("MASTER_PORT", ""), host=socket.gethostname())


def load():
    try:
        with open(checkpoint) as f:
            return json.load(f)["step"]
    except FileNotFoundError:
        return 0


def save(step, force=False):
    """Writes the checkpoint atomically. Every rank has the same state, so any rank may write it."""
    if not force and (rank != 0 or os.environ.get("HEAL_SAVE") == "term"):
        return
    mine = f"{checkpoint}.{rank}"
    with open(mine, "w") as f:
        json.dump({"step": step}, f)
        f.flush()
        os.fsync(f.fileno())
    os.replace(mine, checkpoint)


def strike(step):
    """Ends the rank after a step, if the test wants that, and otherwise reports the step."""
    if leaving:
        save(step, force=True)
        say("left", step=step)
        os._exit(143)
    if attempt == 0 and os.environ.get("HEAL_DIE") == f"{rank}:{step}":
        say("dies", step=step)
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 0 and step % 2 == 0:
        say("step", step=step)
    time.sleep(pause)


def _leave(*_):
    global leaving
    leaving = True


signal.signal(signal.SIGTERM, _leave)
