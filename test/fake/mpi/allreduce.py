"""Check an allreduce over all ranks with mpi4py and show where each rank runs.

Usage: allreduce.py [LENGTH]. Each rank contributes a vector filled with rank+1;
every element of the sum must be n(n+1)/2. Rank 0 prints one line per rank and
`sum ok: SIZE ranks, VALUE`; a wrong sum anywhere ends the job with exit code 1.

If mpi4py was built for another MPI than the one that started it, every process
is a world of its own, with a correct sum over one rank. So the size is
compared with the size that the launcher has set in the environment.
"""

import array
import os
import socket
import sys

from mpi4py import MPI


def main():
    length = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    told = os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ.get("PMI_SIZE")
    if told and int(told) != size:
        sys.exit(f"mpi4py sees {size} ranks, the launcher started {told}: it is built for another MPI")
    mine = array.array("d", [rank + 1.0]) * length
    total = array.array("d", [0.0]) * length
    comm.Allreduce([mine, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)
    want = size * (size + 1) / 2
    wrong = sum(1 for value in total if value != want)
    if wrong:
        print(f"rank {rank}: {wrong} of {length} sums are not {want}", flush=True)
        comm.Abort(1)
    place = os.environ.get("MUSTER_WORKER") or socket.gethostname()
    places = comm.gather(place, root=0)
    if rank == 0:
        for index, name in enumerate(places):
            print(f"rank {index} of {size} on {name}")
        print(f"sum ok: {size} ranks, {want:g}", flush=True)


main()
