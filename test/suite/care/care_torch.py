"""care.py with the real PyTorch: care_torch.py HOW.

HOW is fork, spawn or forkserver (a DataLoader with such workers), compile (the pool of workers
of torch.compile) or spawned (torch.multiprocessing.spawn)."""
import glob, os, signal, sys, time

import torch
import torch.multiprocessing
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 1 << 30

    def __getitem__(self, i):
        time.sleep(0.01)
        return torch.full((8,), float(i))


def loaded(how):
    loader = iter(DataLoader(Numbers(), batch_size=2, num_workers=2, multiprocessing_context=how))
    return lambda: next(loader)


def compiled():
    from torch._inductor.async_compile import AsyncCompile, get_compile_threads

    assert get_compile_threads() > 1
    AsyncCompile.warm_pool()
    pool = AsyncCompile.process_pool()
    return lambda: pool.submit(pow, 2, 3).result(timeout=20)


def run(me, how):
    asked, seconds = [], float(os.environ.get("CARE_SECONDS", "2")) + float(os.environ.get("CARE_APART", "0")) * int(me)
    work = compiled() if how == "compile" else loaded(how)
    work()
    signal.signal(signal.SIGTERM, lambda *_: asked.append(time.time()))
    signal.signal(signal.SIGINT, lambda *_: asked.append(time.time()))
    open("up." + me, "w").close()
    print("rank", me, "is up", flush=True)
    try:
        while not asked or time.time() < asked[0] + seconds:
            work()
            time.sleep(0.05)
    except BaseException as error:
        with open("failed." + me, "w") as f:
            f.write(repr(error))
        raise
    torch.save(torch.ones(4), "saved." + me)


def spawned(index, me):
    run(str(2 * int(me) + index), "fork")


if __name__ == "__main__":
    me = next((os.environ[n] for n in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK") if n in os.environ), "0")
    if glob.glob("saved.*"):
        sys.exit(0)
    torch.set_num_threads(1)
    if sys.argv[1] == "spawned":
        torch.multiprocessing.spawn(spawned, args=(me,), nprocs=2)
    else:
        run(me, sys.argv[1])
