"""An allreduce by mpi4py: one program for every MPI."""
from mpi4py import MPI
from seen import host, say

world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
say("mpi", rank=world.rank, world=world.size, sum=total, hosts=world.allgather(host()),
    library=MPI.Get_library_version().split(",")[0].split("\n")[0].strip("\0 "))
