"""Claims about accuracy, each checked at P@1, P@3 and P@5 against the results of the other experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from neartag.experiments import datasets, figure1c, figure2, methods
from neartag.experiments.claims.findings import (
    NO,
    Claim,
    Finding,
    answer_of,
    by_data,
    is_ahead,
    not_here,
)
from neartag.experiments.claims.leads import (
    describe_lead,
    ensemble_lead,
    explain_lead,
    explain_routing,
    method_lead,
)
from neartag.experiments.printed import TABLE_1, TABLE_4
from neartag.experiments.results import Results, summarise
from neartag.experiments.tail import METRIC, band_sizes

X1 = methods.STRICT
NOT_THE_PAPERS = methods.X1_COLUMNS[1:]  # columns that the paper does not have
RARE_BAND = "0-5"  # labels that at most five training documents have
WSABIE_LEAD, WSABIE_SETS = 10.0, 2  # points at P@1, on "multiple" sets

Check = Callable[[Results], Iterator[Finding]]


# ---- ensembles (Figure 2)


def _ahead_at_every_count(other: str) -> Check:
    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, "figure2"):
            for name in methods.PRECISIONS:
                leads = {
                    count: lead
                    for count in figure2.COUNTS[X1]
                    if (lead := ensemble_lead(own, X1, count, other, count, name)) is not None
                }
                if not leads:
                    continue
                least, most = (choose(leads, key=lambda count: leads[count].mean) for choose in (min, max))
                answers = [is_ahead(lead) for lead in leads.values()]
                agrees = False if False in answers else None if None in answers else True
                text = f"from {leads[least].mean:+.2f} with {least} to {leads[most].mean:+.2f} with {most}"
                yield _finding(data, name, text, agrees, _ensemble_cause(own, other))

    return check


def _ensemble_ahead(count: int, other: str, other_count: int) -> Check:
    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, "figure2"):
            for name in methods.PRECISIONS:
                lead = ensemble_lead(own, X1, count, other, other_count, name)
                if lead is not None:
                    yield _finding(data, name, describe_lead(lead), is_ahead(lead), _ensemble_cause(own, other))

    return check


def _ensemble_cause(own: Results, other: str) -> str:
    """Say how each ensemble grows: a method that gains little has nothing to gain from other clusters or trees."""
    told = []
    for method in (X1, other):
        points = list(figure2.curve(own, method, "P@1").items())
        (first, one), (last, most) = points[0], points[-1]
        told.append(f"{methods.title(method)} {one.mean:.2f} with {first}, {most.mean:.2f} with {last}")
    return f"P@1 of {'; '.join(told)}"


def _saturates(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "figure2"):
        for name in methods.PRECISIONS:
            points = figure2.curve(own, X1, name)
            if {1, 5, 10} <= set(points):
                early, late = points[5].mean - points[1].mean, points[10].mean - points[5].mean
                text = f"{early:+.2f} from 1 to 5 learners, {late:+.2f} from 5 to 10"
                agrees = late < early / 2 if early > 0 else None
                yield _finding(data, name, text, agrees, "each learner still brings other neighbours")


# ---- tables


def _method_ahead(experiment: str, other: str) -> Check:
    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, experiment):
            for name in methods.PRECISIONS:
                lead = method_lead(own, X1, other, name)
                if lead is not None:
                    yield _finding(
                        data,
                        name,
                        describe_lead(lead),
                        is_ahead(lead),
                        explain_lead(own, data, X1, other, name) or explain_routing(results, data),
                    )

    return check


def _wsabie_by_ten(results: Results) -> Iterator[Finding]:
    leads = {
        data: lead for data, own in by_data(results, "table3") if (lead := method_lead(own, X1, "wsabie")) is not None
    }
    if leads:
        told = ", ".join(f"{datasets.title(data)} {lead.mean:+.2f}" for data, lead in leads.items())
        agrees = sum(lead.mean >= WSABIE_LEAD for lead in leads.values()) >= WSABIE_SETS
        best = max(leads, key=lambda data: leads[data].mean)
        own = results.select("table3", best)
        yield Finding(
            "all small sets",
            "P@1",
            told,
            answer_of(agrees),
            "" if agrees else explain_lead(own, best, X1, "wsabie", "P@1"),
        )


def _rank(experiment: str) -> Check:
    """Return the check of X1's place among all methods; the paper has it second on Delicious."""

    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, experiment):
            for name in methods.PRECISIONS:
                means = {
                    method: summary.mean
                    for method in own.names("method")
                    if method not in NOT_THE_PAPERS and (summary := own.select(method=method).summary(name)) is not None
                }
                if X1 not in means or len(means) < 2:
                    continue
                order = sorted(means, key=lambda method: -means[method])
                place, wanted = order.index(X1) + 1, 2 if datasets.paper_name(data) == "Delicious" else 1
                ahead = ", ".join(f"{methods.title(method)} {means[method]:.2f}" for method in order[: place - 1])
                text = f"place {place} of {len(order)}" + (f", behind {ahead}" if ahead else "")
                yield _finding(
                    data,
                    name,
                    text,
                    place <= wanted,
                    explain_lead(own, data, X1, order[0], name) or explain_routing(results, data),
                )

    return check


