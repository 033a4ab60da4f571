"""Claims about ensembles, most of them read from Figure 2: learners, trees, sizes of models, and runs that differ.

The paper makes them of large sets. On small ones its rule gives one cluster, with which all learners are the same; the
figure has more clusters there, and no verdict rests on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from neartag.experiments import datasets, figure2, methods
from neartag.experiments.claims.causes import explain_routing
from neartag.experiments.claims.findings import Claim, Finding, all_ahead, by_data, finding, is_ahead, not_here
from neartag.experiments.claims.leads import chance_on, describe_lead, ensemble_lead
from neartag.experiments.printed import TABLE_4
from neartag.experiments.results import Results, Summary, summarise

X1 = methods.STRICT
OF_LARGE_SETS = "claimed for large sets"
SATURATED, LITTLE = 0.1, 0.5  # of the whole gain, and points: learners that bring less have little to add
SINGLE_LEAD = 20.0  # points at P@1 of one learner over LEML on WikiLSHTC

Check = Callable[[Results], Iterator[Finding]]


def _judge(data: str, name: str, text: str, agrees: bool | None, cause: str) -> Finding:
    """Return the finding of a claim about large sets."""
    if not datasets.is_large(data):
        return not_here(datasets.title(data), text, OF_LARGE_SETS, name)
    return finding(data, name, text, agrees, cause)


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
                agrees = all_ahead(is_ahead(lead, _chance(results, own, data, name)) for lead in leads.values())
                text = f"from {leads[least].mean:+.2f} with {least} to {leads[most].mean:+.2f} with {most}"
                yield _judge(data, name, text, agrees, _growth(own, other))

    return check


def _ensemble_ahead(count: int, other: str, other_count: int) -> Check:
    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, "figure2"):
            for name in methods.PRECISIONS:
                lead = ensemble_lead(own, X1, count, other, other_count, name)
                if lead is not None:
                    agrees = is_ahead(lead, _chance(results, own, data, name))
                    yield _judge(data, name, describe_lead(lead), agrees, _growth(own, other))

    return check


def _chance(results: Results, own: Results, data: str, name: str) -> float:
    points: list[Summary] = list(figure2.curve(own, X1, name).values())
    return chance_on(results, data, points[-1].mean)


def _growth(own: Results, other: str) -> str:
    """Say how each ensemble grows: a method that gains little has nothing to gain from other clusters or trees."""
    told = []
    for method in (X1, other):
        points = list(figure2.curve(own, method, "P@1").items())
        (first, one), (last, most) = points[0], points[-1]
        told.append(f"{methods.title(method)} {one.mean:.2f} with {first}, {most.mean:.2f} with {last}")
    return f"P@1 of {'; '.join(told)}"


def _ahead_at_every_size(results: Results) -> Iterator[Finding]:
    """Compare each ensemble of X1 with the best of FastXML that is no larger."""
    for data, own in by_data(results, "figure2"):
        sizes = {method: figure2.curve(own, method, "bytes") for method in (X1, "fastxml")}
        if not all(sizes.values()):
            continue
        for name in methods.PRECISIONS:
            ours, trees = (figure2.curve(own, method, name) for method in (X1, "fastxml"))
            leads = {}
            for count, size in sizes[X1].items():
                smaller = [trees[each].mean for each, bytes_ in sizes["fastxml"].items() if bytes_.mean <= size.mean]
                if smaller:
                    leads[count] = ours[count].mean - max(smaller)
            if leads:
                least = min(leads, key=lambda count: leads[count])
                text = f"at the least {leads[least]:+.2f}, with {sizes[X1][least].mean / 1e6:.1f} MB"
                one_run = _chance(results, own, data, name)
                agrees = all_ahead(is_ahead(summarise([lead]), one_run) for lead in leads.values())
                yield _judge(data, name, text, agrees, _growth(own, "fastxml"))


def _one_learner_over_leml(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results.select(method=X1), "table4"):
        leml = results.select("table1", data, "leml").summary("P@1")
        if leml:
            one = summarise([measured["P@1"][0] for measured in own.values()])
            text = f"{one.mean - leml.mean:+.2f} points: {one.mean:.2f} beside {leml.mean:.2f}"
            if datasets.paper_name(data) == "WikiLSHTC":
                yield finding(
                    data, "P@1", text, one.mean - leml.mean >= SINGLE_LEAD - 1, explain_routing(results, data)
                )
            else:
                yield not_here(datasets.title(data), text, "claimed for WikiLSHTC", "P@1")


def _saturates(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "figure2"):
        for name in methods.PRECISIONS:
            points = figure2.curve(own, X1, name)
            if {1, 5, 10} <= set(points):
                early, late = points[5].mean - points[1].mean, points[10].mean - points[5].mean
                text = f"{early:+.2f} from 1 to 5 learners, {late:+.2f} from 5 to 10"
                agrees = late < LITTLE or late <= SATURATED * (early + late)
                yield finding(data, name, text, agrees, "each learner still brings other neighbours")


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
                yield finding(data, name, text, deviation <= 2 * printed[place], "")
            else:
                reason = "printed for WikiLSHTC's 587,084 test points: fewer points vary more"
                yield not_here(datasets.title(data), text, reason, name)


CLAIMS = (
    Claim(
        "X1 is more accurate than LocalLEML with equally many learners", "Figure 2", _ahead_at_every_count("local_leml")
    ),
    Claim("X1 is more accurate than FastXML with equally many learners", "Figure 2", _ahead_at_every_count("fastxml")),
    Claim("X1 is more accurate than FastXML with models of the same size", "Figure 2", _ahead_at_every_size),
    Claim("One learner of X1 is more accurate than 10 of LocalLEML", "Section 3", _ensemble_ahead(1, "local_leml", 10)),
    Claim(
        "Two learners of X1 are more accurate than 50 trees of FastXML", "Figure 2", _ensemble_ahead(2, "fastxml", 50)
    ),
    Claim("One learner of X1 is 20 points ahead of LEML on WikiLSHTC", "Section 3", _one_learner_over_leml),
    Claim("X1's accuracy saturates after a few learners", "Section 3", _saturates),
    Claim("X1's precision varies little between runs with ten learners", "Table 4", _stable),
)
