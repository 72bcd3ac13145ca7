"""Mean latency against the number of clients."""
import load
import style
from figures.curves import draw_curves


def frame(runs):
    columns = ["label", "simulated", "clients", "partial", "latency_mean_us"]
    return load.points_frame(runs)[columns].dropna(subset=["latency_mean_us"])


def draw(runs, log=False):
    data = frame(runs)
    if data.empty:
        return
    figure, axis = draw_curves(runs, data, "latency_mean_us")
    style.latency_axis(axis, "Mean latency", log)
    yield "latency_mean", figure
