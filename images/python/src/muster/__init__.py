"""Submit, watch and read LaunchJobs of Muster.

    import muster

    job = muster.submit("demo", image="registry.example.com/train:1", command=["python3", "train.py"], workers=2)
    print(job.wait())
"""

from ._cluster import Cluster
from ._job import Job, get, submit
from ._status import Failure, Result, Status

__all__ = ["Cluster", "Failure", "Job", "Result", "Status", "get", "submit"]
