#!/usr/bin/python3
"""The published sweeps of rdma_bench's rc_swarm: as points for rkv-calibrate, and errors of what it predicted.

Each line is one scenario (scenarios/rc_random_reads.json) with other values: a thread is a client, a machine's queue
pairs to itself are left out, and one machine on the other side stands for all others, since every machine does and gets
the same: half of what the two do is a machine's rate. Where all requests are signalled, lines that differ in
unsig_batch only are replicates.
"""
import pathlib
import sys

import pandas

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import sweeps  # noqa: E402

MACHINES = 2  # simulated ones
LEAST_SPREAD = 0.01  # of a value: some were the same to the last digit
PATHS = {
    "window": "load.window",
    "queue pairs a thread": "verbs.queue_pairs",
    "bytes": "verbs.bytes",
    "signal interval": "queue_pair.signal_interval",
}
DRAWN_INTERVALS = (1, 64)
COLUMNS = 3  # of panels
INLINED = 60  # bytes: WRITEs up to here were inlined


def scenario(line):
    """The scenario of a line of the sweeps, as rkv-calibrate reads it."""
    fields = {
        "verbs.bytes": line.op_bytes,
        "verbs.queue_pairs": line.vms_per_machine * (line.machines - 1),
        "load.window": line.window,
        "queue_pair.signal_interval": 1 if "allsig" in line.source_file else line.unsig_batch,
    }
    if "write" in line.source_file:
        fields |= {"verbs.operation": "write", "queue_pair.inline_bytes": INLINED}
    if "uc" in line.source_file.split("_"):
        fields["transport"] = "uc"
    return sweeps.scenario_text("rc_random_reads", fields)


def read(path, nic):
    """The lines of one card, replicates averaged."""
    table = pandas.read_csv(path)
    lines = table[table["nic"].str.startswith(nic)].copy()
    if lines.empty:
        raise ValueError(f"no card {nic}; there are {', '.join(table['nic'].unique())}")
    lines["scenario"] = [scenario(line) for line in lines.itertuples()]
    lines["transport"] = ["uc" if "transport=uc" in text else "rc" for text in lines["scenario"]]
    lines["clients"] = lines["threads_per_machine"]
    lines["value"] = lines["mean_mops_per_machine"] * 1e6
    lines["spread"] = (lines["max"] - lines["min"]) / 4 * 1e6  # a range of two standard deviations each way
    means = lines.groupby(["source_file", *sweeps.KEY], sort=False).agg({"value": "mean", "spread": "mean"})
    return means.reset_index()


def write_points(arguments):
    """Writes points; --thin N takes every N-th of each file, --without leaves a file out."""
    lines = read(arguments.sweeps, arguments.nic)
    if arguments.without:
        lines = lines[lines["source_file"] != arguments.without]
    lines = lines.assign(value=lines["value"] * MACHINES, spread=lines["spread"] * MACHINES)
    thinned = sweeps.thinned(lines, "source_file", arguments.thin)
    sweeps.write_points(thinned, arguments.out, metric="throughput_both_ways_ops_s")


def with_predictions(arguments, how):
    """The lines of one card with the rate of a machine that rkv-calibrate predicted for each."""
    lines = sweeps.with_predictions(read(arguments.sweeps, arguments.nic), arguments.predicted, how)
    return lines.assign(predicted=lines["predicted"] / MACHINES)


def write_errors(arguments):
    """Prints root mean squares of the relative errors for each file, alike and weighted by the spreads."""
    lines = with_predictions(arguments, how="left")
    sweeps.print_errors(lines, "source_file", LEAST_SPREAD, arguments.only)


def write_figure(arguments):
    """Draws measured and predicted rates of each file, against what it varies most."""
    import matplotlib  # takes a second, and the other commands do without it

    matplotlib.use("Agg")
    import seaborn

    lines = with_predictions(arguments, how="inner")
    for column, path in PATHS.items():
        lines[column] = lines["scenario"].str.extract(rf" {path}=(\d+)").astype(int)
    lines = lines[lines["signal interval"].isin(DRAWN_INTERVALS)]
    rate = "million operations/s a machine"
    long = sweeps.long_form(lines, ["source_file", "clients", *PATHS], rate)
    names = list(long["source_file"].unique())
    rows = -(-len(names) // COLUMNS)
    figure, axes = matplotlib.pyplot.subplots(rows, COLUMNS, figsize=(4 * COLUMNS, 3.4 * rows), squeeze=False)
    for axis in axes.flat[len(names) :]:
        axis.remove()
    for axis, name in zip(axes.flat, names):
        of_file = long[long["source_file"] == name]
        x = next((column for column in ("queue pairs a thread", "bytes") if of_file[column].nunique() > 1), "window")
        seaborn.lineplot(
            of_file,
            x=x,
            y=rate,
            hue="clients" if x == "window" else "window",
            style="which",
            style_order=["predicted", "measured"],
            markers=True,
            palette="viridis",
            errorbar=None,
            ax=axis,
        )
        axis.set_title(name.removeprefix("osdi/"), fontsize=8)
        axis.set_ylim(0, None)
        axis.legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(arguments.out, dpi=110)


def files(arguments):
    """Prints the names of a card's files."""
    print("\n".join(read(arguments.sweeps, arguments.nic)["source_file"].unique()))


def add_arguments(name, command):
    """What each command takes."""
    command.add_argument("nic", help="how the card's name begins")
    sweeps.add_arguments(name, command, "FILE")


if __name__ == "__main__":
    sweeps.run_command(
        __doc__,
        {"points": write_points, "errors": write_errors, "figure": write_figure, "files": files},
        add_arguments,
    )
