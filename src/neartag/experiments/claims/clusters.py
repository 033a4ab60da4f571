"""Claims about clusters, most of them read from Figure 1 (c), which the paper shows for Wiki10, a large set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from neartag.experiments import datasets, figure1c, methods
from neartag.experiments.claims.causes import explain_ladder
from neartag.experiments.claims.findings import (
    NOT_TESTED,
    Check,
    Claim,
    Finding,
    by_data,
    finding,
    judge_large,
    not_here,
)
from neartag.experiments.claims.leads import all_ahead, chance_on, describe_lead, is_ahead, method_lead
from neartag.experiments.claims.local_leml import LOCAL, allow_for_rank, describe_rank
from neartag.experiments.differences import lead_between
from neartag.experiments.printed import TABLE_1
from neartag.experiments.results import Results, Summary
from neartag.experiments.sizes import part_sizes

X1 = methods.STRICT
PAPER_SET = "WikiLSHTC"
OF_WIKI10 = "shown for Wiki10, a large set"
OF_LARGE = "said of WikiLSHTC and Ads1M"
MAX_LITTLE = 1.0  # points at most that "does not benefit much" is read as
CLAIMED_LAG = 14.0  # points at P@1 of LocalLEML behind X1 on WikiLSHTC
MANY_CLUSTERS = 8  # beside one, for the time that clustering saves


def _ahead_at_every_cluster_count(judge: Callable[..., Finding]) -> Check:
    """Return the check of X1 beside LocalLEML in any number of clusters, on the sets that `judge` can judge."""

    def check(results: Results) -> Iterator[Finding]:
        for data, name, text, agrees, cause in _compare_by_clusters(results):
            yield judge(data, name, text, agrees, cause)

    return check


def _compare_by_clusters(results: Results) -> Iterator[tuple[str, str, str, bool | None, str]]:
    """Yield data set, precision, X1's smallest lead over LocalLEML, whether it always leads, and what is known."""
    for data, own in by_data(results, "figure1c"):
        for name in methods.PRECISIONS:
            curves = {method: figure1c.curve(own, method, name) for method in (X1, LOCAL)}
            leads = {
                count: lead
                for count in curves[X1]
                if (lead := method_lead(own.select(clusters=count), X1, LOCAL, name)) is not None
            }
            if not leads:
                continue
            one_run = chance_on(results, data, max(point.mean for point in curves[X1].values()))
            answers = {count: is_ahead(lead, one_run) for count, lead in leads.items()}
            agrees = all_ahead(answers.values())
            # Where X1 is behind beyond chance, those counts decide: the smallest lead may be too close to tell.
            deciding = {count: lead for count, lead in leads.items() if agrees is not False or answers[count] is False}
            least = min(deciding, key=lambda count: deciding[count].mean)
            text = f"smallest lead{' beyond chance' if agrees is False else ''} {describe_lead(leads[least])}"
            text += f", with {_count(least)}" + describe_rank(results, data)
            tested = NOT_TESTED
            if least == _rule_of_paper(results, data):  # of which the ladder is
                tested = explain_ladder(results, data, name) or NOT_TESTED
            yield data, name, text, allow_for_rank(agrees, data), f"{tested}; {_describe_ends(curves, name)}"


def _describe_ends(curves: dict[str, dict[int, Summary]], name: str) -> str:
    """Say what each method has with the fewest and with the most clusters."""
    told = []
    for method, points in curves.items():
        first, last = min(points), max(points)
        told.append(
            f"{methods.title(method)} {points[first].mean:.2f} with {first} and {points[last].mean:.2f} with {last}"
        )
    return f"known: {name} of {', of '.join(told)}"


def _too_many_clusters(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results.select(method=LOCAL), "figure1c"):
        for name in methods.PRECISIONS:
            points = figure1c.curve(own, LOCAL, name)
            if len(points) < 3:
                continue
            best, most = max(points, key=lambda count: points[count].mean), max(points)
            fall = lead_between(own.select(clusters=best), own.select(clusters=most), name)
            text = f"{points[best].mean:.2f} with {_count(best)}, {points[most].mean:.2f} with {most}"
            agrees: bool | None = False
            if best != most:
                agrees = None if fall is None else is_ahead(fall, chance_on(results, data, points[best].mean))
            cause = f"it does not fall with up to {most} clusters; more were {NOT_TESTED}"
            yield finding(data, name, text, agrees, cause)


