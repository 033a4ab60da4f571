"""Claims about the approximation of labels, about time and about scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from neartag.experiments import datasets, figure1c, methods, timings
from neartag.experiments.claims.findings import Claim, Finding, answer_of, by_data, finding, is_ahead, not_here
from neartag.experiments.claims.leads import chance_on
from neartag.experiments.figure1a import SVP_TOL
from neartag.experiments.results import Results, summarise

X1 = methods.STRICT
MIN_EXPLAINED = 0.95  # of the variance, for a line to count as straight
CLAIMED_LABELS = 325_056  # WikiLSHTC's, for which the paper tells times
CLAIMED_ERROR = 0.9  # that a global SVD of rank 500 leaves of WikiLSHTC's labels
MILLION = 1_000_000
MANY_CLUSTERS = 8  # beside one, for the time that clustering saves


def _smaller_error(name: str, words: str) -> Callable[[Results], Iterator[Finding]]:
    """Return the check of X1's own error against that of an SVD at every L̂."""

    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, "figure1a"):
            measured = {key: value for record in own.values() for key, value in record.items()}
            if not {name, "x1"} <= set(measured):
                continue
            rows = list(zip(measured["dimensions"], measured["x1"], measured[name], strict=True))
            told = f"at L̂ = {rows[0][0]}: {words} {100 * rows[0][2]:.2f}%, X1 {100 * rows[0][1]:.2f}%"
            places = [place for place, row in enumerate(rows) if row[1] >= row[2]]
            cause = ""
            if places:
                dim, x1, svd = rows[places[0]]
                told += f"; not so at L̂ = {dim}: X1 {100 * x1:.3f}%, {words} {100 * svd:.3f}%"
                cause = f"SVP made {measured['steps'][places[0]]} steps"
                fall = measured["last_falls"][places[0]]
                told += f", where SVP's last step still lowered it by {100 * fall:.1f}%" if fall > SVP_TOL else ""
            # Where SVP has not arrived, that X1 is behind says nothing of the best that it could find.
            arrived = any(measured["last_falls"][place] <= SVP_TOL for place in places)
            agrees = None if places and not arrived else not places
            yield finding(data, "", told, agrees, cause)

    return check


def _global_error(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "figure1a"):
        for measured in own.select(method="svd").values():
            told = f"{100 * measured['global'][-1]:.1f}% left at L̂ = {measured['dimensions'][-1]}"
            if datasets.paper_name(data) == "WikiLSHTC":
                yield Finding(datasets.title(data), "", told, answer_of(measured["global"][-1] >= CLAIMED_ERROR))
            else:
                yield not_here(datasets.title(data), told, "claimed for WikiLSHTC")


def _time_between(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results.select(clusters=None), "timings"):
        for name, kind in timings.PREDICTION_TIMES.items():
            summaries = [own.select(method=method).summary(name) for method in ("fastxml", X1, "leml")]
            times = [summary.mean for summary in summaries if summary is not None]
            if len(times) == len(summaries):
                told = f"FastXML {times[0]:.3f}, X1 {times[1]:.3f}, LEML {times[2]:.3f} ms per point"
                yield _at_size(results, data, told, times[0] < times[1] < times[2], kind)


def _training_times(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results.select(clusters=None), "timings"):
        summaries = [own.select(method=method).summary("train_seconds") for method in (X1, "fastxml", "leml")]
        if all(summaries):
            x1, tree, leml = (summary.mean for summary in summaries if summary)
            told = f"a learner of X1 {x1:.1f} s, 50 trees of FastXML {50 * tree:.1f} s, LEML {leml:.1f} s"
            yield _at_size(results, data, told, 3 * x1 < 50 * tree < leml)


def _at_size(results: Results, data: str, told: str, agrees: bool, measure: str = "") -> Finding:
    """Return the finding of a claim about 325,000 labels: on fewer it cannot be judged."""
    sizes = results.select("table2", data)
    labels = max((int(measured["labels"]) for measured in sizes.values()), default=0)
    if labels < CLAIMED_LABELS:
        count = f"{labels:,} labels" if labels else "fewer labels"
        return not_here(datasets.title(data), told, f"claimed for {CLAIMED_LABELS:,} labels, here {count}", measure)
    return Finding(datasets.title(data), measure, told, answer_of(agrees))


def _time_linear(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "timings"):
        for name, kind in timings.PREDICTION_TIMES.items():
            line = timings.growth(own, name)
            if line is not None:
                straight = line.explained >= MIN_EXPLAINED and line.slope > 0
                agrees = straight or (False if line.rises else None)
                cause = f"what does not depend on the cluster takes {line.start:.3f} ms, the search of the largest "
                cause += f"{line.slope * line.sizes.max():.3f} ms, and the rest is scatter of one run"
                yield finding(data, kind, line.describe(), agrees, cause)


