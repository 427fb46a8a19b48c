"""Tests of the package, with an API server over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Iterator, List

import muster
import pytest
from kubernetes import client
from server import Server

RUNNING = {"phase": "Running", "ready": "2/2", "attempt": 1}
DONE = {"phase": "Succeeded", "reason": "Completed", "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:00Z"}
FAILED = {"phase": "Failed", "reason": "ExitCode", "message": "rank 1 exited with 7",
          "firstFailure": {"rank": 1, "pod": "demo-worker-1", "exitCode": 7, "message": "boom"}}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    s = Server()
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{s.server_port}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "lab"}},
                     {"name": "bare", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(path))
    monkeypatch.setattr("muster._job._PAUSE", 0.001)
    yield s
    s.close()


def demo(command: List[str] = ["python3", "train.py"], **more: object) -> muster.Job:
    return muster.submit("demo", "i", command, 2, **more)  # type: ignore[arg-type]


def test_a_job_from_submit_to_delete(server: Server) -> None:
    job = demo(procs=2, env={"A": "b"}, resources={"limits": {"nvidia.com/gpu": 1}}, spec={"hangAfter": "10m"})
    spec = server.jobs["demo"]["spec"]
    assert (spec["framework"], spec["workers"], spec["procsPerWorker"], spec["hangAfter"]) == ("plain", 2, 2, "10m")
    launcher, = spec["launcher"]["template"]["spec"]["containers"]
    worker, = spec["roles"][0]["template"]["spec"]["containers"]
    assert launcher["command"] == ["python3", "train.py"]
    assert "command" not in worker and worker["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    assert worker["env"] == launcher["env"] == [{"name": "A", "value": "b"}]

    waiting = {"phase": "Waiting", "ready": "1/2", "reason": "ImagePull", "message": "no such tag"}
    server.statuses = [{}, waiting, waiting, RUNNING, DONE]
    server.watches = [200, 410, 500, 200]
    said = [str(status) for status in job.watch(timeout=60)]
    assert said == ["Pending", "Waiting 1/2 ImagePull no such tag", "Running 2/2", "Succeeded Completed"]
    result = job.result()
    assert result and result.exit_code == 0 and result.failure is None and result.completed == DONE["completionTime"]
    job.delete()
    assert not server.jobs
    job.delete()  # deleting it again is not an error


@pytest.mark.parametrize("command,framework,want", [
    (["mpirun", "./pi"], None, {"slots": 4}),
    (["/usr/bin/torchrun", "t.py"], None, {"slots": 4}),
    (["./run.sh"], "jax", {"framework": "jax", "slots": 4}),
])
def test_the_framework_is_detected_for_launchers(server: Server, command: List[str], framework: str, want: object) -> None:
    demo(command, framework=framework, slots=4)
    spec = server.jobs["demo"]["spec"]
    assert {key: spec[key] for key in ("framework", "slots", "procsPerWorker") if key in spec} == want


def test_a_failure_has_its_rank_and_exit_code(server: Server) -> None:
    job = demo()
    server.statuses = [RUNNING]
    with pytest.raises(RuntimeError, match="demo has not ended: Running 2/2"):
        job.result()
    server.statuses = [RUNNING, FAILED]
    said: List[muster.Status] = []
    result = job.wait(say=said.append)
    assert [status.phase for status in said] == ["Running", "Failed"]
    assert not result and result.exit_code == 7
    assert result.failure == muster.Failure(7, 1, "demo-worker-1", "boom")
    assert repr(muster.get("demo")) == "muster.Job(lab/demo)"


def test_a_wait_ends_at_its_timeout(server: Server) -> None:
    job = demo()
    server.statuses = [RUNNING]
    with pytest.raises(TimeoutError, match="demo has not ended after 0.05 s: Running 2/2"):
        job.wait(timeout=0.05)


def test_logs_by_rank(server: Server) -> None:
    job = demo()
    server.pod("demo-launcher", b" 0: a\n10: b\x85\r50%\n 0: \xff\nagent: hello\n 0: last", role="launcher")
    server.pod("demo-worker-0", b"not read", role="worker", index="0")
    assert job.logs() == {0: ["a", "\ufffd", "last"], 10: ["b\ufffd\r50%"], None: ["agent: hello"]}
    assert job.pods() == {"demo-launcher": ("Running", "node-1"), "demo-worker-0": ("Running", "node-1")}


def test_logs_of_a_job_without_a_launcher(server: Server) -> None:
    job = demo()
    server.pod("demo-worker-0", b"0: is text\n", role="worker", index="0")
    server.pod("demo-worker-1", b"b\n", role="worker", index="1")
    assert job.logs() == {0: ["0: is text"], 1: ["b"]}


def test_another_job_with_the_name_is_not_touched(server: Server) -> None:
    job = demo()
    server.jobs["demo"]["metadata"]["uid"] = "uid-2"
    with pytest.raises(LookupError, match="another job has its name"):
        job.status()
    job.delete()
    assert "demo" in server.jobs


@pytest.mark.parametrize("verb", ["create launchjobs", "get launchjobs", "watch launchjobs", "delete launchjobs", "list pods", "get pods/log"])
def test_a_missing_right_is_an_error_at_once(server: Server, verb: str) -> None:
    server.denied = [verb]
    server.statuses = [RUNNING]
    server.pod("demo-launcher", b"", role="launcher")
    with pytest.raises(client.ApiException) as e:
        job = demo()
        if verb in ("get launchjobs", "watch launchjobs"):
            job.wait(timeout=60)
        job.logs()
        job.delete()
    assert e.value.status == 403 and '"code": 403' in str(e.value)


@pytest.mark.parametrize("wrong,error", [({"command": "python3 train.py"}, TypeError), ({"command": []}, ValueError), ({"procs": 0}, ValueError)])
def test_mistakes_are_found_before_the_cluster_is_asked(server: Server, wrong: dict, error: type) -> None:  # type: ignore[type-arg]
    with pytest.raises(error):
        demo(**wrong)
    assert not server.calls


def test_namespaces(server: Server) -> None:
    assert muster.Cluster().namespace == "lab"
    assert muster.Cluster(context="bare").namespace == "default"
    assert muster.Cluster("mine", context="bare").namespace == "mine"
