"""sdk.py TORCH PYTHON_IMAGE MPI_IMAGE: runs Kubeflow's own SDK, kubeflow-training, unchanged,
with kinds that Muster serves in place.

TORCH is a directory of the nodes with PyTorch; the SDK's own arguments mount it. Each
job is created, awaited, read and deleted as in a notebook. The script fails if a result differs
from that under Kubeflow's operator.
"""
import os
import sys
import time

from kubernetes import client
from kubeflow.training import TrainingClient, models
from kubeflow.training.constants import constants

torch, python_image, mpi_image = sys.argv[1:]
with open("/var/run/secrets/kubernetes.io/serviceaccount/namespace") as f:
    namespace = f.read()
kubeflow = TrainingClient(namespace=namespace)


def train(parameters):
    import os
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    x = torch.ones(1) * (dist.get_rank() + 1)
    dist.all_reduce(x)
    # A single write, because two processes share the pod's output.
    os.write(1, f"rank {dist.get_rank()} of {dist.get_world_size()} sum {int(x.item())} lr {parameters['lr']}\n".encode())
    dist.destroy_process_group()


def from_function(name):
    kubeflow.create_job(
        name=name, job_kind=constants.PYTORCHJOB_KIND, base_image=python_image, train_func=train, parameters={"lr": 0.1},
        num_workers=3, resources_per_worker={"memory": "512Mi"},
        env_vars={"PATH": "/torch/bin:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": "/torch/lib/python3.11/site-packages", "OMP_NUM_THREADS": "1"},
        volumes=[client.V1Volume(name="torch", host_path=client.V1HostPathVolumeSource(path=torch))],
        volume_mounts=[client.V1VolumeMount(name="torch", mount_path="/torch", read_only=True)])


def replica(kind, count, container, image, command=None):
    spec = client.V1PodSpec(containers=[client.V1Container(
        name=container, image=image, image_pull_policy="IfNotPresent", command=command,
        resources=client.V1ResourceRequirements(requests={"cpu": "10m", "memory": "32Mi"}))])
    return {kind: models.KubeflowOrgV1ReplicaSpec(replicas=count, restart_policy="Never", template=client.V1PodTemplateSpec(spec=spec))}


def tfjob(name):
    say = ["python3", "-c", "import os; print('TF_CONFIG', os.environ['TF_CONFIG'])"]
    lead = [say[0], say[1], say[2] + "; import time; time.sleep(5)"]  # the job ends with the chief, so the other pods need time to start
    wait = ["python3", "-c", "import time; time.sleep(3600)"]
    kubeflow.create_job(models.KubeflowOrgV1TFJob(
        api_version=constants.API_VERSION, kind=constants.TFJOB_KIND, metadata=client.V1ObjectMeta(name=name, namespace=namespace),
        spec=models.KubeflowOrgV1TFJobSpec(run_policy=models.KubeflowOrgV1RunPolicy(clean_pod_policy="None"), tf_replica_specs={
            **replica("Chief", 1, "tensorflow", python_image, lead), **replica("PS", 1, "tensorflow", python_image, wait),
            **replica("Worker", 2, "tensorflow", python_image, say)})))


def mpijob(name):
    kubeflow.create_job(models.KubeflowOrgV1MPIJob(
        api_version=constants.API_VERSION, kind=constants.MPIJOB_KIND, metadata=client.V1ObjectMeta(name=name, namespace=namespace),
        spec=models.KubeflowOrgV1MPIJobSpec(
            slots_per_worker=2, run_policy=models.KubeflowOrgV1RunPolicy(clean_pod_policy="None"), mpi_replica_specs={
                **replica("Launcher", 1, "mpi", mpi_image, ["mpirun", "--allow-run-as-root", "/opt/muster-test/hello"]),
                **replica("Worker", 2, "mpi", mpi_image)})))


def check(kind, name, create, pods, master, lines):
    """Runs a job. pods: names of all pods; master: those with the role; lines: how often a pod's log contains a word."""
    create(name)
    assert kubeflow.get_job(name, job_kind=kind).metadata.name == name
    job = kubeflow.wait_for_job_conditions(name, job_kind=kind, wait_timeout=180, polling_interval=2)
    conditions = [c.type for c in job.status.conditions if c.status == "True"]
    assert kubeflow.is_job_succeeded(name, job_kind=kind), conditions
    assert "Created" in [c.type for c in job.status.conditions], conditions
    assert job.status.start_time and job.status.completion_time, job.status
    assert name in [j.metadata.name for j in kubeflow.list_jobs(job_kind=kind)]
    found = kubeflow.get_job_pod_names(name)
    assert sorted(found) == sorted(pods), found
    found = kubeflow.get_job_pod_names(name, is_master=True)
    assert found == master, found
    for replica_type in {p.removeprefix(name + "-").rsplit("-", 1)[0] for p in pods} - {"launcher"}:
        found = kubeflow.get_job_pod_names(name, replica_type=replica_type, replica_index=0)
        assert found == [f"{name}-{replica_type}-0"], found
    logs, _ = kubeflow.get_job_logs(name, job_kind=kind)
    assert list(logs) == master, logs
    logs, _ = kubeflow.get_job_logs(name, job_kind=kind, is_master=False)
    for pod, (word, count) in lines.items():
        assert logs[pod].count(word) == count, f"{pod}: {count} times {word!r} in\n{logs[pod]}"
    kubeflow.delete_job(name, job_kind=kind)
    deadline = time.monotonic() + 60
    while kubeflow.get_job_pods(name):
        assert time.monotonic() < deadline, "the pods of a deleted job still exist"
        time.sleep(1)
    counts = {k: [r.active or 0, r.succeeded or 0, r.failed or 0] for k, r in job.status.replica_statuses.items()}
    print(kind, "ok:", " ".join(conditions) + "; active, succeeded, failed:", counts, flush=True)


# By default, nprocPerNode is auto: torchrun starts a process for each processor.
procs = os.cpu_count()
world = f"of {3 * procs} sum {sum(range(3 * procs + 1))} lr 0.1"
check("PyTorchJob", "fn", from_function, ["fn-master-0", "fn-worker-0", "fn-worker-1"], ["fn-master-0"],
      {"fn-master-0": (world, procs), "fn-worker-0": (world, procs), "fn-worker-1": (world, procs)})
check("TFJob", "tf", tfjob, ["tf-chief-0", "tf-ps-0", "tf-worker-0", "tf-worker-1"], ["tf-chief-0"],
      {"tf-chief-0": ('"task":{"type":"chief","index":0}', 1), "tf-worker-1": ('"task":{"type":"worker","index":1}', 1)})
check("MPIJob", "mpi", mpijob, ["mpi-launcher", "mpi-worker-0", "mpi-worker-1"], ["mpi-launcher"],
      {"mpi-launcher": (" of 4 on mpi-worker-", 4)})
print("sdk ok")