def _closest_on_eurlex(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "table3"):
        if datasets.paper_name(data) == "EURLex":
            others = [name for name in own.names("method") if name not in (X1, *NOT_THE_PAPERS)]
            means = {name: summary.mean for name in others if (summary := own.select(method=name).summary("P@1"))}
            best = max(means, key=means.__getitem__, default="")
            lead = method_lead(own, X1, best) if best else None
            if best and lead is not None:
                text = f"{describe_lead(lead)} over {methods.title(best)}"
                yield _finding(data, "P@1", text, lead.mean >= 3.0, explain_lead(own, data, X1, best, "P@1"))


def _printed_lead(paper: str, other: str, name: str) -> Check:
    """Return the check of a lead that the paper prints for one large set."""
    place = methods.PRECISIONS.index(name)

    def check(results: Results) -> Iterator[Finding]:
        ours, theirs = TABLE_1[X1][paper], TABLE_1[other][paper]
        printed = ours[place] - theirs[place] if ours and theirs else 0.0
        for data, own in by_data(results, "table1"):
            lead = method_lead(own, X1, other, name)
            if datasets.paper_name(data) == paper and lead is not None:
                text = f"{describe_lead(lead)}; printed {printed:+.2f}"
                agrees = lead.mean >= printed - 1
                yield _finding(data, name, text, agrees, explain_lead(own, data, X1, other, name))
                return
        yield not_here(paper, f"printed {printed:+.2f}", "the data set is not here", name)

    return check


# ---- the tail, clusters, stability


def _gains_on_rare_labels(results: Results) -> Iterator[Finding]:
    for experiment in ("table3", "table1"):
        for data, own in by_data(results, experiment):
            means = band_gains(own)
            if len(means) < 2:
                continue
            listed = ", ".join(f"{band}: {mean:+.2f}" for band, mean in means.items())
            if RARE_BAND not in means:
                yield not_here(datasets.title(data), listed, "no label is as rare as that", METRIC)
                continue
            largest_other = max(mean for band, mean in means.items() if band != RARE_BAND)
            agrees = means[RARE_BAND] > max(0.0, largest_other)
            best = max(means, key=lambda band: means[band])
            yield _finding(
                data,
                METRIC,
                listed,
                agrees,
                f"the gain is largest on labels in {best} documents: {_tail_size(own)}",
            )


def band_gains(own: Results) -> dict[str, float]:
    """Return X1's mean gain over LEML by bands of documents per label; all results are of one data set."""
    gains: dict[str, list[float]] = {}
    for seed in own.names("seed"):
        bands = {
            cell.method: measured["bands"]
            for cell, measured in own.items()
            if cell.seed == seed and "bands" in measured
        }
        if X1 in bands and "leml" in bands:
            for band, leml in bands["leml"].items():
                if leml["pairs"] > 0:
                    gains.setdefault(band, []).append(bands[X1][band][METRIC] - leml[METRIC])
    return {band: summarise(values).mean for band, values in gains.items()}


def _tail_size(own: Results) -> str:
    pairs = {band: count for band, (_, count) in band_sizes(own).items()}
    return f"{100 * pairs.get(RARE_BAND, 0) / max(1, sum(pairs.values())):.1f}% of the test labels are such rare ones"


def _too_many_clusters(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "figure1c"):
        for name in methods.PRECISIONS:
            points = figure1c.curve(own, "local_leml", name)
            if len(points) < 3:
                continue
            best, most = max(points, key=lambda count: points[count].mean), max(points)
            fall = points[best].mean - points[most].mean
            spread = max(points[best].deviation or 0.0, points[most].deviation or 0.0)
            text = f"{points[best].mean:.2f} with {best}, {points[most].mean:.2f} with {most} clusters"
            yield _finding(data, name, text, None if 0 < fall <= spread else fall > 0, f"{most} is not too many yet")


