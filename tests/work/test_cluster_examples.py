"""The example files for clusters: they are read, and their options are those that the programs have."""

from __future__ import annotations

import inspect
import runpy
import sys
from pathlib import Path

import pytest

from neartag.cli.main import app
from neartag.work.executors.dask import ALLOCATOR, MEMORY, TASK_SHARE

EXAMPLES = Path(__file__).parents[2] / "examples" / "cluster"


@pytest.fixture(scope="module")
def documents():
    yaml = pytest.importorskip("yaml", reason="the YAML file is read with PyYAML")
    found = list(yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text()))
    return {document["kind"]: document for document in found}


def containers(document):
    spec = document["spec"]
    pods = [spec[name]["spec"] for name in ("worker", "scheduler") if name in spec] or [spec["template"]["spec"]]
    return [container for pod in pods for container in pod["containers"]]


def parse_train(arguments):
    import typer

    command = typer.main.get_command(app).commands["train"]
    return command.make_context("train", list(arguments)).params


def test_the_cluster_and_the_job_share_image_volume_and_scheduler(documents):
    assert set(documents) == {"PersistentVolumeClaim", "DaskCluster", "Job"}
    claim = documents["PersistentVolumeClaim"]["metadata"]["name"]
    cluster, job = documents["DaskCluster"], documents["Job"]
    for pod in (cluster["spec"]["worker"]["spec"], job["spec"]["template"]["spec"]):
        assert [volume["persistentVolumeClaim"]["claimName"] for volume in pod["volumes"]] == [claim]
        assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == {"shared"}
    assert len({container["image"] for document in (cluster, job) for container in containers(document)}) == 1
    name, service = cluster["metadata"]["name"], cluster["spec"]["scheduler"]["service"]
    assert service["selector"]["dask.org/cluster-name"] == name
    assert f"tcp://{name}-scheduler:{service['ports'][0]['port']}" in containers(job)[0]["command"]


def test_the_job_trains_with_options_that_neartag_has(documents):
    program, command, *rest = containers(documents["Job"])[0]["command"]
    assert (program, command) == ("neartag", "train")
    given = parse_train(rest)
    assert (given["engine"], given["work_dir"]) == ("dask", "/shared/model.work")
    assert all(value.startswith("/shared/") for value in (given["data"], given["model"], given["work_dir"]))


def test_a_worker_tells_what_tasks_may_use_of_its_memory(documents):
    container = containers(documents["DaskCluster"])[0]
    worker = pytest.importorskip("distributed.cli.dask_worker", reason="needs the extra dask").main
    program, command, *rest = container["args"]
    assert (program, command) == ("dask", "worker")
    given = worker.make_context("worker", list(rest)).params
    (resource, amount), limit = given["resources"].split("="), given["memory_limit"]
    assert resource == MEMORY
    assert int(amount) == TASK_SHARE * parse_bytes(limit)
    assert parse_bytes(container["resources"]["limits"]["memory"] + "B") == parse_bytes(limit)
    assert given["nthreads"] == int(container["resources"]["limits"]["cpu"])
    assert {"name": "NUMBA_NUM_THREADS", "value": str(given["nthreads"])} in container["env"]
    assert all({"name": name, "value": value} in container["env"] for name, value in ALLOCATOR.items())


def parse_bytes(text):
    return pytest.importorskip("dask.utils").parse_bytes(text)


def test_the_ssh_script_gives_workers_options_that_they_have():
    nanny = pytest.importorskip("distributed", reason="needs the extra dask").Nanny
    options = runpy.run_path(str(EXAMPLES / "ssh.py"))["WORKER"]
    known = set(inspect.signature(nanny.__init__).parameters) | {"n_workers"}
    assert set(options) <= known
    assert options["resources"][MEMORY] == TASK_SHARE * parse_bytes(options["memory_limit"])
    assert options["env"]["NUMBA_NUM_THREADS"] == str(options["nthreads"])


def test_the_slurm_script_asks_for_what_jobqueue_knows():
    job = runpy.run_path(str(EXAMPLES / "slurm.py"))["JOB"]
    assert job["worker_extra_args"] == ["--resources", f"{MEMORY}={int(TASK_SHARE * 8e9)}"]
    exported = " ".join(f"{name}={value}" for name, value in ALLOCATOR.items())
    assert job["job_script_prologue"] == ["export NUMBA_NUM_THREADS=1", f"export {exported}"]
    jobqueue = pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    script = jobqueue.SLURMCluster.job_cls(scheduler="tcp://127.0.0.1:8786", name="one", **job).job_script()
    assert f"{MEMORY}=" in script
    assert "export NUMBA_NUM_THREADS=1" in script


@pytest.mark.parametrize("name", ["slurm.py", "ssh.py"])
def test_a_script_says_what_it_takes(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert "data" in capsys.readouterr().out
