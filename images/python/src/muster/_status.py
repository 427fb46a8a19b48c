"""The status and the result of a job, as the controller reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional

ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Status:
    """The state of a job at one time."""

    phase: str  # Waiting, Running, Restarting, Suspended, Succeeded or Failed; "" until a controller has seen the job
    ready: str  # ready workers of the wanted ones: 1/2
    reason: str  # one word for why the job does not run, or how it ended
    message: str  # the reason as a sentence
    attempt: int  # attempt of the pods, from 1; 0 before the first

    @property
    def ended(self) -> bool:
        """Whether the job has ended, with or without success."""
        return self.phase in ENDED

    def __str__(self) -> str:
        words = [self.phase or "Pending", self.ready, self.reason, self.message]
        return " ".join(word for word in words if word)


@dataclass(frozen=True)
class Failure:
    """The process or container that failed first."""

    exit_code: int
    rank: Optional[int]  # None if the agent has not reported it
    pod: str
    message: str  # the end of its output


@dataclass(frozen=True)
class Result:
    """How a job ended."""

    succeeded: bool
    exit_code: int  # 0, or the exit code of the first failure; 1 if it has none
    reason: str
    message: str
    failure: Optional[Failure]  # the first failure, also in a job that succeeded after a restart
    started: Optional[str]  # RFC 3339
    completed: Optional[str]

    def __bool__(self) -> bool:
        return self.succeeded


def status_of(job: Mapping[str, Any]) -> Status:
    """Reads the status of a LaunchJob."""
    s = job.get("status", {})
    return Status(s.get("phase", ""), s.get("ready", ""), s.get("reason", ""), s.get("message", ""), s.get("attempt", 0))


def result_of(job: Mapping[str, Any]) -> Result:
    """Reads the result of a LaunchJob that has ended."""
    s = job.get("status", {})
    failure = None
    if "firstFailure" in s:
        f = s["firstFailure"]
        failure = Failure(f.get("exitCode", 1), f.get("rank"), f.get("pod", ""), f.get("message", ""))
    succeeded = s.get("phase") == "Succeeded"
    code = 0 if succeeded else 1
    if not succeeded and failure is not None and 0 < failure.exit_code < 256:
        code = failure.exit_code
    return Result(succeeded, code, s.get("reason", ""), s.get("message", ""), failure, s.get("startTime"), s.get("completionTime"))
