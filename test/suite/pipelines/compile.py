"""compile.py COMPONENT < ARGUMENTS.json
compile.py --compiled PIPELINE

Loads a component file with the installed SDK of Kubeflow Pipelines and compiles a pipeline of one step,
or reads a compiled pipeline. Prints as JSON what the step's container is given, with
the placeholders of the compiled file replaced as the back end of that version does it.
The number of workers is a parameter of the pipeline, so that the pipeline has a parameter.
"""
import json
import os
import re
import sys
import tempfile

import kfp
import yaml
from kfp import compiler, components, dsl


def compiled(component, arguments):
    op = components.load_component_from_file(component)
    workers = arguments.pop("workers")

    @dsl.pipeline(name="pipeline")
    def pipeline(workers: int = workers):
        op(workers=workers, **arguments)

    path = os.path.join(tempfile.mkdtemp(), "pipeline.yaml")
    compiler.Compiler().compile(pipeline, path)
    with open(path) as f:
        return yaml.safe_load(f)


def version1(workflow):
    """Argo replaces {{inputs.parameters.NAME}} with the text of the parameter."""
    given = {p["name"]: p["value"] for p in workflow["spec"]["arguments"]["parameters"]}
    (step,) = [t for t in workflow["spec"]["templates"] if "container" in t]
    assert "parameters" not in step["outputs"], "an output that no other step takes"

    def fill(text):
        return re.sub(r"\{\{inputs\.parameters\.([^}]+)\}\}", lambda m: given[m[1]], text)

    outputs = {o["name"].removeprefix("mpi-job-"): o["path"] for o in step["outputs"]["artifacts"]}
    return step["container"], fill, outputs, step["outputs"]["artifacts"][0]["name"]


def version2(spec):
    """The driver replaces a placeholder with its value: text as it is, other values as JSON."""
    (task,) = spec["root"]["dag"]["tasks"].values()
    component = spec["components"][task["componentRef"]["name"]]
    pipeline = spec["root"]["inputDefinitions"]["parameters"]
    values = {}
    for name, declared in component["inputDefinitions"]["parameters"].items():
        given = task["inputs"]["parameters"].get(name)
        if given is None:
            values[name] = declared["defaultValue"]
        elif "componentInputParameter" in given:
            values[name] = pipeline[given["componentInputParameter"]]["defaultValue"]
        else:
            values[name] = given["runtimeValue"]["constant"]
    declared = component["outputDefinitions"]
    outputs = {name: f"/tmp/kfp/outputs/{name}" for name in declared["parameters"]}
    (metrics,) = declared["artifacts"]
    outputs[metrics] = f"/tmp/artifacts/{metrics}"

    def text(value):
        if isinstance(value, str):
            return value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return json.dumps(value)

    def fill(word):
        word = re.sub(r"\{\{\$\.inputs\.parameters\['(\w+)'\]\}\}", lambda m: text(values[m[1]]), word)
        word = re.sub(r"\{\{\$\.outputs\.parameters\['(\w+)'\]\.output_file\}\}", lambda m: outputs[m[1]], word)
        return re.sub(r"\{\{\$\.outputs\.artifacts\['(\w+)'\]\.path\}\}", lambda m: outputs[m[1]], word)

    container = spec["deploymentSpec"]["executors"][component["executorLabel"]]["container"]
    return container, fill, outputs, declared["artifacts"][metrics]["artifactType"]["schemaTitle"]


def main():
    if sys.argv[1] == "--compiled":
        with open(sys.argv[2]) as f:
            spec = yaml.safe_load(f)
    else:
        spec = compiled(sys.argv[1], json.load(sys.stdin))
    container, fill, outputs, metrics = (version1 if kfp.__version__.startswith("1.") else version2)(spec)
    json.dump({"sdk": kfp.__version__, "image": container["image"], "command": container["command"],
               "args": [fill(word) for word in container["args"]], "outputs": outputs, "metrics": metrics}, sys.stdout)


main()
