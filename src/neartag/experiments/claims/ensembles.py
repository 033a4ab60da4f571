"""Claims about ensembles, most of them read from Figure 2: learners, trees, sizes of models, and runs that differ.

The paper makes them of large sets. On small ones its rule gives one cluster, with which all learners are the same; the
figure has more clusters there, and no verdict rests on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from neartag.experiments import figure2, methods
from neartag.experiments.claims.causes import explain_routing, explain_tested
from neartag.experiments.claims.clusters import CLAIMED_LAG
from neartag.experiments.claims.findings import (
    NOT_TESTED,
    Check,
    Claim,
    Finding,
    by_data,
    judge_large,
    judge_named,
    or_missing,
)
from neartag.experiments.claims.leads import MIN_RUNS, all_ahead, chance_on, describe_lead, ensemble_lead, is_ahead
from neartag.experiments.claims.local_leml import LOCAL, allow_for_rank, describe_rank
from neartag.experiments.differences import estimate_gain
from neartag.experiments.printed import TABLE_1, TABLE_4
from neartag.experiments.results import Results, summarise

X1 = methods.STRICT
PAPER_SET = "WikiLSHTC"
FEW, MOST = 5, max(TABLE_4)  # learners between which little more should be gained
# "Saturates" is said in words only. A late share of the gain up to the printed one, and a little for scatter, is yes;
# from half of what it would be if every learner brought equally much it is no, and between the two too close to tell.
SHARE_MARGIN, HALF_OF_EQUAL = 0.05, 0.5 * (MOST - FEW) / (MOST - 1)
SINGLE_LEAD = 20.0  # points at P@1 of one learner over LEML on WikiLSHTC
MARGIN = 1.0  # points by which a lead may be smaller than the claimed one


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
                agrees = all_ahead(
                    is_ahead(lead, _chance(results, own, data, name, count)) for count, lead in leads.items()
                )
                text = f"from {leads[least].mean:+.2f} with {least} to {leads[most].mean:+.2f} with {most}"
                text += _describe_rank(results, data, other)
                cause = _describe_growth(results, own, data, other)
                yield judge_large(data, name, text, _answer(agrees, data, other), cause)

    return check


def _ensemble_ahead(count: int, other: str, other_count: int) -> Check:
    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, "figure2"):
            for name in methods.PRECISIONS:
                lead = ensemble_lead(own, X1, count, other, other_count, name)
                if lead is not None:
                    agrees = is_ahead(lead, _chance(results, own, data, name, count))
                    text = describe_lead(lead) + _describe_rank(results, data, other)
                    cause = _describe_growth(results, own, data, other)
                    yield judge_large(data, name, text, _answer(agrees, data, other), cause)

    return check


def _ahead_on_wikilshtc(count: int, other: str, other_count: int, least: float, printed: str) -> Check:
    """Return the check of an ensemble's lead at P@1 that the paper tells for WikiLSHTC; `least`: points that count."""

    def check(results: Results) -> Iterator[Finding]:
        def judge() -> Iterator[Finding]:
            for data, own in by_data(results, "figure2"):
                lead = ensemble_lead(own, X1, count, other, other_count)
                if lead is not None:
                    ahead = is_ahead(lead, _chance(results, own, data, "P@1", count))
                    text = f"{describe_lead(lead)}; printed {printed}"
                    agrees = lead.mean >= least if least else ahead
                    yield judge_named(PAPER_SET, data, "P@1", text, agrees, _describe_growth(results, own, data, other))

        return or_missing(judge(), PAPER_SET, printed, "P@1")

    return check


def _chance(results: Results, own: Results, data: str, name: str, count: int) -> float:
    """Return how much two precisions near that of so many learners may differ by chance in one run."""
    return chance_on(results, data, figure2.curve(own, X1, name)[count].mean)


def _describe_growth(results: Results, own: Results, data: str, other: str) -> str:
    """Say what was tested on the set, and how much each ensemble gains."""
    told = []
    for method in (X1, other):
        points = list(figure2.curve(own, method, "P@1").items())
        (first, one), (last, most) = points[0], points[-1]
        told.append(f"{methods.title(method)} {one.mean:.2f} with {first} and {most.mean:.2f} with {last}")
    return f"{'; '.join(explain_tested(results, data)) or NOT_TESTED}; known: P@1 of {', of '.join(told)}"


