"""Latency distributions. One run: a curve a number of clients. Several: a panel a number of clients, a curve a run."""
import math

import seaborn
from matplotlib import pyplot

import load
import style

MOST_CURVES = 8  # of one run; more would not be told apart
MOST_PANELS = 6
MARKER_DISTANCE = 0.3  # along a curve, in parts of the panel's diagonal
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1.5, 1.5)))


def frame(runs):
    return load.distributions_frame(runs)


def spread(values, most):
    """At most so many of them, the first and the last included, about equally far apart."""
    values = sorted(values)
    if len(values) <= most:
        return values
    return [values[round(index * (len(values) - 1) / (most - 1))] for index in range(most)]


def finish(axis, data):
    axis.set_xscale("log")
    axis.set_ylim(0, 1.02)
    # From just below the fastest to where nearly all have come; single stragglers would squeeze the rest.
    last = data[data["cum_prob"] >= 0.999].groupby(["label", "clients"])["latency_us"].min().max()
    axis.set_xlim(data["latency_us"].min() * 0.9, last * 1.1)
    style.log_ticks(axis.xaxis, *axis.get_xlim())


def draw_one_run(run, data):
    figure, axis = pyplot.subplots()
    chosen = spread(data["clients"].unique(), MOST_CURVES)
    data = data[data["clients"].isin(chosen)]
    colours = seaborn.color_palette("viridis", len(chosen))
    for index, clients in enumerate(chosen):
        curve = data[data["clients"] == clients]
        axis.plot(curve["latency_us"], curve["cum_prob"], drawstyle="steps-post", color=colours[index],
                  linestyle=DASHES[index % len(DASHES)], label=str(clients))
    finish(axis, data)
    axis.set_xlabel("Latency (µs)")
    axis.set_ylabel("Operations answered within (share)")
    axis.set_title(run.label, fontsize=9)
    axis.legend(title="Clients", loc="lower right", handlelength=3)
    return figure


def draw_panels(runs, data):
    chosen = spread(data["clients"].unique(), MOST_PANELS)
    data = data[data["clients"].isin(chosen)]
    columns = min(len(chosen), 3)
    rows = math.ceil(len(chosen) / columns)
    figure, axes = pyplot.subplots(
        rows, columns, sharey=True, squeeze=False,
        figsize=(max(style.WIDTH_INCHES, 2.3 * columns), 2.1 * rows + 0.6),
    )
    styles = style.of_runs(runs)
    for index, axis in enumerate(axes.flat):
        if index >= len(chosen):
            axis.set_visible(False)
            continue
        panel = data[data["clients"] == chosen[index]]
        for run in runs:
            curve = panel[panel["label"] == run.label]
            if len(curve):
                axis.plot(curve["latency_us"], curve["cum_prob"], drawstyle="steps-post", label=run.label,
                          markevery=MARKER_DISTANCE, markersize=4, **styles[run.label])
        finish(axis, panel)
        axis.set_title(f"{chosen[index]} client{'' if chosen[index] == 1 else 's'}", fontsize=9)
        if index + columns >= len(chosen):
            axis.set_xlabel("Latency (µs)")
        if index % columns == 0:
            axis.set_ylabel("Share of operations")
    handles = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    figure.tight_layout()
    figure.legend(handles.values(), handles.keys(), loc="upper center", bbox_to_anchor=(0.5, 0.0),
                  ncol=min(len(handles), 3), frameon=False, handlelength=3)
    return figure


def draw(runs, log=False):
    data = frame(runs)
    if data.empty:
        return
    yield "latency_cdf", draw_one_run(runs[0], data) if len(runs) == 1 else draw_panels(runs, data)
