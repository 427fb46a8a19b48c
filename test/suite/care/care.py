"""A rank that needs other processes to write its checkpoint: care.py HOW.

On TERM or INT it works with them for $CARE_SECONDS more (default 2), writes its checkpoint and exits
with 0. HOW is the kind of processes: pool (compile workers, like those of torch.compile), service (a
server in its own session), subprocess, or spawned (the ranks are two children of a
waiting parent, like torch.multiprocessing.spawn). If there is a checkpoint, it exits at once."""
import glob, os, signal, socket, subprocess, sys, time

SERVER = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
while True:
    c, _ = s.accept()
    c.sendall(b"there")
    c.close()
"""


def number():
    return next((os.environ[n] for n in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK") if n in os.environ), "0")


class Pool:
    def __init__(self, me):
        import concurrent.futures, multiprocessing

        self.pool = concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
        self.work()

    def work(self):
        assert self.pool.submit(pow, 2, 3).result(timeout=20) == 8

    def end(self):
        self.pool.shutdown()


class Service:
    def __init__(self, me):
        self.path = "service." + me
        self.proc = subprocess.Popen([sys.executable, "-c", SERVER, self.path], start_new_session=True)
        while not os.path.exists(self.path) or not self.there():
            time.sleep(0.02)

    def there(self):
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(self.path)
            except ConnectionRefusedError:
                return False
            return s.recv(5) == b"there"

    def work(self):
        assert self.there()

    def end(self):
        self.proc.kill()
        self.proc.wait()


class Subprocess:
    def __init__(self, me):
        self.proc = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.work()

    def work(self):
        self.proc.stdin.write(b"data\n")
        self.proc.stdin.flush()
        assert self.proc.stdout.readline() == b"data\n"

    def end(self):
        self.proc.kill()
        self.proc.wait()


def run(me, how):
    asked, seconds = [], float(os.environ.get("CARE_SECONDS", "2")) + float(os.environ.get("CARE_APART", "0")) * int(me)
    helper = {"pool": Pool, "service": Service, "subprocess": Subprocess}[how](me)
    signal.signal(signal.SIGTERM, lambda *_: asked.append(time.time()))
    signal.signal(signal.SIGINT, lambda *_: asked.append(time.time()))
    open("up." + me, "w").close()
    print("rank", me, "is up", flush=True)
    try:
        while not asked or time.time() < asked[0] + seconds:
            helper.work()
            time.sleep(0.05)
    except BaseException as error:
        with open("failed." + me, "w") as f:
            f.write(repr(error))
        raise
    open("saved." + me, "w").close()
    helper.end()


def spawned(index, me):
    run(str(2 * int(me) + index), "subprocess")


if __name__ == "__main__":
    if glob.glob("saved.*"):
        sys.exit(0)
    if sys.argv[1] != "spawned":
        run(number(), sys.argv[1])
        sys.exit(0)
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=spawned, args=(i, number())) for i in range(2)]
    for one in children:
        one.start()
    while any(one.exitcode is None for one in children):
        if any(one.exitcode for one in children):
            for one in children:
                one.terminate()
        time.sleep(0.05)
    sys.exit(any(one.exitcode for one in children))
