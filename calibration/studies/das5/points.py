#!/usr/bin/python3
"""Writes the published measurements of DAS-5 as one file of points for rkv-calibrate: curves, quantiles, switches."""
import argparse
import os
import sys

import numpy
import pandas

OPERATIONS = 10_000_000  # of a run, to which the counts of context switches belong
QUANTILES = {"median_us": "latency_p50_us", "p95_us": "latency_p95_us", "p99_us": "latency_p99_us"}
# With these numbers of clients runs of TCP and with events wait for one client or two that are slow for all of it.
# How slow is chance, in published runs (one each) as in the model, so that what they decide counts for as much less.
STRAGGLERS = range(4, 10)
STRAGGLERS_SPREAD = 0.3
STRAGGLERS_METRICS = ["throughput_ops_s", "latency_p95_us", "latency_p99_us"]
HALF_A_TICK_US = 0.5  # latencies were taken in whole us, so of those that count as 11 the longest are 11.5
QUARTILES = {0.25: "latency_p25_us", 0.75: "latency_p75_us"}  # read off the distributions


def waits(measured):
    """Which rows are of programs whose threads sleep while they wait."""
    return (measured["transport"] == "TCP") | (measured["completion"] == "event")


def points(folder, for_fit):
    """The measurements as transport, completion, clients, metric, value, and for a fit spread."""
    curves = pandas.read_csv(os.path.join(folder, "curves.csv"))
    stats = pandas.read_csv(os.path.join(folder, "latency_stats.csv"))
    place = ["transport", "completion", "clients"]
    quantiles = stats.melt(id_vars=place, value_vars=list(QUANTILES), var_name="metric")
    quantiles["metric"] = quantiles["metric"].map(QUANTILES)
    distributions = pandas.read_csv(os.path.join(folder, "latency_cdf.csv"))
    quartiles = pandas.DataFrame(
        [
            [*where, metric, numpy.interp(share, one["cum_prob"], one["latency_us"] + HALF_A_TICK_US)]
            for where, one in distributions.sort_values("cum_prob").groupby(place)
            for share, metric in QUARTILES.items()
        ],
        columns=[*place, "metric", "value"],
    )
    if for_fit:
        both = pandas.concat([curves, quantiles, quartiles[~waits(quartiles)]])
        straggles = waits(both) & both["clients"].isin(STRAGGLERS) & both["metric"].isin(STRAGGLERS_METRICS)
        both["spread"] = (STRAGGLERS_SPREAD * both["value"]).where(straggles)
        return both[[*place, "metric", "value", "spread"]]
    switches = pandas.read_csv(os.path.join(folder, "context_switches.csv"))
    switches["metric"] = switches["side"] + "_context_switches_op"
    switches["value"] = switches["context_switches"] / OPERATIONS
    return pandas.concat([curves, quantiles, quartiles, switches])[[*place, "metric", "value"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="with curves.csv, latency_stats.csv, latency_cdf.csv and context_switches.csv")
    parser.add_argument("out", help="file to write")
    parser.add_argument(
        "--for-fit",
        action="store_true",
        help="without context switches, which polling has by chance only, and without quartiles of TCP and of events: "
        "early stages of such runs, which the first quartile is of, are not what the model is good at",
    )
    arguments = parser.parse_args()
    try:
        points(arguments.folder, arguments.for_fit).to_csv(arguments.out, index=False)
    except (OSError, KeyError, ValueError) as error:
        print(f"points.py: {arguments.folder}: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
