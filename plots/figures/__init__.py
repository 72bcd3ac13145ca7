"""One module a figure. Each has draw(runs, log), which yields (file name, figure) pairs: none without data for it."""
from . import box, cdf, latency, throughput, timeline

KINDS = {
    "throughput": throughput.draw,
    "latency": latency.draw,
    "box": box.draw,
    "cdf": cdf.draw,
    "timeline": timeline.draw,
}
