"""A quantity against the number of clients, one curve a run."""
from matplotlib import pyplot

import style


def draw_curves(runs, frame, column):
    """The figure and its axis, without the vertical axis's label. Points that ended early have a cross."""
    figure, axis = pyplot.subplots()
    styles = style.of_runs(runs)
    for run in runs:
        curve = frame[frame["label"] == run.label].sort_values("clients")
        if len(curve):
            axis.plot(curve["clients"], curve[column], label=run.label, **styles[run.label])
    early = frame[frame["partial"]]
    if len(early):
        axis.scatter(early["clients"], early[column], marker="x", s=60, color="black", zorder=3, label="ended early")
    style.clients_axis(axis, frame["clients"])
    style.legend(axis, len(runs) + (len(early) > 0))
    return figure, axis
