"""An API server for tests: it keeps LaunchJobs in memory, and returns a given list of statuses."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Tuple
from urllib.parse import parse_qs, urlparse

JOBS = "/apis/muster.dev/v1alpha1/namespaces/lab/launchjobs"
PODS = "/api/v1/namespaces/lab/pods"


class Server(ThreadingHTTPServer):
    """One namespace, lab. Each read of a job returns the next of its statuses; the last one is repeated."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.jobs: Dict[str, Dict[str, Any]] = {}
        self.statuses: List[Dict[str, Any]] = []
        self.pods: Dict[str, Tuple[Dict[str, Any], bytes]] = {}  # object and log by name
        self.watches: List[int] = []  # responses of the next watches; 200: an event
        self.denied: List[str] = []  # verbs, such as "get pods/log"
        self.calls: List[str] = []
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self.thread.start()

    def pod(self, name: str, log: bytes, **labels: str) -> None:
        """Adds a pod of job demo."""
        meta = {"name": name, "labels": {"muster.dev/job": "demo", **{"muster.dev/" + k: v for k, v in labels.items()}}}
        spec = {"containers": [{"name": "main", "image": "i"}], "nodeName": "node-1"}
        self.pods[name] = ({"metadata": meta, "spec": spec, "status": {"phase": "Running"}}, log)

    def close(self) -> None:
        """Stops the server."""
        self.shutdown()
        self.server_close()
        self.thread.join()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Prints nothing."""

    def answer(self, code: int, body: Any) -> None:
        """Sends JSON, or raw bytes."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/plain" if isinstance(body, bytes) else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def fail(self, code: int) -> None:
        """Sends an error like Kubernetes."""
        self.answer(code, {"kind": "Status", "status": "Failure", "code": code, "message": "no"})

    def allowed(self, what: str) -> bool:
        """Records a call, and rejects it if it is denied."""
        self.server.calls.append(what)
        if what in self.server.denied:
            self.fail(403)
            return False
        return True

    def do_POST(self) -> None:
        """Creates a job."""
        job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed("create launchjobs"):
            return
        name = job["metadata"]["name"]
        if name in self.server.jobs:
            self.fail(409)
            return
        job["metadata"].update(uid="uid-1", resourceVersion="7")
        self.server.jobs[name] = job
        self.answer(201, job)

    def do_GET(self) -> None:
        """Reads, watches and lists."""
        url = urlparse(self.path)
        query, name = parse_qs(url.query), url.path.rsplit("/", 1)[-1]
        if url.path == JOBS and "watch" in query:
            if self.allowed("watch launchjobs"):
                code = self.server.watches.pop(0) if self.server.watches else 200
                event = {"type": "MODIFIED", "object": {"metadata": {"resourceVersion": "8"}}}
                self.answer(200, json.dumps(event).encode() + b"\n") if code == 200 else self.fail(code)
        elif url.path.startswith(JOBS + "/"):
            if self.allowed("get launchjobs"):
                job = self.server.jobs.get(name)
                if job is None:
                    self.fail(404)
                    return
                if self.server.statuses:
                    job["status"] = self.server.statuses.pop(0)
                self.answer(200, job)
        elif url.path == PODS:
            if self.allowed("list pods"):
                assert query["labelSelector"] == ["muster.dev/job=demo"]
                self.answer(200, {"kind": "PodList", "items": [pod for pod, _ in self.server.pods.values()]})
        elif url.path.endswith("/log") and self.allowed("get pods/log"):
            assert query["container"] == ["main"]
            self.answer(200, self.server.pods[url.path.split("/")[-2]][1])

    def do_DELETE(self) -> None:
        """Deletes a job, if its uid is the expected one."""
        options = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.path.split("?")[0].rsplit("/", 1)[-1]
        if not self.allowed("delete launchjobs"):
            return
        job = self.server.jobs.get(name)
        if job is None:
            self.fail(404)
        elif options["preconditions"]["uid"] != job["metadata"]["uid"]:
            self.fail(409)
        else:
            assert options["propagationPolicy"] == "Foreground"
            self.answer(200, self.server.jobs.pop(name))
