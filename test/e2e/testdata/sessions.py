# Runs in the launcher. It starts one raw `agent rsh` session to every host at the same time. Each has numbered
# lines in both directions at the same pace, for a time or until the worker finds a file /ckpt/over. It prints one
# line per session, as JSON:
#   host, code, sent and received (lines here), arrived and written (lines there),
#   and the SHA-256 of each: sent_sum, received_sum, arrived_sum, written_sum;
#   wrong (lines that were not the next one)
# and "streaming" when every session has carried its first line.
#
# When a worker is stopped (TERM), its end of the session writes /ckpt/HOST there, if /ckpt exists. If it finds a
# file /tmp/eat, it removes the file and allocates memory until it is killed.
#
#   sessions.py SECONDS BEAT LINES HOST...      LINES lines every BEAT seconds
import hashlib, json, os, subprocess, sys, threading

# The other end. It reads its input to EOF while it writes its own lines, and reports to stderr.
REMOTE = r'''
import hashlib, os, signal, sys, threading, time
name, beats, pause, lines = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
def checkpoint(*_):
    if os.path.isdir("/ckpt"):
        open("/ckpt/" + name, "w").write("raw session\n")
    os._exit(143)
signal.signal(signal.SIGTERM, checkpoint)
got, wrote, arrived, beat = hashlib.sha256(), hashlib.sha256(), 0, 0
def read():
    global arrived
    for line in sys.stdin.buffer:
        got.update(line)
        arrived += 1
reader = threading.Thread(target=read)
reader.start()
while beat < beats and not os.path.exists("/ckpt/over"):
    block = b"".join(b"worker %s line %08d of what it says\n" % (name.encode(), beat * lines + i) for i in range(lines))
    wrote.update(block)
    beat += 1
    sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()
    if os.path.exists("/tmp/eat"):
        os.remove("/tmp/eat")
        eaten = b"x" * (1 << 30)
    time.sleep(pause)
if beat < beats:
    os.write(1, b"over\n")
reader.join()
print("account", got.hexdigest(), wrote.hexdigest(), arrived, beat * lines, file=sys.stderr)
'''

seconds, BEAT, LINES, hosts = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
beats = round(seconds / BEAT)
ready = threading.Semaphore(0)


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def session(host, results):
    command = "exec python3 -c %s %s %d %s %d" % (quote(REMOTE), host, beats, BEAT, LINES)
    proc = subprocess.Popen(["agent", "rsh", host, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sent, received = hashlib.sha256(), hashlib.sha256()
    count = {"sent": 0, "received": 0, "wrong": 0}
    over = threading.Event()

    def write():
        beat = 0
        while beat < beats and not over.is_set():
            block = b"".join(b"launcher to %s line %08d of what it says\n" % (host.encode(), beat * LINES + i) for i in range(LINES))
            proc.stdin.write(block)
            proc.stdin.flush()
            sent.update(block)
            count["sent"] += LINES
            beat += 1
            over.wait(BEAT)
        proc.stdin.close()

    writer = threading.Thread(target=write)
    writer.start()
    for line in proc.stdout:
        if count["received"] == 0:
            ready.release()
        if line == b"over\n":
            over.set()
            continue
        if line != b"worker %s line %08d of what it says\n" % (host.encode(), count["received"]):
            count["wrong"] += 1
        received.update(line)
        count["received"] += 1
    writer.join()
    said = proc.stderr.read().decode()
    code = proc.wait()
    account = [l.split() for l in said.splitlines() if l.startswith("account ")]
    arrived_sum, written_sum, arrived, written = account[0][1:5] if account else ("none", "none", 0, 0)
    if code != 0:
        print("session to %s ended with %d: %s" % (host, code, said[-300:]), flush=True)
        # Not at once: our end would break the pipes of sessions that have not been stopped yet. A drain of a
        # busy node took 7 s from its first pod to its last.
        threading.Timer(20, os._exit, [1]).start()
        return
    results.append(dict(count, host=host, code=code, sent_sum=sent.hexdigest(), arrived_sum=arrived_sum, arrived=int(arrived),
                        written_sum=written_sum, received_sum=received.hexdigest(), written=int(written), said=said[-300:]))


results = []
threads = [threading.Thread(target=session, args=(host, results)) for host in hosts]
for t in threads:
    t.start()
for _ in hosts:
    ready.acquire()
print("streaming", flush=True)
for t in threads:
    t.join()
for r in sorted(results, key=lambda r: r["host"]):
    print("session " + json.dumps(r), flush=True)
sys.exit(0 if all(r["code"] == 0 for r in results) else 1)
