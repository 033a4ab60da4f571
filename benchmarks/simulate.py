"""How long training takes on a cluster: rates from small real runs, a simulation of the real plan, and both compared.

    python benchmarks/simulate.py measure RUN.json --shape wikilshtc --fraction 100     a real run, task by task
    python benchmarks/simulate.py measure RUN2.json --fraction 30 --engine dask --workers 2    the same by two workers
    python benchmarks/simulate.py fit RUN.json RUN2.json                                rates, in results/scaling.json
    python benchmarks/simulate.py check RUN3.json RUN4.json --write                     real runs against the simulation
    python benchmarks/simulate.py predict --shape wikilshtc --workers 64                what a cluster would take
    python benchmarks/simulate.py table --write                                         the tables of docs/scaling.md

Rates are learned from runs with one task at a time on an idle machine; they hold where each worker has a core and
memory of its own. Small runs by several workers of one computer tell how much these slow each other down, and what an
engine costs for each task. Runs that are checked teach nothing.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median

import pages

from neartag.work.rates import EXTRAPOLATION, Measured, Rates
from neartag.work.simulation import Cluster, Need, Outcome, simulate
from neartag.work.task import Task
from neartag.x1.shape import Shape
from neartag.x1.sizing import Job, kind

PAGE = pages.DOCS / "scaling.md"
# The first is of the paper's Table 2. Of Amazon-3M the numbers of points, features, labels and labels per point are
# those published with it, its features per point are assumed; the last is made up. A search by features reads some
# 4,100 entries in made-up data of the first shape; for the others this is taken to grow with n·f²/d.
SHAPES = {
    "wikilshtc": Shape(1_778_351, 1_617_899, 325_056, 42.15, 3.19, 4_100 / 1_778_351),
    "amazon-3m": Shape(1_717_899, 337_067, 2_812_281, 50.0, 36.0, 27_000 / 1_717_899),
    "100m": Shape(100_000_000, 2_000_000, 10_000_000, 40.0, 3.0, 170_000 / 100_000_000),
}
# Only measured: the first with ten times as many features and labels, to tell what grows with them from what grows with
# points, and what tables cost that are larger than caches.
SHAPES["wide"] = replace(SHAPES["wikilshtc"], features=16_178_990, labels=3_250_560)
WORKERS = {"wikilshtc": (1, 8, 64), "amazon-3m": (1, 8, 64), "100m": (64, 256, 1024)}
# Of the clusters in the tables: a worker fails once in so many hours, and storage moves so many bytes a second.
HOURS_BETWEEN_FAILURES, STORAGE, RESTART = 24.0, 1e9, 120.0
SEEDS = 4  # of failures: the worst of so many is shown
AROUND = "around "  # and the engine: what is done before the first task and after the last


def measured_tasks(run: dict, clock: str) -> list[Measured]:
    """The tasks of a real run, with their amounts."""
    shape, found = Shape(**run["shape"]), []
    job = Job(shape, run["parameters"])
    for each in run["tasks"]:
        task = Task(each["name"], each["stage"], each["function"], (), each["arguments"], each["size"])
        found.append(Measured(kind(task), job.amounts(task), each[clock], each["peak"], each["written"]))
    return found


def measured_around(run: dict, clock: str) -> Measured:
    """What a real run did before its first task and after its last."""
    amounts = {"task": 1.0, "entries": Shape(**run["shape"]).entries}
    return Measured(AROUND + run["engine"], amounts, max(0.0, run["around"][clock]))


def is_alone(run: dict) -> bool:
    """Whether a run had one task at a time, in this process."""
    return run["engine"] == "threads" and run["workers"] == 1


def contention(rates: Rates, runs: list[dict], clock: str) -> float:
    """How much longer a task takes while another runs beside it, as a share of its time alone.

    A task that takes t, a part w of it beside others, has done t − w + w / (1 + contention) of its work alone: that is
    what the rates expect of it. The sum over all tasks of runs by two workers tells the contention.
    """
    expected = apart = beside = 0.0
    for run in runs:
        spans = [(each["begun"], each["begun"] + each["seconds"], each["process"]) for each in run["tasks"]]
        for task, (begin, end, process) in zip(measured_tasks(run, clock), spans, strict=True):
            shared = sum(max(0.0, min(end, other[1]) - max(begin, other[0])) for other in spans if other[2] != process)
            expected += rates.cost(task.kind, task.amounts)
            apart, beside = apart + task.seconds - shared, beside + shared
    done = max(expected - apart, 1e-9)
    return max(0.0, beside / done - 1) if beside else 0.0


def predict(
    rates: Rates, shape: Shape, cluster: Cluster, parameters: dict | None = None, seed: int = 0, engine: str = "dask"
) -> tuple[Outcome, dict]:
    """How the training of a shape would run, what is done around its tasks included; and what its tasks are like."""
    job, memory, guesses = Job(shape, parameters), defaultdict(float), defaultdict(float)
    parts: dict[str, float] = {}  # bytes of each

    def need(task: Task) -> Need:
        name, amounts = kind(task), job.amounts(task)
        memory[name] = max(memory[name], rates.cost(name, amounts, "peak"), task.memory)
        guesses[name] = max(guesses[name], rates.extrapolates(name, amounts))
        written = rates.cost(name, amounts, "written")
        parts[task.name] = written
        return Need(rates.cost(name, amounts), reads=job.reads(task) or written, writes=written)

    outcome = simulate(job.start(), need, cluster, job.then, seed)
    name = AROUND + engine if AROUND + engine in rates.rates else AROUND + "threads"
    around = rates.cost(name, {"task": 1.0, "entries": shape.entries})
    return outcome, {"around": around, "memory": memory, "guesses": guesses, "folder": sum(parts.values())}


def check(kept: dict, runs: list[dict], clock: str) -> list[dict]:
    """Real runs against what the simulation says of their shapes, all workers on one computer."""
    rates, rows = Rates.from_json(kept["rates"]), []
    for run in runs:
        overhead = overhead_of(kept, run["engine"]) if clock == "seconds" else 0.0
        workers = run["workers"]
        cluster = Cluster(workers, send=overhead, contention=kept["contention"], per_computer=workers)
        outcome, about = predict(rates, Shape(**run["shape"]), cluster, run["parameters"], engine=run["engine"])
        seconds = outcome.seconds + about["around"]
        rows.append(
            {
                "points": run["shape"]["points"],
                "engine": run["engine"],
                "workers": run["workers"],
                "tasks": [len(run["tasks"]), outcome.tasks],
                "measured seconds": run[clock],
                "predicted seconds": seconds,
                "error": seconds / run[clock] - 1,
                "clock": clock,
            }
        )
    return rows


CLOCKS = {"seconds": "Seconds of the clock", "cpu": "Seconds of the processor, since others used the machine too"}


def check_table(rows: list[dict]) -> str:
    lines = [
        "| points | engine | workers | tasks, real / simulated | measured, s | predicted, s | error |",
        "|---" * 7 + "|",
    ]
    for row in rows:
        real, simulated = row["tasks"]
        lines.append(
            f"| {row['points']:,} | {row['engine']} | {row['workers']} | {real} / {simulated} | "
            f"{row['measured seconds']:.0f} | {row['predicted seconds']:.0f} | {100 * row['error']:+.0f}% |"
        )
    return "\n".join([*lines, "", f"{CLOCKS[rows[0]['clock']]}."])


def overhead_of(kept: dict, engine: str) -> float:
    """Seconds that a task costs an engine which does nothing; of an engine that was not measured, those of threads."""
    known = kept["task overhead"]
    return known.get(engine, known["threads"])


def cluster_of(workers: int, overhead: float, *, failing: bool) -> Cluster:
    """The cluster of the tables."""
    failures = 1 / HOURS_BETWEEN_FAILURES if failing else 0.0
    return Cluster(workers, send=overhead, storage=STORAGE, failures=failures, restart=RESTART)


def time_of(seconds: float) -> str:
    """Seconds in words."""
    return (
        f"{seconds / 3600:.1f} h"
        if seconds >= 3600
        else f"{seconds / 60:.1f} min"
        if seconds >= 60
        else f"{seconds:.0f} s"
    )


def forecast_table(kept: dict) -> str:
    """Each shape on clusters of several sizes, and where the rates come from."""
    rates, overhead = Rates.from_json(kept["rates"]), overhead_of(kept, "dask")
    headings = "data | tasks | work folder | workers | training | busy | with failures | largest task | beyond measured"
    lines = [f"| {headings} |", "|---" * 9 + "|"]
    for name, several in WORKERS.items():
        shape = SHAPES[name]
        for workers in several:
            cluster = cluster_of(workers, overhead, failing=False)
            outcome, about = predict(rates, shape, cluster)
            failing = cluster_of(workers, overhead, failing=True)
            worst = max(predict(rates, shape, failing, seed=seed)[0].seconds for seed in range(SEEDS))
            biggest = max(about["memory"], key=about["memory"].get)
            farthest = max(about["guesses"], key=about["guesses"].get)
            far = about["guesses"][farthest]
            guess = f"{far:,.0f} × ({farthest})" if far > EXTRAPOLATION else "no"
            cells = [
                name,
                f"{outcome.tasks:,}",
                f"{about['folder'] / 1e9:,.0f} GB",
                f"{workers:,}",
                time_of(outcome.seconds + about["around"]),
                f"{100 * outcome.utilisation(cluster):.0f}%",
                time_of(worst + about["around"]),
                f"{about['memory'][biggest] / 1e9:,.1f} GB ({biggest})",
                guess,
            ]
            lines.append(f"| {' | '.join(cells)} |")
    alone, beside = ([run for run in kept["runs"] if is_alone(run) == each] for each in (True, False))
    sizes = ", ".join(f"{run['points']:,}" for run in alone)
    tasks = sum(run["tasks"] for run in alone)
    source = [f"Rates from {tasks} tasks of {len(alone)} trainings ({sizes} points): {CLOCKS[kept['clock']].lower()}."]
    source += [f"A task that does nothing takes {1000 * overhead:.1f} ms."]
    if beside:
        sizes = ", ".join(f"{run['points']:,}" for run in beside)
        source += [
            f"Two workers of one computer ({sizes} points): each task takes {100 * kept['contention']:.0f}% longer "
            "while the other is at one. The workers of this table have a computer each."
        ]
    return "\n".join([*lines, "", *source])


def stages_table(outcome: Outcome) -> str:
    """When each stage begins and ends."""
    lines = ["| stage | begins | ends | of all threads |", "|---|---|---|---|"]
    for name, (first, last, spent) in outcome.stages.items():
        lines.append(f"| {name} | {time_of(first)} | {time_of(last)} | {time_of(spent)} |")
    return "\n".join(lines)


def read_runs(names: list[str]) -> list[dict]:
    return [json.loads(Path(name).read_text()) for name in names]


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("file")
    for command in (one, commands.add_parser("predict")):
        command.add_argument("--shape", choices=list(SHAPES), default="wikilshtc")
        command.add_argument("--fraction", type=float, default=1, help="divides points, features and labels")
        command.add_argument("--clusters", type=int)
        command.add_argument("--workers", type=int, default=1)
        command.add_argument("--engine", choices=("threads", "processes", "dask"), default="threads")
        command.add_argument("--failing", action="store_true", help="let workers fail")
    fit = commands.add_parser("fit")
    fit.add_argument("files", nargs="+")
    fit.add_argument("--clock", choices=("seconds", "cpu"), default="seconds", help="cpu: where others use the machine")
    held = commands.add_parser("check")
    held.add_argument("files", nargs="+")
    held.add_argument("--write", action="store_true")
    held.add_argument("--clock", choices=("seconds", "cpu"), default="seconds", help="cpu: of runs on one thread only")
    commands.add_parser("table").add_argument("--write", action="store_true")
    arguments = parser.parse_args(given)

    if arguments.command == "measure":
        from measured_tasks import measure

        shape = SHAPES[arguments.shape].divide(arguments.fraction)
        run = measure(shape, settings_of(arguments), arguments.engine, arguments.workers)
        Path(arguments.file).write_text(json.dumps(run))
        print(f"{len(run['tasks'])} tasks, {run['seconds']:.1f} s, {1000 * run['task overhead']:.1f} ms an empty task")
        return
    kept = pages.kept("scaling")
    if arguments.command == "fit":
        runs = read_runs(arguments.files)
        clock, alone = arguments.clock, [run for run in runs if is_alone(run)]
        learned = [task for run in alone for task in measured_tasks(run, clock)]
        rates = Rates.fit([*learned, *(measured_around(run, clock) for run in runs)])
        engines = {run["engine"] for run in runs}
        overhead = {
            engine: median(run["task overhead"] for run in runs if run["engine"] == engine) for engine in engines
        }
        at_once = contention(rates, [run for run in runs if not is_alone(run)], clock)
        runs_of = [
            {key: run[key] for key in ("engine", "workers")}
            | {"points": run["shape"]["points"], "tasks": len(run["tasks"])}
            for run in runs
        ]
        kept |= {"clock": clock, "runs": runs_of, "task overhead": overhead, "rates": rates.to_json()}
        kept["contention"] = at_once
        pages.keep("scaling", kept)
        print(f"rates of {len(rates.rates)} kinds of tasks from {sum(len(run['tasks']) for run in runs)} tasks")
        return
    if "rates" not in kept:
        parser.error("there are no rates yet: measure some runs, and fit them")
    rates, overhead = Rates.from_json(kept["rates"]), overhead_of(kept, "dask")
    if arguments.command == "predict":
        shape = SHAPES[arguments.shape].divide(arguments.fraction)
        cluster = cluster_of(arguments.workers, overhead, failing=arguments.failing)
        outcome, about = predict(rates, shape, cluster, settings_of(arguments))
        print(stages_table(outcome))
        print(f"\n{outcome.tasks:,} tasks, {time_of(outcome.seconds + about['around'])}; {outcome.failures} failures")
    elif arguments.command == "check":
        rows = check(kept, read_runs(arguments.files), arguments.clock)
        print(check_table(rows))
        if arguments.write:
            pages.keep("scaling", {**kept, "checked": rows})
            pages.insert("scaling check", check_table(rows), PAGE)
    else:
        table = forecast_table(kept)
        print(table)
        if arguments.write:
            pages.insert("scaling forecast", table, PAGE)


def settings_of(arguments: argparse.Namespace) -> dict:
    return {"n_clusters": arguments.clusters} if arguments.clusters else {}


if __name__ == "__main__":
    main()
