#!/usr/bin/python3
"""The published READ sweeps of SMART's test_rdma: as points for rkv-calibrate, and errors of what it predicted.

Each line is one scenario (scenarios/rc_read_rounds.json) with other values; a thread is a client. Series differ in what
threads share: one queue pair with all others (shared-qp), with three or with one (mul-4, mul-2), doorbell registers only
(per-qp, libmlx5's default), or nothing (per-doorbell).
"""
import pathlib
import sys

import pandas

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import sweeps  # noqa: E402

PREFIX = "rdma-read-"
ALL_SHARE = "shared-qp"
OWN_DOORBELL = "per-doorbell"
SHARERS = {ALL_SHARE: None, "mul-4": 4, "mul-2": 2, "per-qp": 1, OWN_DOORBELL: 1}  # of a queue pair; None: all threads
SHARED_DOORBELLS = 12  # of libmlx5, that queue pairs share; it is asked for one for each thread besides
LEAST_REGISTERS = 16
# Long enough for some ten thousand operations at the rates of the series.
DURATION_S = {ALL_SHARE: 0.02, "mul-4": 0.002, "mul-2": 0.001}
SHORTEST_S = 0.0003
SPREAD = 0.03  # of a value: most that replicates differ by


def scenario(line):
    """The scenario of a line of the sweeps, as rkv-calibrate reads it."""
    duration_s = DURATION_S.get(line.series, SHORTEST_S)
    fields = {
        "load.duration_s": duration_s,
        "load.warm_up_s": duration_s / 4,
        "load.window": line.outstanding_per_thread,
        "verbs.bytes": line.payload_bytes,
        "client.cores": "[" + ",".join(str(cpu) for cpu in range(line.threads)) + "]",  # bound to, in turn
        "client.bind_each": "true",
        "verbs.clients_a_queue_pair": SHARERS[line.series] or line.threads,
    }
    if line.series == OWN_DOORBELL:
        fields["device.doorbell_registers"] = max(line.threads + SHARED_DOORBELLS, LEAST_REGISTERS)
    return sweeps.scenario_text("rc_read_rounds", fields)


def read(path):
    """The lines, replicates averaged."""
    lines = pandas.read_csv(path)
    lines["series"] = lines["series"].str.removeprefix(PREFIX)
    unknown = set(lines["series"]) - set(SHARERS)
    if unknown:
        raise ValueError(f"no such series: {', '.join(sorted(unknown))}; known are {', '.join(SHARERS)}")
    lines["scenario"] = [scenario(line) for line in lines.itertuples()]
    lines["transport"] = "rc"
    lines["clients"] = lines["threads"]
    lines["value"] = lines["mops"] * 1e6
    keep = ["series", *sweeps.KEY, "outstanding_per_thread"]
    means = lines.groupby(keep, sort=False).agg({"value": "mean"}).reset_index()
    return means.assign(spread=SPREAD * means["value"])


def write_points(arguments):
    """Writes points; --thin N takes every N-th of each series, --without leaves a series out."""
    lines = read(arguments.sweeps)
    lines = lines[lines["series"] != arguments.without]
    sweeps.write_points(sweeps.thinned(lines, "series", arguments.thin), arguments.out)


def write_errors(arguments):
    """Prints root mean squares of the relative errors for each series."""
    lines = sweeps.with_predictions(read(arguments.sweeps), arguments.predicted)
    sweeps.print_errors(lines, "series", SPREAD, arguments.only)


def write_figure(arguments):
    """Draws measured and predicted rates: series against threads, and threads against what each has outstanding."""
    import matplotlib  # takes a second, and the other commands do without it

    matplotlib.use("Agg")
    import seaborn

    lines = sweeps.with_predictions(read(arguments.sweeps), arguments.predicted, how="inner")
    rate = "million READs/s"
    long = sweeps.long_form(lines, ["series", "clients", "outstanding_per_thread"], rate)
    long = long.rename(columns={"clients": "threads", "outstanding_per_thread": "outstanding a thread"})
    swept = long[(long["series"] == OWN_DOORBELL) & (long["threads"] % 12 == 0)]
    figure, axes = matplotlib.pyplot.subplots(1, 3, figsize=(15, 4.5))
    eight = long[long["outstanding a thread"] == 8]
    sharing = eight[eight["series"] != OWN_DOORBELL]
    panels = [
        (axes[0], eight, "threads", "series", "8 outstanding a thread"),
        (axes[1], sharing, "threads", "series", "the same, logarithmic, where something is shared"),
        (axes[2], swept, "outstanding a thread", "threads", "nothing shared"),
    ]
    for axis, part, x, hue, title in panels:
        seaborn.lineplot(
            part,
            x=x,
            y=rate,
            hue=hue,
            style="which",
            style_order=["predicted", "measured"],
            markers=True,
            palette="viridis" if hue == "threads" else None,
            errorbar=None,
            ax=axis,
        )
        axis.set_title(title, fontsize=9)
        axis.legend(fontsize=7)
    axes[0].set_ylim(0, None)
    axes[1].set_yscale("log")
    axes[2].set_ylim(0, None)
    figure.tight_layout()
    figure.savefig(arguments.out, dpi=110)


def series(_):
    """Prints the names of the series."""
    print("\n".join(SHARERS))


def add_arguments(name, command):
    """What each command takes."""
    sweeps.add_arguments(name, command, "SERIES", list(SHARERS))


if __name__ == "__main__":
    sweeps.run_command(
        __doc__,
        {"points": write_points, "errors": write_errors, "figure": write_figure, "series": series},
        add_arguments,
    )
