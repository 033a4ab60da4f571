"""Training on computers that can be reached by SSH, without a password.

    pip install "neartag[dask]" asyncssh            on each of them, in the same place
    python ssh.py /shared/corpus.jsonl /shared/model --hosts node1 node2 node3

All of them must see the data, the work folder and the model under the same paths. The scheduler runs on the first. If
this script ends early, start it again with the same arguments: it goes on where it stopped.
"""

from __future__ import annotations

import argparse

WORKER = {
    "n_workers": 4,  # on each computer: about as many as it has cores, if there is memory for all
    "nthreads": 1,
    "memory_limit": "8GB",
    # What tasks may use of that, in bytes: 70%. The rest is for Python and what it loads.
    "resources": {"memory": 5_600_000_000},
    # Dask holds other libraries to the worker's threads, but not numba.
    "env": {"NUMBA_NUM_THREADS": "1"},
}


def main() -> None:
    """Start a scheduler and workers, and train on them."""
    parser = argparse.ArgumentParser(description="Train on computers that can be reached by SSH.")
    parser.add_argument("data")
    parser.add_argument("model")
    parser.add_argument("--hosts", nargs="+", required=True)
    parser.add_argument("--python", default="python", help="Python on these computers")
    arguments = parser.parse_args()

    from distributed import Client, SSHCluster

    import neartag.dask

    hosts = [arguments.hosts[0], *arguments.hosts]
    options = {"worker_options": WORKER, "worker_class": "distributed.Nanny", "remote_python": arguments.python}
    with SSHCluster(hosts, **options) as cluster, Client(cluster) as client:
        neartag.dask.train(client, arguments.data, arguments.model, progress=True)


if __name__ == "__main__":
    main()
