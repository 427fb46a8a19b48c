"""A rank whose data come from other processes: loaders.py METHOD.

The end of one of these processes is an error, as in PyTorch's DataLoader. On TERM or INT the rank writes
its checkpoint, which takes $CARE_SECONDS (default 2), and exits with 0. METHOD is how
multiprocessing starts a process: fork, spawn or forkserver. If there is a checkpoint, it exits at once."""
import glob, multiprocessing, os, signal, sys, time

me = next((os.environ[n] for n in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK") if n in os.environ), "0")


def load(number):
    def asked(number, frame):
        open("asked." + me, "w").close()
        os._exit(0)

    signal.signal(signal.SIGTERM, asked)
    signal.signal(signal.SIGINT, asked)
    open("loader.%s.%d" % (me, number), "w").close()
    while True:
        time.sleep(0.1)


def save(number, frame):
    end = time.time() + float(os.environ.get("CARE_SECONDS", "2")) + float(os.environ.get("CARE_APART", "0")) * int(me)
    while time.time() < end:
        check()
        time.sleep(0.02)
    open("saved." + me, "w").close()
    for one in loaders:
        one.kill()
    sys.exit(0)


def check():
    for one in loaders:
        if one.exitcode is not None:
            open("failed." + me, "w").close()
            raise RuntimeError("loader %s ended with %s" % (one.pid, one.exitcode))


if __name__ == "__main__":
    if glob.glob("saved.*"):
        sys.exit(0)
    os.environ["RANK"] = me  # many programs set it if it is not set
    context = multiprocessing.get_context(sys.argv[1])
    loaders = [context.Process(target=load, args=(n,), daemon=True) for n in range(2)]
    for one in loaders:
        one.start()
    while not all(os.path.exists("loader.%s.%d" % (me, n)) for n in range(2)):
        check()
        time.sleep(0.02)
    signal.signal(signal.SIGTERM, save)
    signal.signal(signal.SIGINT, save)
    open("up." + me, "w").close()
    print("rank", me, "is up", flush=True)
    while True:
        check()
        time.sleep(0.1)
