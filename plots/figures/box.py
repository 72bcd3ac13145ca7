"""Box plots of latency without outliers: one box a run beside each other, for every number of clients."""
from matplotlib import patches, pyplot

import load
import style

# Parts of the distance between two numbers of clients.
GROUP_WIDTH = 0.8
BOX_WIDTH = 0.85  # of a run's share of the group

# Many runs make the figure wider, as far as a page on its side allows.
INCHES_A_BOX = 0.13
MOST_INCHES = 9


def frame(runs):
    columns = ["label", "simulated", "clients"]
    columns += [f"latency_{name}_us" for name in ("whisker_low", "p25", "p50", "p75", "whisker_high")]
    return load.points_frame(runs)[columns].dropna()


def statistics(row):
    """What matplotlib calls the values of a box."""
    return {
        "whislo": row.latency_whisker_low_us,
        "q1": row.latency_p25_us,
        "med": row.latency_p50_us,
        "q3": row.latency_p75_us,
        "whishi": row.latency_whisker_high_us,
    }


def draw(runs, log=False):
    data = frame(runs)
    if data.empty:
        return
    clients = sorted(data["clients"].unique())
    width = min(max(style.WIDTH_INCHES, INCHES_A_BOX * len(data)), MOST_INCHES)
    figure, axis = pyplot.subplots(figsize=(width, style.HEIGHT_INCHES))
    styles = style.boxes_of_runs(runs)
    share = GROUP_WIDTH / len(runs)
    for index, run in enumerate(runs):
        boxes = data[data["label"] == run.label]
        line = {"color": "0.15", "linewidth": 0.8, "linestyle": styles[run.label]["linestyle"]}
        axis.bxp(
            [statistics(row) for row in boxes.itertuples()],
            positions=[clients.index(n) + (index - (len(runs) - 1) / 2) * share for n in boxes["clients"]],
            widths=share * BOX_WIDTH,
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops=styles[run.label],
            medianprops={"color": "black", "linewidth": 1.6},
            whiskerprops=line,
            capprops=line,
        )
    axis.set_xticks(range(len(clients)), [str(n) for n in clients])
    axis.set_xlim(-0.6, len(clients) - 0.4)
    axis.grid(visible=False, axis="x")
    axis.set_xlabel("Clients")
    style.latency_axis(axis, "Latency", log)
    style.legend(axis, len(runs), [patches.Patch(label=run.label, **styles[run.label]) for run in runs])
    yield "latency_box", figure