def _ahead_at_every_cluster_count(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "figure1c"):
        for name in methods.PRECISIONS:
            ours, theirs = (figure1c.curve(own, method, name) for method in (X1, "local_leml"))
            leads = {
                count: lead
                for count in ours
                if count in theirs
                and (lead := method_lead(own.select(clusters=count), X1, "local_leml", name)) is not None
            }
            if not leads:
                continue
            answers = [is_ahead(lead) for lead in leads.values()]
            agrees = False if False in answers else None if None in answers else True
            least = min(leads, key=lambda count: leads[count].mean)
            text = f"at the least {describe_lead(leads[least])}, with {least} clusters"
            yield _finding(
                data, name, text, agrees, explain_lead(results.select("table3", data), data, X1, "leml", name)
            )


def _stable(results: Results) -> Iterator[Finding]:
    printed = TABLE_4[max(TABLE_4)].deviations
    for data, own in by_data(results.select(method=X1), "table4"):
        for place, name in enumerate(methods.PRECISIONS):
            finals = [measured[name][-1] for measured in own.values()]
            deviation = summarise(finals).deviation
            if deviation is None:
                continue
            text = f"{deviation:.3f} over {len(finals)} runs; printed {printed[place]:.3f}"
            if datasets.paper_name(data) == "WikiLSHTC":
                yield _finding(data, name, text, deviation <= 2 * printed[place], "")
            else:
                reason = "printed for WikiLSHTC's 587,084 test points: fewer points vary more"
                yield not_here(datasets.title(data), text, reason, name)


def _finding(data: str, name: str, text: str, agrees: bool | None, cause: str) -> Finding:
    answer = answer_of(agrees)
    return Finding(datasets.title(data), name, text, answer, cause if answer == NO else "")


CLAIMS = (
    Claim("X1 is the most accurate on each small set, and second on Delicious", "Table 3, Section 3", _rank("table3")),
    Claim("X1 is the most accurate on each large set", "Table 1 (a), Section 1", _rank("table1")),
    Claim("X1 is more accurate than LEML on large sets", "Table 1 (a)", _method_ahead("table1", "leml")),
    Claim("X1 is more accurate than FastXML on large sets", "Table 1 (a)", _method_ahead("table1", "fastxml")),
    Claim("X1 is more accurate than LPSR-NB on large sets", "Table 1 (a)", _method_ahead("table1", "lpsr-nb")),
    Claim("X1 is 35 points ahead of LEML on WikiLSHTC", "Section 3", _printed_lead("WikiLSHTC", "leml", "P@1")),
    Claim("X1 is 15 points ahead of LEML on WikiLSHTC", "Section 3", _printed_lead("WikiLSHTC", "leml", "P@5")),
    Claim("X1 is 27 points ahead of LEML on Amazon", "Section 3", _printed_lead("Amazon", "leml", "P@1")),
    Claim("X1 is 22 points ahead of LEML on Amazon", "Section 3", _printed_lead("Amazon", "leml", "P@5")),
    Claim("X1 is 6 points ahead of FastXML on WikiLSHTC", "Section 3", _printed_lead("WikiLSHTC", "fastxml", "P@1")),
    Claim("X1 is 6 points ahead of FastXML on Wiki10", "Section 3", _printed_lead("Wiki10", "fastxml", "P@5")),
    Claim("X1 is more accurate than WSABIE on every small set", "Table 1 (b)", _method_ahead("table3", "wsabie")),
    Claim("X1 is as much as 10 points ahead of WSABIE on several sets", "Section 3", _wsabie_by_ten),
    Claim("X1 is 3 points ahead of the next on EURLex", "Section 3", _closest_on_eurlex),
    Claim("X1 is more accurate than kNN on every small set", "Table 3", _method_ahead("table3", "knn")),
    Claim(
        "X1 is more accurate than LocalLEML with equally many learners", "Figure 2", _ahead_at_every_count("local_leml")
    ),
    Claim("X1 is more accurate than FastXML with equally many learners", "Figure 2", _ahead_at_every_count("fastxml")),
    Claim("One learner of X1 is more accurate than 10 of LocalLEML", "Section 3", _ensemble_ahead(1, "local_leml", 10)),
    Claim(
        "Two learners of X1 are more accurate than 50 trees of FastXML", "Figure 2", _ensemble_ahead(2, "fastxml", 50)
    ),
    Claim("X1's accuracy saturates after a few learners", "Section 3", _saturates),
    Claim("X1's precision varies little between runs with ten learners", "Table 4", _stable),
    Claim("X1's gain over LEML is largest on labels in at most 5 documents", "Sections 1 and 3", _gains_on_rare_labels),
    Claim(
        "X1 is more accurate than LocalLEML in any number of clusters", "Figure 1 (c)", _ahead_at_every_cluster_count
    ),
    Claim("LocalLEML falls with too many clusters", "Figure 1 (c)", _too_many_clusters),
)
