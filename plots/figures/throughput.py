"""Throughput against the number of clients."""
import matplotlib.ticker

import load
from figures.curves import draw_curves


def frame(runs):
    return load.points_frame(runs)[["label", "simulated", "clients", "partial", "throughput_ops_s"]]


def draw(runs, log=False):
    data = frame(runs)
    if data.empty:
        return
    figure, axis = draw_curves(runs, data, "throughput_ops_s")
    axis.set_ylabel("Throughput (operations/s)")
    axis.set_ylim(bottom=0)
    axis.yaxis.set_major_formatter(matplotlib.ticker.EngFormatter(sep=""))
    yield "throughput", figure
