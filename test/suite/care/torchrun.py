"""Stops ranks as torchrun does: torchrun.py RANKS SECONDS SCRIPT...

It starts RANKS ranks, each with its own number. On TERM it sends TERM to the ranks, and kills
the remaining ones SECONDS later: 30 in the real torchrun (multiprocessing/api.py, close). If a rank
fails, it stops the others in the same way."""
import os, signal, subprocess, sys, time

count, wait, script = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]


def asked(number, frame):
    raise SystemExit(1)


signal.signal(signal.SIGTERM, asked)
signal.signal(signal.SIGINT, asked)
group = int(os.environ.get("GROUP_RANK", "0"))
ranks = []
try:
    for local in range(count):
        rank = str(group * count + local)
        numbers = {"LOCAL_RANK": str(local), "RANK": rank, "ROLE_RANK": rank, "TORCHELASTIC_RUN_ID": "none"}
        ranks.append(subprocess.Popen(script, env={**os.environ, **numbers}))
    while True:
        codes = [r.poll() for r in ranks]
        if any(codes):
            raise SystemExit(1)
        if None not in codes:
            break
        time.sleep(0.1)
finally:
    for r in ranks:
        r.terminate()
    end = time.time() + wait
    while any(r.poll() is None for r in ranks) and time.time() < end:
        time.sleep(0.02)
    for r in ranks:
        r.kill()
        r.wait()