def _little_from_clustering(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results.select(method=LOCAL), "figure1c"):
        for name in methods.PRECISIONS:
            points = figure1c.curve(own, LOCAL, name)
            if 1 not in points or len(points) < 2:
                continue
            best = max((count for count in points if count > 1), key=lambda count: points[count].mean)
            gain = points[best].mean - points[1].mean
            text = f"at best {gain:+.2f} points, with {_count(best)} in place of one" + describe_rank(results, data)
            yield judge_large(data, name, text, gain <= MAX_LITTLE, NOT_TESTED, OF_WIKI10)
    ours, leml = TABLE_1[X1][PAPER_SET], TABLE_1["leml"][PAPER_SET]
    if ours and leml and PAPER_SET not in map(datasets.paper_name, results.names("data")):
        local = ours[0] - CLAIMED_LAG
        text = (
            f"printed: LEML {leml[0]:.2f}, and LocalLEML {CLAIMED_LAG:.0f} points behind X1's {ours[0]:.2f}, so about "
            f"{local:.1f}: clusters and learners together bring {local - leml[0]:+.1f}"
        )
        yield not_here(PAPER_SET, text, "the data set is not here", "P@1")


def _little_lost_by_clustering(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results.select(method=X1), "figure1c"):
        rule = max(2, _rule_of_paper(results, data))
        for name in methods.PRECISIONS:
            points = figure1c.curve(own, X1, name)
            if 1 not in points or len(points) < 2:
                continue
            count = min((each for each in points if each > 1), key=lambda each: abs(each - rule))
            loss = lead_between(own.select(clusters=1), own.select(clusters=count), name)
            if loss is None:
                continue
            one_run = chance_on(results, data, points[1].mean)
            text = f"{describe_lead(loss)} lost with {_count(count)} in place of one, by a single learner"
            text += f"; “significantly” is read as {MAX_LITTLE:g} point: it must be more, or less, beyond chance"
            less = is_ahead(loss._replace(mean=MAX_LITTLE - loss.mean), one_run)
            yield finding(
                data, name, text, less, f"points are sent to other clusters than their neighbours; {NOT_TESTED}"
            )


def _training_by_clusters(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "figure1c"):
        times = figure1c.curve(own, X1, "train_cpu_seconds")
        if 1 in times and MANY_CLUSTERS in times:
            one, many = times[1].mean, times[MANY_CLUSTERS].mean
            text = f"{one:.1f} s with 1 cluster, {many:.1f} s with {MANY_CLUSTERS}: {one / many:.1f} times as fast"
            cause = (
                "by Section 2.1 a step of SVP costs O(n L̂² + n L̂ n̄), which is the same for all points in one cluster "
                f"or in many; how many steps each cluster needs is {NOT_TESTED}"
            )
            text += f"; “almost” is read as {MANY_CLUSTERS // 2} times at least"
            yield judge_large(data, "CPU time", text, one >= MANY_CLUSTERS / 2 * many, cause, OF_LARGE)


def _rule_of_paper(results: Results, data: str) -> int:
    """Return the number of clusters that the paper's rule gives a set."""
    return max(1, part_sizes(results, data)[0] // methods.POINTS_PER_CLUSTER)


def _count(clusters: int) -> str:
    return f"{clusters} cluster{'s' if clusters > 1 else ''}"


CLAIMS = (
    Claim(
        "X1 is more accurate than LocalLEML in any number of clusters",
        "Figure 1 (c)",
        _ahead_at_every_cluster_count(partial(judge_large, claimed=OF_WIKI10)),
    ),
    Claim(
        "LEML applied to each cluster is less accurate than X1",
        "Section 2.2",
        _ahead_at_every_cluster_count(finding),
    ),
    Claim("LocalLEML falls with too many clusters", "Section 2.2", _too_many_clusters),
    Claim("LEML gains little from clustering", "Section 1", _little_from_clustering),
    Claim("X1 loses no significant accuracy by clustering", "Section 2.2", _little_lost_by_clustering),
    Claim("Clustering cuts X1's training time by almost the number of clusters", "Section 1", _training_by_clusters),
)
