#!/usr/bin/python3
"""Draws what `rkv-calibrate compare --out DIR` compared: measurement, prediction and the Universal Scalability Law."""
import argparse
import json
import math
import os
import sys

import matplotlib.lines
import matplotlib.patches
import matplotlib.ticker
import numpy
import pandas
import seaborn
from matplotlib import pyplot

import plot  # chooses a display that needs none
import style
from load import InputError

# A row of panels a metric.
ROWS = {"throughput_ops_s": "Throughput (operations/s)", "latency_mean_us": "Mean latency (µs)"}
MOST_COLUMNS = 4  # more curves go below
PANEL_INCHES = (2.5, 1.9)
DASHED = (0, (4, 2))


def read(path, reader):
    try:
        with open(path, encoding="utf-8") as file:
            return reader(file)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; give a directory of rkv-calibrate compare --out") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def load_comparison(folder):
    """errors.json, and points.csv as transport, completion, clients, metric, value, predicted."""
    errors_path, points_path = (os.path.join(folder, name) for name in ("errors.json", "points.csv"))
    errors = read(errors_path, json.load)
    points = read(points_path, pandas.read_csv)
    if not isinstance(errors, dict) or not isinstance(errors.get("curves"), list):
        raise InputError(f"{errors_path}: there are no curves in it; is it of rkv-calibrate compare?")
    missing = {"transport", "completion", "clients", "metric", "value", "predicted"} - set(points.columns)
    if missing:
        raise InputError(f"{points_path}: the columns {', '.join(sorted(missing))} are missing")
    return errors, points


def law(parameters, clients, metric, outstanding):
    """calibration/curves/usl.hpp"""
    overhead = 1 + parameters["sigma"] * (clients - 1) + parameters["kappa"] * clients * (clients - 1)
    throughput = parameters["lambda_ops_s"] * clients / overhead
    return throughput if metric == "throughput_ops_s" else clients * outstanding / throughput * 1e6


def doubling(clients):
    """Whether the numbers of clients are about as far apart as powers of two."""
    ratios = [late / early for early, late in zip(clients, clients[1:])]
    return len(ratios) > 1 and clients[-1] / clients[0] >= 8 and numpy.median(ratios) > 1.4


def draw_panel(axis, curve, data, errors, colour, marker):
    fitted = errors.get("fitted_clients")
    clients = sorted(data["clients"].unique())
    logarithmic = doubling(clients)
    first, last = clients[0], clients[-1]
    low, high = (first / 1.2, last * 1.2) if logarithmic else (0, last * 1.04 + 0.5)
    if fitted is not None and fitted >= first:
        axis.axvspan(low, min(fitted, high), color="0.5", alpha=0.15, linewidth=0)
    measured = data.dropna(subset=["value"])
    predicted = data.dropna(subset=["predicted"])
    if curve["usl"]:
        grid = numpy.geomspace(first, last, 200)
        axis.plot(grid, law(curve["usl"], grid, curve["metric"], errors.get("outstanding", 1)), color="0.35",
                  linestyle=DASHED, linewidth=1.0)
    axis.plot(predicted["clients"], predicted["predicted"], color=colour, marker="." if len(predicted) == 1 else None)
    axis.plot(measured["clients"], measured["value"], color=colour, linestyle="none", marker=marker, markersize=4)
    if logarithmic:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%d"))
        axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    else:
        axis.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True, nbins=6))
    axis.set_xlim(low, high)
    # The law may rise far beyond what was measured: it must not squeeze that.
    axis.set_ylim(0, 1.15 * numpy.nanmax(data[["value", "predicted"]].to_numpy()))
    axis.yaxis.set_major_formatter(matplotlib.ticker.EngFormatter(sep=""))


def legend_entries(errors):
    entries = [
        matplotlib.lines.Line2D([], [], color="0.2", marker="o", linestyle="none", markersize=4, label="measured"),
        matplotlib.lines.Line2D([], [], color="0.2", label="predicted"),
        matplotlib.lines.Line2D([], [], color="0.35", linestyle=DASHED, linewidth=1.0, label="USL, fitted"),
    ]
    if errors.get("fitted_clients") is not None:
        entries.append(matplotlib.patches.Patch(color="0.5", alpha=0.15, linewidth=0, label="fitted to"))
    return entries


def draw(errors, points):
    """The figure: a column a transport and completion, a row a metric; many columns in several bands."""
    curves = {(c["transport"], c["completion"], c["metric"]): c for c in errors["curves"] if c["metric"] in ROWS}
    if not curves:
        raise InputError("neither throughput nor mean latency was compared: there is nothing to draw")
    columns = sorted({key[:2] for key in curves})
    metrics = [metric for metric in ROWS if any(key[2] == metric for key in curves)]
    wide = min(len(columns), MOST_COLUMNS)
    bands = math.ceil(len(columns) / wide)
    figure, axes = pyplot.subplots(
        bands * len(metrics), wide, squeeze=False,
        figsize=(max(PANEL_INCHES[0] * wide, style.WIDTH_INCHES), PANEL_INCHES[1] * bands * len(metrics) + 0.5),
    )
    colours = seaborn.color_palette("colorblind", len(columns))
    for axis in axes.flat:
        axis.set_visible(False)
    for index, (transport, completion) in enumerate(columns):
        for row, metric in enumerate(metrics):
            curve = curves.get((transport, completion, metric))
            if curve is None:
                continue
            axis = axes[index // wide * len(metrics) + row, index % wide]
            axis.set_visible(True)
            data = points[(points["transport"] == transport) & (points["completion"] == completion)
                          & (points["metric"] == metric)].sort_values("clients")
            if data.empty:
                raise InputError(f"points.csv has no points of {transport} {completion} {metric}")
            draw_panel(axis, curve, data, errors, colours[index], style.MARKERS[index % len(style.MARKERS)])
            axis.set_title(f"{transport.upper()} {completion.replace('_', ' ')}", fontsize=9)
            if index % wide == 0:
                axis.set_ylabel(ROWS[metric])
            if row + 1 == len(metrics):
                axis.set_xlabel("Clients")
    figure.tight_layout()
    figure.legend(handles=legend_entries(errors), loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=4,
                  frameon=False, handlelength=3)
    return figure


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description="Draws what rkv-calibrate compare compared, as calibration.pdf and .png: measured points, predicted "
        "line, the fitted Universal Scalability Law dashed, the clients fitted to shaded.",
        epilog="Exit status: 0 done, 2 the comparison or an option is not usable (the message says why).",
    )
    parser.add_argument("comparison", metavar="DIR", help="directory of rkv-calibrate compare --out")
    parser.add_argument("--out", required=True, metavar="DIR",
                        help="where the figures go; made if needed, figures of the same name are replaced")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse_arguments(arguments)
    try:
        style.apply()
        figure = draw(*load_comparison(options.comparison))
        os.makedirs(options.out, exist_ok=True)
        plot.save(figure, options.out, "calibration")
    except InputError as error:
        print(f"calibration.py: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"calibration.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
