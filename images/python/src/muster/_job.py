"""A job: submit, watch, logs, result, delete."""

from __future__ import annotations

import contextlib
import re
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import urllib3
from kubernetes import client, watch

from ._cluster import Cluster
from ._status import Result, Status, result_of, status_of

_REQUEST = 30.0  # seconds for one answer of the API server
_WATCH = 240  # seconds of one watch
_PAUSE = 1.0  # seconds before a request is retried
_DENIED = (401, 403, 404)  # responses for which a retry is useless
# Commands from which the controller detects the framework. They start ranks themselves.
_LAUNCHERS = ("mpirun", "mpiexec", "torchrun", "accelerate", "horovodrun", "deepspeed", "ray")
_TAGGED = re.compile(r" *(\d+): (.*)", re.S)


def submit(
    name: str,
    image: str,
    command: Sequence[str],
    workers: int = 1,
    *,
    procs: int = 1,
    slots: int = 1,
    framework: Optional[str] = None,
    resources: Optional[Mapping[str, Any]] = None,
    env: Optional[Mapping[str, str]] = None,
    spec: Optional[Mapping[str, Any]] = None,
    cluster: Optional[Cluster] = None,
) -> Job:
    """Creates a LaunchJob that runs command, a list of words, and returns it at once.

    Each worker runs procs processes of the command. A launcher such as mpirun runs in the job's launcher
    and places slots ranks on each worker. framework is as in agent run --framework. By default a launcher
    decides (mpirun, torchrun, horovodrun...), and any other command is "plain". resources are for
    each worker's container. spec has more fields of the LaunchJob, which take precedence.
    """
    if isinstance(command, str):
        raise TypeError('command is a list of words, as in ["python3", "train.py"]')
    if not command or workers < 1 or procs < 1 or slots < 1:
        raise ValueError("a job has a command, and at least 1 worker, process and slot")
    cluster = cluster or Cluster()
    body = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "LaunchJob",
        "metadata": {"name": name},
        "spec": _spec(image, list(command), workers, procs, slots, framework, dict(resources or {}), dict(env or {})),
    }
    body["spec"].update(spec or {})  # type: ignore[attr-defined]
    made = cluster.jobs.create_namespaced_custom_object(**cluster.kind, body=body, _request_timeout=_REQUEST)
    return Job(name, made["metadata"]["uid"], cluster)


def _spec(
    image: str, command: List[str], workers: int, procs: int, slots: int, framework: Optional[str], resources: Dict[str, Any], env: Dict[str, str]
) -> Dict[str, Any]:
    variables = [{"name": key, "value": value} for key, value in env.items()]

    def pod(**container: Any) -> Dict[str, Any]:
        return {"spec": {"containers": [{"name": "main", "image": image, "env": variables, **container}]}}

    spec: Dict[str, Any] = {
        "workers": workers,
        "agent": {"delivery": "init"},  # the image need not have Muster's agent
        "launcher": {"template": pod(command=command)},
        "roles": [{"name": "worker", "template": pod(resources=resources)}],
    }
    if framework is not None or command[0].rsplit("/", 1)[-1] not in _LAUNCHERS:
        spec["framework"] = framework or "plain"
    if procs > 1:
        spec["procsPerWorker"] = procs
    if slots > 1:
        spec["slots"] = slots
    return spec


def get(name: str, cluster: Optional[Cluster] = None) -> Job:
    """Returns an existing job. Raises kubernetes.client.ApiException if there is none."""
    cluster = cluster or Cluster()
    job = cluster.jobs.get_namespaced_custom_object(**cluster.kind, name=name, _request_timeout=_REQUEST)
    return Job(name, job["metadata"]["uid"], cluster)