def _answer(agrees: bool | None, data: str, rival: str) -> bool | None:
    return allow_for_rank(agrees, data) if rival == LOCAL else agrees


def _describe_rank(results: Results, data: str, rival: str) -> str:
    return describe_rank(results, data) if rival == LOCAL else ""


def _ahead_at_every_size(rival: str) -> Check:
    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results, "figure2"):
            for name in methods.PRECISIONS:
                leads = _leads_by_size(own, rival, name)
                if not leads:
                    continue
                gains = {count: estimate_gain(each) for count, each in leads.items()}
                least = min(gains, key=lambda count: gains[count].mean)
                size = figure2.curve(own, X1, figure2.SIZE)[least].mean
                text = f"smallest lead {gains[least].mean:+.2f}, with {size / 1e6:.1f} MB"
                text += _describe_rank(results, data, rival)
                agrees = all_ahead(
                    is_ahead(lead, _chance(results, own, data, name, count)) for count, lead in gains.items()
                )
                cause = _describe_growth(results, own, data, rival)
                yield judge_large(data, name, text, _answer(agrees, data, rival), cause)

    return check


def _leads_by_size(own: Results, rival: str, name: str) -> dict[int, list[float]]:
    """Return how far each ensemble of X1 is ahead of the best of a rival's that is no larger, run by run."""
    rivals = {cell.seed: measured for cell, measured in own.select(method=rival).items()}
    leads: dict[int, list[float]] = {}
    for cell, measured in own.select(method=X1).items():
        if cell.seed not in rivals:
            continue
        other = rivals[cell.seed]
        for place, count in enumerate(measured["learners"]):
            smaller = [
                value
                for size, value in zip(other[figure2.SIZE], other[name], strict=True)
                if size <= measured[figure2.SIZE][place]
            ]
            if smaller:
                leads.setdefault(count, []).append(measured[name][place] - max(smaller))
    return leads


def _one_learner_over_leml(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results.select(method=X1), "table4"):
        leml = results.select("table1", data, "leml").summary("P@1")
        if leml:
            one = summarise([measured["P@1"][0] for measured in own.values()])
            text = f"{one.mean - leml.mean:+.2f} points: {one.mean:.2f} beside {leml.mean:.2f}"
            agrees = one.mean - leml.mean >= SINGLE_LEAD - MARGIN
            yield judge_named(PAPER_SET, data, "P@1", text, agrees, explain_routing(results, data))


def _boosts(results: Results) -> Iterator[Finding]:
    """Compare all learners of Table 4's runs, or of Figure 2's where there are none, with the first one of each."""
    measured_sets = dict(by_data(results.select(method=X1), "figure2"))
    measured_sets |= dict(by_data(results.select(method=X1), "table4"))
    for data, own in measured_sets.items():
        for place, name in enumerate(methods.PRECISIONS):
            lead = ensemble_lead(own, X1, MOST, X1, 1, name)
            if lead is not None:
                level = _last_level(own, name)
                printed = TABLE_4[MOST].means[place] - TABLE_4[1].means[place]
                text = f"{describe_lead(lead)} from 1 to {MOST} learners; printed {printed:+.2f} on {PAPER_SET}"
                yield judge_large(data, name, text, is_ahead(lead, chance_on(results, data, level)), NOT_TESTED)


def _last_level(own: Results, name: str) -> float:
    """Return the mean precision of the largest ensembles."""
    return summarise([measured[name][-1] for measured in own.values()]).mean


def _saturates(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "figure2"):
        for place, name in enumerate(methods.PRECISIONS):
            points = figure2.curve(own, X1, name)
            if not {1, FEW, MOST} <= set(points):
                continue
            early, late = points[FEW].mean - points[1].mean, points[MOST].mean - points[FEW].mean
            printed = _late_share(*(TABLE_4[count].means[place] for count in (1, FEW, MOST)))
            text = f"{early:+.2f} from 1 to {FEW} learners, {late:+.2f} from {FEW} to {MOST}"
            agrees = None  # where nothing is gained, no share of it can be told
            if early + late > 0:
                share = late / (early + late)
                text += f": {share:.2f} of the gain comes late; printed {printed:.2f} on {PAPER_SET}"
                agrees = True if share <= printed + SHARE_MARGIN else False if share >= HALF_OF_EQUAL else None
            yield judge_large(data, name, text, agrees, NOT_TESTED)


