# Runs in the launcher: one raw `agent rsh` session to every host named, all at
# once, with numbered lines both ways at the same pace for a while. Prints one
# line per session, as JSON:
#   host, code, sent and received (lines), sent_sum, arrived_sum (what the worker
#   got), written_sum (what the worker wrote), received_sum, wrong (lines that were not the next one)
# and "streaming" when every session has carried its first line.
#
#   apiserver_sessions.py SECONDS HOST...
import hashlib, json, subprocess, sys, threading

# The other end: reads to EOF what it is sent while it writes lines of its own;
# its account goes to stderr.
REMOTE = r'''
import hashlib, sys, threading, time
name, beats = sys.argv[1], int(sys.argv[2])
got, wrote = hashlib.sha256(), hashlib.sha256()
def read():
    for line in sys.stdin.buffer:
        got.update(line)
reader = threading.Thread(target=read)
reader.start()
for beat in range(beats):
    block = b"".join(b"worker %s line %08d of what it says\n" % (name.encode(), beat * 50 + i) for i in range(50))
    wrote.update(block)
    sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()
    time.sleep(0.05)
reader.join()
print("account", got.hexdigest(), wrote.hexdigest(), file=sys.stderr)
'''
BEAT, LINES = 0.05, 50

seconds, hosts = float(sys.argv[1]), sys.argv[2:]
beats = int(seconds / BEAT)
ready = threading.Semaphore(0)
stop = threading.Event()


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def session(host, results):
    command = "exec python3 -c %s %s %d" % (quote(REMOTE), host, beats)
    proc = subprocess.Popen(["agent", "rsh", host, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sent, received = hashlib.sha256(), hashlib.sha256()
    count = {"sent": 0, "received": 0, "wrong": 0}

    def write():
        for beat in range(beats):
            block = b"".join(b"launcher to %s line %08d of what it says\n" % (host.encode(), beat * LINES + i) for i in range(LINES))
            proc.stdin.write(block)
            proc.stdin.flush()
            sent.update(block)
            count["sent"] += LINES
            stop.wait(BEAT)
        proc.stdin.close()

    writer = threading.Thread(target=write)
    writer.start()
    for line in proc.stdout:
        if count["received"] == 0:
            ready.release()
        if line != b"worker %s line %08d of what it says\n" % (host.encode(), count["received"]):
            count["wrong"] += 1
        received.update(line)
        count["received"] += 1
    writer.join()
    said = proc.stderr.read().decode()
    code = proc.wait()
    account = [l.split() for l in said.splitlines() if l.startswith("account ")]
    arrived, written = (account[0][1:3] if account else ("none", "none"))
    results.append(dict(count, host=host, code=code, sent_sum=sent.hexdigest(), arrived_sum=arrived,
                        written_sum=written, received_sum=received.hexdigest(), said=said[-300:]))


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