class Job:
    """A LaunchJob in a cluster. Errors of the API server are kubernetes.client.ApiException."""

    def __init__(self, name: str, uid: str, cluster: Cluster) -> None:
        self.name = name
        self.uid = uid
        self.cluster = cluster

    def __repr__(self) -> str:
        return f"muster.Job({self.cluster.namespace}/{self.name})"

    def read(self) -> Dict[str, Any]:
        """Returns the LaunchJob from the API server. Raises LookupError if another job has this name now."""
        job: Dict[str, Any] = self.cluster.jobs.get_namespaced_custom_object(**self.cluster.kind, name=self.name, _request_timeout=_REQUEST)
        if job["metadata"]["uid"] != self.uid:
            raise LookupError(f"{self.name} was deleted, and another job has its name")
        return job

    def status(self) -> Status:
        """Returns the current status."""
        return status_of(self.read())

    def watch(self, timeout: Optional[float] = None) -> Iterator[Status]:
        """Yields the status now and after each change, until the job has ended.

        Raises TimeoutError after timeout seconds. The job then continues.
        """
        for _, status in self._changes(timeout):
            yield status

    def wait(self, timeout: Optional[float] = None, say: Optional[Callable[[Status], object]] = None) -> Result:
        """Waits for the end of the job and returns the result. Calls say with each status until then."""
        last: Dict[str, Any] = {}
        for last, status in self._changes(timeout):
            if say is not None:
                say(status)
        return result_of(last)

    def result(self) -> Result:
        """Returns the result of the job. Raises RuntimeError if the job has not ended."""
        job = self.read()
        if not status_of(job).ended:
            raise RuntimeError(f"{self.name} has not ended: {status_of(job)}")
        return result_of(job)

    def _changes(self, timeout: Optional[float]) -> Iterator[Tuple[Dict[str, Any], Status]]:
        # The API server ends every watch after some minutes, and ends a watch that is too old with 410.
        # So an event only triggers another read of the job.
        deadline = None if timeout is None else time.monotonic() + timeout
        seen: Optional[Status] = None
        while deadline is None or time.monotonic() < deadline:
            try:
                job = self.read()
                status = status_of(job)
                if status != seen:
                    seen = status
                    yield job, status
                if status.ended:
                    return
                left = _WATCH if deadline is None else max(1, min(_WATCH, int(deadline - time.monotonic())))
                events = watch.Watch().stream(
                    self.cluster.jobs.list_namespaced_custom_object,
                    **self.cluster.kind,
                    field_selector="metadata.name=" + self.name,
                    resource_version=job["metadata"]["resourceVersion"],
                    timeout_seconds=left,
                    _request_timeout=left + _REQUEST,
                )
                with contextlib.closing(events):
                    next(events, None)  # the job has changed, or the watch has ended
            except client.ApiException as e:
                if e.status in _DENIED:
                    raise
                time.sleep(_PAUSE)  # 410: the watch has expired; 429, 5xx: the API server is busy or restarts
            except urllib3.exceptions.HTTPError:
                time.sleep(_PAUSE)  # the connection was lost
        raise TimeoutError(f"{self.name} has not ended after {timeout} s: {seen}")

    def logs(self) -> Dict[Optional[int], List[str]]:
        """Returns the output of each rank so far, as lines by rank.

        Lines without a rank are under None: lines of the launcher, and lines of mpirun unless it tags them. A
        job without a launcher has one pod for each rank, and the lines of these pods are returned.
        """
        lines: Dict[Optional[int], List[str]] = {}
        pods = self._pods()
        launchers = [pod for pod in pods if pod.metadata.labels.get("muster.dev/role") == "launcher"]
        for pod in launchers or pods:
            index = pod.metadata.labels.get("muster.dev/index")
            own = int(index) if not launchers and index is not None else None
            for line in self._log(pod):
                rank, text = own, line
                tagged = _TAGGED.fullmatch(line) if launchers else None
                if tagged:
                    rank, text = int(tagged[1]), tagged[2]
                lines.setdefault(rank, []).append(text)
        return lines

    def pods(self) -> Dict[str, Tuple[str, Optional[str]]]:
        """Returns the phase and the node of each pod, by name."""
        return {pod.metadata.name: (pod.status.phase, pod.spec.node_name) for pod in self._pods()}

    def _pods(self) -> List[Any]:
        selector = "muster.dev/job=" + self.name
        found = self.cluster.pods.list_namespaced_pod(self.cluster.namespace, label_selector=selector, _request_timeout=_REQUEST)
        pods: List[Any] = found.items
        return pods

    def _log(self, pod: Any) -> List[str]:
        names = pod.metadata.annotations or {}
        container = names.get("kubectl.kubernetes.io/default-container") or pod.spec.containers[0].name
        # Output of programs need not be UTF-8. For other bytes the client's own text would be a repr.
        answer = self.cluster.pods.read_namespaced_pod_log(
            pod.metadata.name, self.cluster.namespace, container=container, _preload_content=False, _request_timeout=2 * _REQUEST
        )
        data: bytes = answer.data
        lines = data.decode("utf-8", "replace").split("\n")
        return lines if lines[-1] else lines[:-1]

    def delete(self, wait: bool = True) -> None:
        """Deletes the job and its pods. With wait, it returns when they are gone.

        It does not delete another job with the same name. A missing job is not an error.
        """
        body = client.V1DeleteOptions(propagation_policy="Foreground", preconditions=client.V1Preconditions(uid=self.uid))
        try:
            self.cluster.jobs.delete_namespaced_custom_object(**self.cluster.kind, name=self.name, body=body, _request_timeout=_REQUEST)
        except client.ApiException as e:
            if e.status not in (404, 409):  # 409: another job has this name
                raise
        while wait:
            try:
                self.read()
            except LookupError:
                return
            except client.ApiException as e:
                if e.status == 404:
                    return
                raise
            time.sleep(_PAUSE)
