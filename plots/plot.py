#!/usr/bin/python3
"""Draws figures from the reports of rkv-real and rkv-sim."""
import argparse
import os
import sys

import matplotlib

matplotlib.use("Agg")  # no display needed; before anything imports pyplot

from matplotlib import pyplot

import figures
import load
import style


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description="Draws figures from the reports of rkv-real and rkv-sim, as PDF and PNG. Several reports are "
        "overlaid: real ones solid, simulated ones dashed.",
        epilog="Exit status: 0 done, 2 a report or an option is not usable (the message says why).",
    )
    parser.add_argument("reports", nargs="+", metavar="REPORT_DIR", help="directory with a report.json")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the figures go; made if needed, figures of the same name are replaced")
    parser.add_argument(
        "--kind",
        nargs="+",
        choices=list(figures.KINDS),
        metavar="KIND",
        help="only these figures: " + ", ".join(figures.KINDS) + " (default: all that the reports have data for)",
    )
    parser.add_argument(
        "--labels", nargs="+", metavar="LABEL", help="one for each report (default: transport, completion, backend)"
    )
    parser.add_argument(
        "--clients", nargs="+", type=int, metavar="N", help="only points with these numbers of clients"
    )
    parser.add_argument("--log", action="store_true", help="logarithmic latency axes")
    return parser.parse_args(arguments)


def save(figure, folder, name):
    for ending in ("pdf", "png"):
        path = os.path.join(folder, f"{name}.{ending}")
        # No creation date: the same report gives the same bytes.
        metadata = {"CreationDate": None} if ending == "pdf" else None
        figure.savefig(path, metadata=metadata)
        print(path)
    pyplot.close(figure)


def main(arguments=None):
    options = parse_arguments(arguments)
    try:
        runs = load.load_runs(options.reports, options.labels, options.clients)
        os.makedirs(options.out, exist_ok=True)
        style.apply()
        drawn = 0
        for kind in options.kind or figures.KINDS:
            before = drawn
            for name, figure in figures.KINDS[kind](runs, log=options.log):
                save(figure, options.out, name)
                drawn += 1
            if options.kind and drawn == before:
                raise load.InputError(f"--kind {kind}: the reports have no data for this figure")
        if not drawn:
            raise load.InputError("the reports have no points to draw")
    except load.InputError as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
