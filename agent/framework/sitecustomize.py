"""Lets jax and torchrun take part in the job that Muster has started.

Python loads this at its start, before the program.

It waits for the module in which jax looks for clusters and puts one in front of
those that jax knows: the environment says it all. First, because the detection of
Kubernetes reads the pod's token, and fails where there is none, even with explicit
arguments.

It waits for the module with which torchrun begins, and refuses one whose options
keep it to its own worker, wherever a script starts it: it would train alone, or
wait for others that never come.

Nothing else is changed, and any surprise leaves both as they are.
"""

import os
import sys

try:
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder
except ImportError:  # not CPython
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

ADDRESS, SIZE, RANK = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
LOCAL = "JAX_LOCAL_PROCESS_ID"  # where a worker has more than one process
NODES = "PET_NNODES"  # workers, for torchrun


def add_cluster(clusters):
    """Put our cluster in front of those of the module jax._src.clusters."""
    known = clusters.ClusterEnv._cluster_types
    if any(cluster.name == "muster" for cluster in known):
        return

    class MusterCluster(clusters.ClusterEnv):
        name = "muster"

        @classmethod
        def is_env_present(cls):
            return all(name in os.environ for name in (ADDRESS, SIZE, RANK))

        @classmethod
        def get_coordinator_address(cls, timeout_secs=None, override_coordinator_port=None):
            address = os.environ[ADDRESS]
            if override_coordinator_port:
                address = address.rpartition(":")[0] + ":" + override_coordinator_port
            return address

        @classmethod
        def get_process_count(cls):
            return int(os.environ[SIZE])

        @classmethod
        def get_process_id(cls):
            return int(os.environ[RANK])

        @classmethod
        def get_local_process_id(cls):
            local = os.environ.get(LOCAL)
            return None if local is None else int(local)

    if MusterCluster in known:
        known.remove(MusterCluster)
    known.insert(0, MusterCluster)


def refuse_alone(api):
    """Have torch.distributed.launcher.api refuse a torchrun for one worker of several."""
    begin = api.elastic_launch.__init__

    def checked(self, config, *args, **kwargs):
        host, _, port = str(config.rdzv_endpoint).rpartition(":")
        here = host in ("localhost", "127.0.0.1") and config.rdzv_backend != "static"
        if config.max_nodes == 1 or here and (port == "0" or "MUSTER_FAKE_WORKER" not in os.environ):
            sys.exit(
                "agent: torchrun: with --standalone or --nnodes=1 it would start a separate job on each of the "
                + os.environ[NODES] + " workers\nhint: leave these options out: torchrun is told the workers by the environment"
            )
        begin(self, config, *args, **kwargs)

    api.elastic_launch.__init__ = checked


class Watch:
    """A finder that finds nothing itself and sees one module being imported."""

    def __init__(self, wanted, change):
        self.wanted, self.change = wanted, change

    def find_spec(self, name, path=None, target=None):
        if name != self.wanted:
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self.follow(spec)
                return spec
        return None

    def follow(self, spec):
        """Have the loader change the module when it has run it."""
        try:
            loader, run = spec.loader, spec.loader.exec_module

            def exec_module(module):
                vars(loader).pop("exec_module", None)
                run(module)
                try:
                    self.change(module)
                except Exception:
                    pass

            loader.exec_module = exec_module
        except Exception:
            pass


def run_other():
    """Run the sitecustomize that Python would have loaded without this one.

    Only what stands behind this directory is searched: a second copy of this
    file, of a job around this one, goes on from there and never comes back.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    own = [i for i, p in enumerate(sys.path) if os.path.abspath(p) == here]
    path = sys.path[own[-1] + 1 :] if own else []
    spec = PathFinder.find_spec(__name__, path)
    if spec is None or spec.loader is None:
        return
    other = module_from_spec(spec)
    sys.modules[__name__] = other
    spec.loader.exec_module(other)


if all(name in os.environ for name in (ADDRESS, SIZE, RANK)):
    sys.meta_path.insert(0, Watch("jax._src.clusters", add_cluster))
if os.environ.get(NODES, "").isdigit() and int(os.environ[NODES]) > 1:
    sys.meta_path.insert(0, Watch("torch.distributed.launcher.api", refuse_alone))
run_other()
