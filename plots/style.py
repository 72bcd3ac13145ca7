"""How figures look: sizes for a page of text, colours that the colour-blind can tell apart, and a marker and a line
style for each curve, so that no curve is known by its colour alone."""
import matplotlib.ticker
import seaborn

WIDTH_INCHES = 5.6
HEIGHT_INCHES = 3.4

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "+++", "ooo")


def apply():
    seaborn.set_theme(
        context="paper",
        style="whitegrid",
        palette="colorblind",
        rc={
            "figure.figsize": (WIDTH_INCHES, HEIGHT_INCHES),
            "figure.dpi": 100,
            "savefig.dpi": 200,
            "savefig.bbox": "tight",
            "pdf.fonttype": 42,  # text stays text
            "axes.edgecolor": "0.3",
            "grid.color": "0.88",
            "font.size": 9,
            "axes.labelsize": 9,
            "xtick.labelsize": 8,
            "ytick.labelsize": 8,
            "legend.fontsize": 8,
            "lines.linewidth": 1.4,
            "lines.markersize": 5,
        },
    )


def of_runs(runs):
    """By the run's label: the keyword arguments of its curve."""
    series = list(dict.fromkeys(run.series for run in runs))
    colours = seaborn.color_palette("colorblind", max(len(series), 1))
    styles = {}
    for run in runs:
        index = series.index(run.series)
        colour = colours[index]
        styles[run.label] = {
            "color": colour,
            "marker": MARKERS[index % len(MARKERS)],
            "linestyle": (0, (4, 2)) if run.simulated else "-",
            "markerfacecolor": "white" if run.simulated else colour,
        }
    return styles


def boxes_of_runs(runs):
    """By the run's label: the keyword arguments of its boxes. A simulation's are paler, with a dashed edge."""
    series = list(dict.fromkeys(run.series for run in runs))
    return {
        run.label: {
            "facecolor": (*curve["color"], 0.25 if run.simulated else 0.65),
            "hatch": HATCHES[series.index(run.series) % len(HATCHES)],
            "linestyle": curve["linestyle"],
            "edgecolor": "0.15",
            "linewidth": 0.8,
        }
        for run, curve in zip(runs, of_runs(runs).values())
    }


def clients_axis(axis, clients):
    """Every measured number of clients has its tick; doubling ones are equally far apart."""
    clients = sorted(set(clients))
    if len(clients) > 2 and clients[0] > 0 and clients[-1] / clients[0] >= 8:
        axis.set_xscale("log", base=2)
    axis.set_xticks(clients)
    axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axis.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%d"))
    axis.set_xlabel("Clients")


def latency_axis(axis, label, log):
    axis.set_ylabel(f"{label} (µs)")
    if log:
        axis.set_yscale("log")
        log_ticks(axis.yaxis, *axis.get_ylim())
    else:
        axis.set_ylim(bottom=0)


def log_ticks(axis, low, high):
    """Plain numbers at 1, 2 and 5 of each decade, at 1 only where that would be too many."""
    subs = (1, 2, 5) if high / low < 300 else (1,)
    axis.set_major_locator(matplotlib.ticker.LogLocator(subs=subs))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())


def legend(axis, entries, handles=None):
    """Beside the curves when there are too many to leave them room."""
    place = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False} if entries > 4 else {"loc": "best"}
    if handles:
        place["handles"] = handles
    axis.legend(handlelength=3, **place)
