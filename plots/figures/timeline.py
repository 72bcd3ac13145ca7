"""Latency over time of each client, from a trace: a figure for each point that has one."""
import math
import re

import matplotlib.ticker
import pandas
import seaborn
from matplotlib import pyplot

import load
import style

# More would only blacken the paper: with more operations, a point is the mean of several.
MOST_POINTS = 1600
MOST_POINTS_A_CLIENT = 400
MOST_NAMED_CLIENTS = 8


def frame(path):
    """client, time_s, latency_us, each the mean of so many operations in a row; and how many these are."""
    trace = load.load_trace(path).sort_values(["client", "sent_ns"])
    counts = trace.groupby("client").size()
    if counts.empty:
        return pandas.DataFrame(columns=["client", "time_s", "latency_us"]), 1
    points = min(MOST_POINTS_A_CLIENT, max(MOST_POINTS // len(counts), 1))
    window = math.ceil(counts.max() / points)
    trace["time_s"] = trace["sent_ns"] / 1e9
    stretch = trace.groupby("client").cumcount() // window
    means = trace.groupby(["client", stretch])[["time_s", "latency_us"]].mean()
    return means.reset_index(level="client").reset_index(drop=True), window


def draw_point(run, point, data, window, log):
    figure, axis = pyplot.subplots()
    clients = sorted(data["client"].unique())
    named = len(clients) <= MOST_NAMED_CLIENTS
    colours = seaborn.color_palette("colorblind" if named else "viridis", len(clients))
    for colour, client in zip(colours, clients):
        curve = data[data["client"] == client]
        axis.plot(curve["time_s"], curve["latency_us"], color=colour, linewidth=0.8, alpha=0.9, label=str(client))
    axis.set_xlabel("Time (s)")
    style.latency_axis(axis, "Latency" if window == 1 else f"Latency, mean of {window} operations", log)
    axis.set_title(f"{run.label}, {point['clients']} client{'' if point['clients'] == 1 else 's'}", fontsize=9)
    if named:
        legend = axis.legend(title="Client", loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        for line in legend.get_lines():
            line.set_linewidth(2)
    else:
        scale = pyplot.cm.ScalarMappable(pyplot.Normalize(clients[0], clients[-1]), "viridis")
        figure.colorbar(scale, ax=axis, label="Client", ticks=matplotlib.ticker.MaxNLocator(integer=True))
    return figure


def draw(runs, log=False):
    for run in runs:
        for point in run.report["points"]:
            if "trace_file" not in point:
                continue
            data, window = frame(load.file_of(run, point["trace_file"]))
            if data.empty:
                continue
            name = re.sub(r"[^a-z0-9]+", "_", run.label.lower()).strip("_")
            yield f"latency_over_time_{name}_{point['clients']}", draw_point(run, point, data, window, log)
