"""dist_sync: the servers sum up the values that the workers push. In the scheduler and the servers,
the import does not return."""
import mxnet
from seen import hosts, row, say

store = mxnet.kv.create("dist_sync")
rank, world = store.rank, store.num_workers
store.init("sum", mxnet.nd.zeros((1,)))
store.init("hosts", mxnet.nd.zeros((world, 64)))
store._barrier()
store.push("sum", mxnet.nd.ones((1,)) * (rank + 1))
store.push("hosts", mxnet.nd.array(row(rank, world)))
total, everyones = mxnet.nd.zeros((1,)), mxnet.nd.zeros((world, 64))
store.pull("sum", out=total)
store.pull("hosts", out=everyones)
say("mxnet", rank=rank, world=world, sum=int(total.asscalar()), hosts=hosts(everyones.asnumpy(), world))
store._barrier()