def _training_by_clusters(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "figure1c"):
        times = figure1c.curve(own, X1, "train_cpu_seconds")
        if 1 in times and MANY_CLUSTERS in times:
            one, many = times[1].mean, times[MANY_CLUSTERS].mean
            text = f"{one:.1f} s with 1 cluster, {many:.1f} s with {MANY_CLUSTERS}: {one / many:.1f} times less"
            cause = (
                "a step of SVP costs as much as there are points, in one cluster or in many, and small ones need more"
            )
            yield finding(data, "CPU time", text, one >= MANY_CLUSTERS / 2 * many, cause)


def _sparse(quantity: str, words: str, least: float, scatters: bool = False) -> Callable[[Results], Iterator[Finding]]:
    """Return the check that some μ > 0 lowers a quantity by a least share without a loss beyond chance.

    Of a quantity that scatters as much, less than that is too close to tell.
    """

    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, "sparsity"):
            for measured in list(own.values())[:1]:
                plain = measured["P@1"][0]
                allowed = plain - chance_on(results, data, plain)
                kept = {
                    mu: value
                    for mu, precision, value in zip(measured["mu"], measured["P@1"], measured[quantity], strict=True)
                    if mu > 0 and precision >= allowed
                }
                if not kept:
                    continue
                best = min(kept, key=lambda mu: kept[mu])
                ratio = kept[best] / measured[quantity][0]
                text = (
                    f"at best {ratio:.2f} of the {words} without μ, with μ = {best:g}; up to {max(kept):g} it costs no "
                )
                text += "more P@1 than chance"
                agrees = None if scatters and abs(1 - ratio) < least else ratio <= 1 - least
                zeros = measured["zeros"][measured["mu"].index(max(kept))]
                cause = f"only {zeros:.0f}% of V·X are zeros with μ = {max(kept):g}"
                yield finding(data, words, text, agrees, cause)

    return check


def _less_overfitting(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "sparsity"):
        for measured in list(own.values())[:1]:
            for name in methods.PRECISIONS:
                plain, values = measured[name][0], measured[name][1:]
                lead = summarise([max(values) - plain])
                best = measured["mu"][1 + values.index(max(values))]
                agrees = is_ahead(lead, chance_on(results, data, plain))
                text = f"{lead.mean:+.2f} points with the best μ > 0, {best:g}"
                yield finding(data, name, text, agrees, "λ keeps V from overfitting already")


def _scales(results: Results) -> Iterator[Finding]:
    own = results.select("scale", method=X1)
    finished = {cell: measured for cell, measured in own.items() if "labels" in measured}
    for data in datasets.in_table_order(cell.data for cell in finished):
        for cell, measured in finished.items():
            if cell.data == data and measured["labels"] >= MILLION:
                told = f"{measured['train_seconds'] / 60:.0f} min, {measured['peak_mb'] / 1000:.1f} GB"
                yield Finding(datasets.title(data), "", told, answer_of(True))
    largest = max((int(measured["labels"]) for measured in finished.values()), default=0)
    if 0 < largest < MILLION:
        told = f"at most {largest:,} labels were tried, or finished within the limits"
        yield not_here("synthetic sets", told, "claimed for a million")


CLAIMS = (
    Claim("A global SVD of rank 500 leaves 90% of the labels", "Section 1, Figure 1 (a)", _global_error),
    Claim("X1's own error is smaller than a global SVD's", "Figure 1 (a)", _smaller_error("global", "global SVD")),
    Claim(
        "X1's own error is smaller than that of an SVD in each cluster",
        "Figure 1 (a)",
        _smaller_error("equal_rank", "SVD in each cluster"),
    ),
    Claim("X1 predicts more slowly than FastXML and faster than LEML", "Section 3", _time_between),
    Claim("Three learners of X1 train as fast as FastXML, and both faster than LEML", "Section 3", _training_times),
    Claim("X1's prediction time is linear in the cluster's size", "Section 1", _time_linear),
    Claim("Clustering cuts X1's training time by almost the number of clusters", "Section 2.2", _training_by_clusters),
    Claim(
        "Sparse embeddings take less time to predict",
        "Section 2.1",
        _sparse("predict_ms", "time", 1 / 3, scatters=True),
    ),
    Claim("Sparse embeddings make the model smaller", "Section 2.1", _sparse("bytes", "size", 0.1)),
    Claim("Sparse embeddings avoid overfitting", "Section 2.1", _less_overfitting),
    Claim("X1 can be trained with a million labels", "Sections 1 and 3", _scales),
)
