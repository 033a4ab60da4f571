"""Training on a SLURM cluster, with dask-jobqueue: one job of SLURM for each worker.

    pip install "neartag[dask]" dask-jobqueue
    sbatch --time=24:00:00 --mem=16G --wrap "python slurm.py /shared/corpus.jsonl /shared/model --jobs 64"

All nodes must see the data, the work folder and the model under the same paths. If this script ends early, start it
again with the same arguments: it goes on where it stopped.
"""

from __future__ import annotations

import argparse

# What tasks may use of a worker's 8 GB: 70%. The rest is for Python and what it loads.
TASK_BYTES = 5_600_000_000
JOB = {
    "cores": 1,
    "processes": 1,
    "memory": "8GB",
    "walltime": "24:00:00",
    "worker_extra_args": ["--resources", f"memory={TASK_BYTES}"],
    # Dask holds other libraries to the worker's threads, but not numba. Arrays up to 32 MB stay with the process, at
    # most 128 MB of them: a fifth less processor time.
    "job_script_prologue": [
        "export NUMBA_NUM_THREADS=1",
        "export MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=134217728",
    ],
}


def main() -> None:
    """Ask SLURM for workers, and train on those that have come."""
    parser = argparse.ArgumentParser(description="Train on a SLURM cluster.")
    parser.add_argument("data")
    parser.add_argument("model")
    parser.add_argument("--jobs", type=int, default=16, help="workers to ask for")
    parser.add_argument("--queue", help="SLURM's partition")
    arguments = parser.parse_args()

    from dask_jobqueue import SLURMCluster
    from distributed import Client

    import neartag.dask

    with SLURMCluster(queue=arguments.queue, **JOB) as cluster, Client(cluster) as client:
        # A job that SLURM ends is asked for again.
        cluster.adapt(minimum_jobs=1, maximum_jobs=arguments.jobs)
        client.wait_for_workers(1)
        neartag.dask.train(client, arguments.data, arguments.model, progress=True)


if __name__ == "__main__":
    main()
