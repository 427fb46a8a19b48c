# What a rank runs after its MPI program. It prints "line RANK NUMBER" every half second, BEATS times or until the
# file /ckpt/over exists, and then "total RANK LINES". On TERM it writes a checkpoint, /ckpt/WORKER, if /ckpt
# exists. If it finds a file /tmp/eat, it removes the file and allocates memory until it is killed.
#
#   rank.py BEATS
import os, signal, sys, time

rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]


def checkpoint(*_):
    if os.path.isdir("/ckpt"):
        with open("/ckpt/" + os.environ["MUSTER_WORKER"], "w") as f:
            f.write("rank %s\n" % rank)
    os._exit(143)


signal.signal(signal.SIGTERM, checkpoint)
i, beats = 0, int(sys.argv[1])
while i < beats and not os.path.exists("/ckpt/over"):
    os.write(1, b"line %s %d\n" % (rank.encode(), i))
    i += 1
    if os.path.exists("/tmp/eat"):
        os.remove("/tmp/eat")
        eaten = b"x" * (1 << 30)
    time.sleep(0.5)
os.write(1, b"total %s %d\n" % (rank.encode(), i))