def _late_share(first: float, few: float, most: float) -> float:
    """Return the share of the gain by all learners that comes after the first few."""
    return (most - few) / (most - first)


def _stable(count: int, judge: Callable[..., Finding]) -> Check:
    printed, learner = TABLE_4[count].deviations, list(TABLE_4).index(count)

    def check(results: Results) -> Iterator[Finding]:
        for data, own in by_data(results.select(method=X1), "table4"):
            for place, name in enumerate(methods.PRECISIONS):
                runs = [measured[name][learner] for measured in own.values()]
                deviation = summarise(runs).deviation
                if deviation is not None:
                    told = f"{deviation:.3f} over {len(runs)} runs"
                    text = f"{told}; printed {printed[place]:.3f} over ten on {PAPER_SET}, with 587,084 test points"
                    agrees = deviation <= 2 * printed[place] if len(runs) >= MIN_RUNS else None
                    yield judge(data, name, text, agrees, NOT_TESTED)

    return check


def _smaller_than_trees(results: Results) -> Iterator[Finding]:
    for data, own in by_data(results, "table1"):
        x1, trees = (own.select(method=method).summary("model_bytes") for method in (X1, "fastxml"))
        if x1 and trees:
            text = f"{x1.mean / 1e6:.0f} MB beside {trees.mean / 1e6:.0f} MB of 50 trees"
            cause = (
                "each of the 15 learners keeps V·X of all points as float32; on large sets the authors' program sets "
                f"half to three quarters of V·X to zero, and 70 to 95% of V's weights, which is {NOT_TESTED} here"
            )
            yield judge_large(data, "size", text, x1.mean < trees.mean, cause)


def _printed_trees() -> str:
    trees = TABLE_1["fastxml"][PAPER_SET] or (0.0,)
    return f"{TABLE_4[2].means[0]:.2f} (49.8 in Section 1) beside {trees[0]:.2f}"


CLAIMS = (
    Claim("X1 is more accurate than LocalLEML with equally many learners", "Figure 2", _ahead_at_every_count(LOCAL)),
    Claim("X1 is more accurate than FastXML with equally many learners", "Figure 2", _ahead_at_every_count("fastxml")),
    Claim("X1 is more accurate than LocalLEML with models of the same size", "Figure 2", _ahead_at_every_size(LOCAL)),
    Claim("X1 is more accurate than FastXML with models of the same size", "Figure 2", _ahead_at_every_size("fastxml")),
    Claim("X1's model is smaller than a large tree ensemble's", "Section 1", _smaller_than_trees),
    Claim("One learner of X1 is more accurate than 10 of LocalLEML", "Section 3", _ensemble_ahead(1, LOCAL, 10)),
    Claim(
        "One learner of X1 is more accurate than 15 of LocalLEML on WikiLSHTC",
        "Figure 2, caption",
        _ahead_on_wikilshtc(1, LOCAL, 15, 0.0, f"{TABLE_4[1].means[0]:.2f}; LocalLEML's only as a curve"),
    ),
    Claim(
        "LocalLEML is 14 points behind X1 on WikiLSHTC",
        "Section 1",
        _ahead_on_wikilshtc(MOST, LOCAL, MOST, CLAIMED_LAG - MARGIN, f"{CLAIMED_LAG:.0f} points"),
    ),
    Claim(
        "Two learners of X1 are more accurate than 50 trees of FastXML on WikiLSHTC",
        "Section 1, Figure 2",
        _ahead_on_wikilshtc(2, "fastxml", 50, 0.0, _printed_trees()),
    ),
    Claim("One learner of X1 is 20 points ahead of LEML on WikiLSHTC", "Section 3", _one_learner_over_leml),
    Claim("More learners make X1 significantly more accurate", "Sections 1 and 2.2", _boosts),
    Claim("X1's accuracy saturates after a few learners", "Section 3", _saturates),
    Claim("X1's precision varies little between runs with ten learners", "Section 2.2", _stable(MOST, judge_large)),
    Claim(
        "X1's precision varies little between runs with one learner on WikiLSHTC",
        "Table 4, caption",
        _stable(1, partial(judge_named, PAPER_SET)),
    ),
)
