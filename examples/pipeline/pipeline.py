"""A pipeline for Kubeflow Pipelines with one step, a LaunchJob of two workers. Compiles it to pipeline.yaml."""
import os
import sys

from kfp import compiler, components, dsl

here = os.path.dirname(os.path.abspath(__file__))
mpi_job = components.load_component_from_file(os.path.join(here, "../../images/pipelines/component.yaml"))
GPUS = int(sys.argv[1]) if len(sys.argv) > 1 else 0


@dsl.pipeline(name="launch")
def launch(workers: int = 2):
    mpi_job(name="step", image="debian:12-slim", workers=workers, gpus=GPUS, metrics=["accuracy:PERCENTAGE"],
            command="""sh -c 'echo "launched on $(/muster/agent hosts | wc -l) workers, accuracy=0.5"'""")


compiler.Compiler().compile(launch, "pipeline.yaml")
