#!/usr/bin/python3
"""Communication paradigms as published (figures.py): runs of them, simulated and real, their ratios, and a figure."""
import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import pandas
from figures import CLIENTS, FIGURES

ROOT = pathlib.Path(__file__).parents[3]
PROFILE = str(ROOT / "calibration/profiles/connectx_ddr.json")
REAL_RUN = {"load.duration_s": 1, "load.warm_up_s": 0.1, "device.name": "soft0"}


def options_of(figure, name, change_name, more=None):
    """What rkv-sim and rkv-real are told of a series, with more values. None takes a field out."""
    series, change = figure.series[name], figure.changes[change_name].of(name)
    over = change.settings | (more or {})
    kept = {path: value for path, value in over.items() if not path.startswith(series.ignores)}
    # A series is one of those that the scenario sweeps.
    words = ["--scenario", str(ROOT / f"scenarios/{figure.scenario}.json"), "--set", "sweep=null"]
    for path, value in (series.settings | kept).items():
        words += ["--set", f"{path}={'null' if value is None else value}"]
    for mechanism in change.without:
        words += ["--without", mechanism]
    return words


def points(command, clients):
    """Runs a program over numbers of clients. Yields what its report says of each."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "report"
        words = ["--quiet", "--clients", ",".join(map(str, clients)), "--out", str(out)]
        subprocess.run([*command, *words], check=True)
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    for point in report["points"]:
        if point["partial"] or point["latency_us"] is None:
            raise ValueError(f"{' '.join(command)}: {point['clients']} clients: the run did not end as it should")
        yield {
            "clients": point["clients"],
            "throughput_ops_s": point["throughput_ops_s"],
            "latency_mean_us": point["latency_us"]["mean"],
            "latency_p99_us": point["latency_us"]["p99"],
        }


def runs_of(program, figure, name, change, steps, more=None):
    """Runs a series of a figure at these steps. Yields what the reports say of each, and the step."""
    fields = figure.axis.fields
    if not fields:
        for point in points([*program, *options_of(figure, name, change, more)], steps):
            yield {"step": point.pop("clients")} | point
        return
    for step in steps:
        words = options_of(figure, name, change, (more or {}) | dict.fromkeys(fields, step))
        (point,) = points([*program, *words], (1,))
        point.pop("clients")
        yield {"step": step} | point


def compared_at(figure, steps):
    """The steps at which series are compared."""
    return [step for step in figure.compared_at if step in steps] or [max(steps)]


def write_simulated(arguments):
    """Simulates all series of all figures, with every change."""
    lines = []
    for figure_name, figure in FIGURES.items():
        if figure_name not in arguments.figures:
            continue
        swept = arguments.clients if arguments.clients and figure.axis == CLIENTS else figure.steps
        for change, name in itertools.product(figure.changes, figure.series):
            steps = swept if change in figure.drawn else compared_at(figure, swept)
            for point in runs_of([arguments.program, "--profile", PROFILE], figure, name, change, steps):
                lines.append({"figure": figure_name, "backend": "sim", "change": change, "series": name} | point)
    pandas.DataFrame(lines).to_csv(arguments.runs, index=False)


def write_real(arguments):
    """Runs all series on soft0 of this machine, with the changes that are drawn."""
    lines = []
    for figure_name, figure in FIGURES.items():
        if figure_name not in arguments.figures:
            continue
        steps = arguments.clients or (1,) if figure.axis == CLIENTS else figure.steps
        for change, name in itertools.product(figure.drawn, figure.series):
            for point in runs_of([arguments.program], figure, name, change, steps, REAL_RUN):
                lines.append({"figure": figure_name, "backend": "real", "change": change, "series": name} | point)
    pandas.DataFrame(lines).to_csv(arguments.runs, index=False)


def read(paths):
    """The runs of several files."""
    return pandas.concat([pandas.read_csv(path) for path in paths], ignore_index=True)


def rates(runs, figure, change, step):
    """Throughputs of the series at a step."""
    part = runs[(runs["change"] == change) & (runs["step"] == step)].set_index("series")
    return part["throughput_ops_s"].reindex(list(figure.series))


def ratios_of(runs, figure, step):
    """Published ratios, and those of each change at a step."""
    names = [f"{ratio.faster} / {ratio.slower}" for ratio in figure.ratios]
    table = pandas.DataFrame(index=["published", *figure.changes], columns=names, dtype=object)
    table.loc["published"] = [ratio.published for ratio in figure.ratios]
    for change in runs["change"].unique():
        of = rates(runs, figure, change, step)
        table.loc[change] = [f"{of[ratio.faster] / of[ratio.slower]:.2f}" for ratio in figure.ratios]
    return table.dropna()


def out_of_order(figure, throughputs):
    """Pairs of series of which the one that is published as slower is not."""
    for faster, slower in itertools.combinations(figure.order, 2):
        for one, other in itertools.product(faster, slower):
            if throughputs[one] <= throughputs[other]:
                yield f"{one} ({throughputs[one]:.0f}) is not above {other} ({throughputs[other]:.0f})"


def write_ratios(arguments):
    """Prints throughputs and latencies, published and simulated ratios, and what is out of the published order."""
    runs = read(arguments.runs)
    for (figure_name, backend), part in runs.groupby(["figure", "backend"], sort=False):
        figure = FIGURES[figure_name]
        drawn_changes = [change for change in figure.drawn if change in set(part["change"])]
        for change, metric in itertools.product(drawn_changes, ("throughput_ops_s", "latency_mean_us")):
            drawn = part[part["change"] == change]
            print(f"-- {figure_name}, {backend}, {change}: {metric} by {figure.axis.label}")
            table = drawn.pivot(index="series", columns="step", values=metric).reindex(list(figure.series))
            print(table.to_string(float_format="{:.1f}".format), end="\n\n")
        for step in compared_at(figure, set(part["step"])):
            label = figure.axis.label
            place = f"{figure_name}, {backend}, {step} {label.removesuffix('s') if step == 1 else label}"
            print(f"-- {place}: ratios of throughputs")
            print(ratios_of(part, figure, step).to_string(), end="\n\n")
            for change in drawn_changes:
                wrong = list(out_of_order(figure, rates(part, figure, change, step)))
                print(f"-- {place}, {change}: out of the published order")
                print("\n".join(wrong) if wrong else "nothing", end="\n\n")


def write_figure(arguments):
    """Draws throughputs and latencies of each figure's drawn changes, simulated ones beside real ones."""
    import matplotlib.ticker  # takes a second, and the other commands do without it

    matplotlib.use("Agg")
    import seaborn

    runs = read(arguments.runs).rename(
        columns={"throughput_ops_s": "operations/s", "latency_mean_us": "mean latency, us"}
    )
    drawn = [(name, change) for name, figure in FIGURES.items() for change in figure.drawn]
    runs = runs[[pair in drawn for pair in zip(runs["figure"], runs["change"])]]
    rows = list(dict.fromkeys(zip(runs["figure"], runs["change"])))
    backends = list(runs["backend"].unique())
    shape = {"nrows": len(rows), "ncols": 2 * len(backends)}
    sheet, axes = matplotlib.pyplot.subplots(**shape, figsize=(10 * len(backends), 3.3 * len(rows)), squeeze=False)
    for (figure, backend, change), part in runs.groupby(["figure", "backend", "change"], sort=False):
        column = 2 * backends.index(backend)
        pair = axes[rows.index((figure, change))][column : column + 2]
        order = list(FIGURES[figure].series)
        where = "simulated" if backend == "sim" else "real, soft0 on this machine"
        for axis, y in zip(pair, ("operations/s", "mean latency, us")):
            seaborn.lineplot(
                part,
                x="step",
                y=y,
                hue="series",
                hue_order=order,
                style="series",
                style_order=order,
                markers=True,
                ax=axis,
            )
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%d"))
            axis.set_xlabel(FIGURES[figure].axis.label)
            axis.set_yscale("log")
            axis.set_title(f"{figure}, {change} ({where})", fontsize=9)
            axis.legend(fontsize=6)
    sheet.tight_layout()
    sheet.savefig(arguments.out, dpi=110)


