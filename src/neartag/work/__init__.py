"""One plan of work, whoever executes it.

Training is a list of tasks. A task (`task.py`) is a pure function from parts to one part: it names the parts that it
reads, and its own name is that of the part it writes. A part is a set of named arrays. Parts are kept in memory, where
nobody asked for more (`parts.py`), or in a work folder, as memory-mapped files that end with their own digest
(`folder.py`; in storage elsewhere, with copies that are mapped, `remote_folder.py`). Nothing else goes from one task to
another, so the code of a task is the same everywhere, and so is what it computes: to the last byte, whoever runs it, on
however many threads.

    plan ──> tasks ──> executor ──> parts ──> model
                       in_process         threads of this process; parts in memory or in a work folder
                       joblib_processes   processes of this computer; a work folder
                       dask               workers of a Dask cluster; a work folder on storage that all of them see

A task that is finished has its part in the work folder. That is the checkpoint: who runs the same plan with the same
folder goes on with the tasks that have no part yet. A part that was cut or changed is found by its digest, and
computed again.

What each task took is written into the work folder too (`times.py`). From that `rates.py` learns what tasks cost, and
`simulation.py` tells how long a plan would take on a cluster that is not there.

What is to be done is planned where the method is: `x1/plan.py`, `rerank/plan.py`. This room knows nothing of X1. How
many clusters there are is known only when the points are divided, so a plan may grow while it runs: `then`, which an
executor calls when a task has ended, returns the tasks that can be planned from then on.

Rows, labels and which points are held out are parts too (`data.py`), written by whoever starts the training.

The stages of training, in about their order; a dashboard and the progress line show these names:

    vector-index     an index of the vectors beside the words            one, hybrid rows only
    vector-weight    how much they weigh                                 one, hybrid rows only
    index            the inverted index of all rows                      one
    sample           k-means of a sample of many points                  one a learner
    assignment       the nearest clusters of many points, and means      two a block of points, and one to join them
    partition        k-means of the points, or their blocks joined       one a learner
    cluster          an embedding and its regressors                     one a (learner, cluster)
    learner          the clusters of a learner, in cells                 one a learner
    vote             who votes, chosen on held-out points                one
    others           the rows that are not held out                      one, refined models only, as all that follow
    centroids        label centroids                                     one a block of labels, and one to join them
    neighbours       neighbours by features of each point                one a block of points, or one index of some
    hard-negatives   wrong candidates of training points                 one a block of points
    problems         what each label's ranker is trained on              one
    trial-rankers    rankers of some labels at each cost                 one a block of labels and cost
    candidates       candidates of the held-out points                   one
    cost             the cost of errors, chosen on them                  one
    rankers          the rankers                                         one a block of labels
    fusion           what weighs votes, centroids and rankers            one
    reranker         the blocks put together                             one
    join             a learner with the held-out points in it            one a learner
"""