def numbers(text):
    """1,2,4 as numbers from 1 on."""
    values = tuple(int(word) for word in text.split(","))
    if min(values) < 1:
        raise ValueError(text)
    return values


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, action in {"simulate": write_simulated, "real": write_real}.items():
        command = commands.add_parser(name, help=action.__doc__)
        command.add_argument("program", help="rkv-sim or rkv-real")
        command.add_argument("runs", help="CSV file to write")
        command.add_argument(
            "--figures", nargs="+", choices=list(FIGURES), default=list(FIGURES), help="those to run (default: all)"
        )
        command.add_argument(
            "--clients", type=numbers, metavar="N,...", help="numbers of clients, where the figure is over these"
        )
        command.set_defaults(action=action)
    command = commands.add_parser("ratios", help=write_ratios.__doc__)
    command.add_argument("runs", nargs="+", help="what `simulate` and `real` wrote")
    command.set_defaults(action=write_ratios)
    command = commands.add_parser("figure", help=write_figure.__doc__)
    command.add_argument("out", help="image to write")
    command.add_argument("runs", nargs="+", help="what `simulate` and `real` wrote")
    command.set_defaults(action=write_figure)
    return parser.prog, parser.parse_args()


if __name__ == "__main__":
    program, given = parse()
    try:
        given.action(given)
    except subprocess.CalledProcessError as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(1)
    except (OSError, KeyError, ValueError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(2)
