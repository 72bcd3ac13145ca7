#!/usr/bin/python3
"""The thesis's workload on this machine: real runs of it, as points for rkv-calibrate, and errors of its predictions.

Points with few clients on one CPU are what the fit sees, where its threads don't poll in vain. Points on all CPUs are
predicted, and never fitted to.
"""
import argparse
import csv
import itertools
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import pandas

PLACE = ["transport", "completion", "clients", "scenario"]
TRANSPORTS = ("tcp", "rc", "uc", "ud")
CPUS = 2
ONE_CPU = ("server.cores=[0]", "client.cores=[0]")
FITTED_CLIENTS = (1, 2, 4)
PREDICTED_CLIENTS = (1, 2, 4, 8, 16, 32, 64)
ONE_CPU_RUN_S = 0.5  # simulated again and again by the fit
FITTED_RUNS = 3  # of each point that is fitted to, a repetition: few and short as they are, errors in them go far
RUN_S = 2  # what passes between CPUs takes longer and shorter for tenths of a second
SHARED_RUN_S = 8  # threads that poll and share both CPUs get on by luck that lasts for many slices
LONG_RUN_S = 24  # few of them change places only every few seconds (processors.hpp), and a round of many takes long
FEW_CLIENTS = 2 * CPUS
MANY_CLIENTS = 64
AT_ONCE = ("load.total_operations=null", "load.connect_pause_ms=0", "load.start_stagger_ms=0")
MOST_OF_OTHERS = 0.1  # of a CPU, used by other programs during a run: with more it is done again
MOST_ELSEWHERE = 0.1  # of a run, in another state than was measured: with more it is done again
LEAST_IN_STATE = 0.7  # of a run: with less it tells nothing of the state that was measured
WATCH_EVERY_MS = 200  # each look takes both CPUs from who runs there, and changes who is next on each
TRIES = 3
ONE_STATE = 2  # factor within which the machine's state is the same
DISTURBED = ["others", "in_state"]
LEAST_SPREAD = 0.02  # of a value: five runs may agree by chance
ERROR_OF_MEDIAN = 1.2533  # sqrt(pi / 2), over that of a mean, of normally distributed values
ALLOWED = 0.15  # relative error, while all that poll have a CPU
ALLOWED_FACTOR = 1.5  # beyond
KINDS = {False: "all others", True: "more threads that poll than CPUs"}  # of points, by whether they poll beyond


def polls_beyond(completion, clients, cpus):
    """Whether more threads poll than there are CPUs: a client and its worker do."""
    return completion == "busy" and 2 * clients > cpus


def is_fitted(completion, clients, cpus):
    """Whether the fit sees a point."""
    return cpus == 1 and not polls_beyond(completion, clients, cpus)


def points_of_study():
    """The runs of the points as transport, completion, clients, scenario, in the order in which they are run."""
    for clients in PREDICTED_CLIENTS:
        for cpus in (1, CPUS):
            if cpus == 1 and clients not in FITTED_CLIENTS:
                continue
            for transport in TRANSPORTS:
                for completion in ("event", "busy"):
                    fitted = is_fitted(completion, clients, cpus)
                    place = transport, completion, clients, scenario_of(transport, completion, clients, cpus)
                    yield from itertools.repeat(place, FITTED_RUNS if fitted else 1)


def scenario_of(transport, completion, clients, cpus):
    """The scenario of a point, as rkv-calibrate reads it."""
    if cpus == 1:
        duration_s = ONE_CPU_RUN_S
    elif not polls_beyond(completion, clients, cpus):
        duration_s = RUN_S
    else:
        duration_s = SHARED_RUN_S if FEW_CLIENTS < clients < MANY_CLIENTS else LONG_RUN_S
    fields = [*AT_ONCE, f"load.duration_s={duration_s}"]
    if transport == "tcp" and completion == "busy":  # the thesis has no such program
        fields += ["completion.mode=busy", "socket.server_wait=read"]
    if cpus == 1:
        fields += ONE_CPU
    name = f"{transport}_{'blocking' if completion == 'event' else 'nonblocking'}"
    return " ".join([name, *fields])


def busy_s():
    """CPU time that all programs have had so far, on all CPUs; of one that was taken from this machine as well."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, interrupt, soft_interrupt, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + interrupt + soft_interrupt + steal) / os.sysconf("SC_CLK_TCK")


def run_point(program, line, out):
    """Runs a point once. Returns what its report says of it and the part of a CPU that others had meanwhile."""
    name, *fields = line["scenario"].split()
    command = [program, "--quiet", "--scenario", f"scenarios/{name}.json", "--clients", str(line["clients"]), "--out", out]
    for field in fields:
        command += ["--set", field]
    start, busy, own = time.monotonic(), busy_s(), own_s()
    subprocess.run(command, check=True)
    others = (busy_s() - busy - (own_s() - own)) / (time.monotonic() - start)
    report = json.loads((pathlib.Path(out) / "report.json").read_text(encoding="utf-8"))
    return report["points"][0], others


def own_s():
    """CPU time of the programs that this one has run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Watch:
    """Looks at the machine's state, again and again, while something runs on it."""

    def __init__(self, calibrate):
        # In a session of its own: Ctrl-C is for this program, which ends it.
        command = [calibrate, "watch", "--every-ms", str(WATCH_EVERY_MS)]
        self._looks = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        header = self._looks.stdout.readline()  # it has begun
        if not header:
            raise subprocess.CalledProcessError(self._looks.wait(), command)
        self._columns = header.strip().split(",")

    def end(self):
        """The times that a cache line took from one CPU to the other."""
        self._looks.send_signal(signal.SIGINT)
        with self._looks.stdout as lines:
            looks = list(csv.DictReader(lines, self._columns))
        if self._looks.wait() != 0:
            raise subprocess.CalledProcessError(self._looks.returncode, self._looks.args)
        return [float(look["line_hand_over_ns"]) for look in looks]


def is_state(told_ns, state_ns):
    """Whether what told the machine's state is what it was when the machine was measured."""
    return state_ns / ONE_STATE <= told_ns <= state_ns * ONE_STATE


def run_watched(arguments, line, out):
    """Runs a point once. Returns what its report says of it, what others had and how much of it was in the state.

    On one CPU there are no states, nor without one that was measured.
    """
    if ONE_CPU[0] in line["scenario"] or arguments.state_ns is None:
        return *run_point(arguments.program, line, out), 1.0
    watch = Watch(arguments.calibrate)
    try:
        outcome = run_point(arguments.program, line, out)
    finally:
        told = watch.end()
    return *outcome, statistics.fmean(is_state(time_ns, arguments.state_ns) for time_ns in told)


def points_lacking(path, wanted):
    """The points of the study with fewer runs in the measured state than are wanted, once each."""
    counts = runs_in_state(path).groupby(PLACE).size().to_dict()
    return [place for place in dict.fromkeys(points_of_study()) if counts.get(place, 0) < wanted]


def do_runs(arguments):
    """Runs every point once and appends the outcomes to a file.

    Quiet, and in the machine's state that is asked for; or that of several runs that comes nearest.
    """
    places = points_of_study() if arguments.until is None else points_lacking(arguments.runs, arguments.until)
    columns = [*PLACE, "repetition", "throughput_ops_s", "latency_mean_us", *DISTURBED]
    new = not os.path.exists(arguments.runs)
    with open(arguments.runs, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        if new:
            writer.writeheader()
        for place in places:
            line = dict(zip(PLACE, place)) | {"repetition": arguments.repetition}
            writer.writerow(line | best_run(arguments, line))
            file.flush()


def best_run(arguments, line):
    """The outcome of a point's run with few others on the machine and in its state, as columns."""
    best, best_rank = None, None
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            point, others, in_it = run_watched(arguments, line, f"{folder}/report")
        if point["partial"] or point["lost"]:
            raise ValueError(f"{line['scenario']}, {line['clients']} clients: the run did not end as it should")
        rank = (max(1 - in_it, MOST_ELSEWHERE), max(others, MOST_OF_OTHERS))
        if best is None or rank < best_rank:
            best_rank = rank
            best = {
                "throughput_ops_s": point["throughput_ops_s"],
                "latency_mean_us": point["latency_us"]["mean"],
                "others": round(others, 3),
                "in_state": round(in_it, 2),
            }
        if rank == (MOST_ELSEWHERE, MOST_OF_OTHERS):
            break
    return best


def state_of(profile):
    """The machine's state that a profile's costs were measured in."""
    path = pathlib.Path(profile).with_suffix(".measurements.json")
    told = json.loads(path.read_text(encoding="utf-8"))
    if "line_hand_over_ns" not in told.get("state", {}):
        raise ValueError(f"{path} does not tell the machine's state: measure anew, on two CPUs")
    return told["state"]["line_hand_over_ns"]


def print_state(arguments):
    """Prints the fastest state that profiles were measured in, in nanoseconds."""
    print(min(state_of(profile) for profile in arguments.profiles))


def write_profile(arguments):
    """Writes the profile whose figures are the medians of several, measured in turn with the runs in one state."""
    state_ns = arguments.state_ns
    names = [name for name in arguments.profiles if state_ns is None or is_state(state_of(name), state_ns)]
    profiles = [json.loads(pathlib.Path(name).read_text(encoding="utf-8")) for name in names]
    profile = median_of(profiles)
    profile["name"] = "this_machine"
    profile["description"] = f"Medians of {len(profiles)} profiles. The first: {profiles[0]['description']}"
    pathlib.Path(arguments.out).write_text(json.dumps(profile, indent=2) + "\n", encoding="utf-8")


def median_of(values):
    """Numbers' median; of objects and lists member by member; the first of all else."""
    first = values[0]
    if isinstance(first, dict):
        return {name: median_of([value[name] for value in values]) for name in first}
    if isinstance(first, list) and all(len(value) == len(first) for value in values):
        return [median_of(list(members)) for members in zip(*values)]
    if isinstance(first, (int, float)) and not isinstance(first, bool):
        middle = statistics.median(values)
        return int(middle) if isinstance(first, int) and middle == int(middle) else middle
    return first


def runs_in_state(path):
    """The runs of a file, less those that were too little in the state that was measured."""
    runs = pandas.read_csv(path)
    if "in_state" not in runs:
        raise ValueError(f"{path} does not tell what state its runs were in: measure anew")
    kept = runs[runs["in_state"] >= LEAST_IN_STATE]
    without = len(runs.groupby(PLACE)) - len(kept.groupby(PLACE))
    if without > 0:
        print(f"machine.py: {path}: {without} points were never run in the state that was measured", file=sys.stderr)
    return kept


def medians(path):
    """A line a point: median throughput of its runs, their standard deviation, least and most, and what it is."""
    runs = runs_in_state(path)
    of_point = runs.groupby(PLACE, sort=False)["throughput_ops_s"]
    points = of_point.agg(value="median", spread="std", least="min", most="max", runs="count").reset_index()
    points["spread"] = points["spread"].fillna(0).clip(lower=LEAST_SPREAD * points["value"])
    points["cpus"] = [1 if ONE_CPU[0] in scenario else CPUS for scenario in points["scenario"]]
    points["beyond"] = [polls_beyond(p.completion, p.clients, p.cpus) for p in points.itertuples()]
    points["fitted"] = [is_fitted(p.completion, p.clients, p.cpus) for p in points.itertuples()]
    return points.assign(metric="throughput_ops_s")


def write_points(arguments):
    """Writes the medians as points: all with their runs' deviation, or those that are fitted to, with their own."""
    points = medians(arguments.runs)
    if arguments.fitted:
        points = points[points["fitted"]].copy()
        points["spread"] *= ERROR_OF_MEDIAN / points["runs"] ** 0.5
        points["spread"] = points["spread"].clip(lower=LEAST_SPREAD * points["value"])
    columns = ["transport", "completion", "clients", "metric", "value", "spread", "scenario"]
    points[columns].to_csv(arguments.out, index=False)


def factors(ratios):
    """How far off ratios are, whichever side is larger: 1 or more."""
    return ratios.where(ratios > 1, 1 / ratios)


def compared(arguments):
    """The points that were predicted, with what was measured, errors and whether they are small enough."""
    points = medians(arguments.runs)
    runs = pandas.concat([pandas.read_csv(name) for name in arguments.predicted])
    # As of the real runs: the median of several that differ by chance.
    points = points.merge(runs.groupby(PLACE, sort=False)["predicted"].median().reset_index(), on=PLACE)
    points["ratio"] = points["predicted"] / points["value"]
    near = factors(points["ratio"]) <= ALLOWED_FACTOR
    points["met"] = ((points["ratio"] - 1).abs() <= ALLOWED).where(~points["beyond"], near)
    return points


def write_errors(arguments):
    """Prints measured and predicted throughput, and how many predictions are as near as they are to be."""
    points = compared(arguments)
    header = ["CPUs", "", "clients", "runs", "measured", "least", "most", "spread", "predicted", "error"]
    print("{:>4} {:13} {:>7} {:>4} {:>9} {:>9} {:>9} {:>7} {:>9} {:>8}".format(*header))
    for point in points.sort_values(["cpus", "transport", "completion", "clients"]).itertuples():
        error = f"x {point.ratio:.2f}" if point.beyond else f"{100 * (point.ratio - 1):+.0f} %"
        print(
            f"{point.cpus:4} {point.transport.upper() + ', ' + point.completion:13} {point.clients:7} {point.runs:4} {point.value:9.0f} "
            f"{point.least:9.0f} {point.most:9.0f} {100 * point.spread / point.value:5.0f} % {point.predicted:9.0f} "
            f"{error:>8}{'  fitted' if point.fitted else '' if point.met else '  missed'}"
        )
    predicted = points[~points["fitted"] & (points["cpus"] == CPUS)]
    for beyond, wanted in ((False, f"within {100 * ALLOWED:.0f} %"), (True, f"within a factor of {ALLOWED_FACTOR}")):
        these = predicted[predicted["beyond"] == beyond]
        print(f"on {CPUS} CPUs, {KINDS[beyond]}: {these['met'].sum()} of {len(these)} {wanted}")


def write_agreement(arguments):
    """Prints how many medians of each two files of outcomes are as near to each other as predictions are to be."""
    for one, other in itertools.combinations([arguments.runs, *arguments.others], 2):
        points = medians(one).merge(medians(other)[[*PLACE, "value"]], on=PLACE, suffixes=("", "_other"))
        points = points[points["cpus"] == CPUS]
        points["factor"] = factors(points["value"] / points["value_other"])
        print(f"{one} and {other}")
        for beyond, most in ((False, 1 + ALLOWED), (True, ALLOWED_FACTOR)):
            these = points[points["beyond"] == beyond]
            if these.empty:
                raise ValueError(f"{one} and {other} have no points in common: {KINDS[beyond]}")
            worst = these.loc[these["factor"].idxmax()]
            print(
                f"  {KINDS[beyond]}: {(these['factor'] <= most).sum()} of {len(these)} within a factor of {most}; the worst: "
                f"{worst['transport'].upper()}, {worst['completion']}, {worst['clients']} clients, {worst['factor']:.2f}"
            )


def write_figure(arguments):
    """Draws measured throughput, from the least to the most of the runs, and the predicted one."""
    import matplotlib  # takes a second, and the other commands do without it

    matplotlib.use("Agg")
    import seaborn

    points = compared(arguments)
    points = points[points["cpus"] == CPUS]
    runs = runs_in_state(arguments.runs).merge(points[PLACE], on=PLACE).assign(which="measured")
    predicted = points.rename(columns={"predicted": "throughput_ops_s"}, errors="raise").assign(which="predicted")
    lines = pandas.concat([runs, predicted])[[*PLACE, "which", "throughput_ops_s"]]
    lines["transport"] = lines["transport"].str.upper()
    names = {"clients": "clients", "throughput_ops_s": "operations/s"}
    grid = seaborn.relplot(
        lines.rename(columns=names),
        kind="line",
        x="clients",
        y="operations/s",
        row="completion",
        col="transport",
        col_order=[name.upper() for name in TRANSPORTS],
        row_order=["event", "busy"],
        hue="which",
        style="which",
        style_order=["predicted", "measured"],
        hue_order=["predicted", "measured"],
        markers=True,
        estimator="median",
        errorbar=("pi", 100),
        height=2.6,
        aspect=1.1,
    )
    grid.set(xscale="log", yscale="log")
    grid.set(xticks=PREDICTED_CLIENTS, xticklabels=PREDICTED_CLIENTS)
    grid.set_titles("{col_name}, {row_name}")
    grid.legend.set_title("")
    grid.savefig(arguments.out, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name, action, *words):
        command = commands.add_parser(name, help=action.__doc__.splitlines()[0])
        command.set_defaults(action=action)
        for word, meaning in words:
            command.add_argument(word, help=meaning)
        if action in (do_runs, write_profile):
            command.add_argument("--state-ns", type=float, metavar="NS", help="the machine's, as `state` prints it")
        return command

    runs = ("runs", "file of outcomes")
    predicted = {"nargs": "+", "help": "what rkv-calibrate predict wrote, with different seeds"}
    command = add("run", do_runs, ("program", "rkv-real"), ("calibrate", "rkv-calibrate"), runs)
    command.add_argument("--repetition", type=int, default=1, help="its number, for the file")
    command.add_argument(
        "--until", type=int, metavar="N", help="run those points only that have fewer than N runs in the state so far"
    )
    add("state", print_state).add_argument("profiles", nargs="+")
    add("profile", write_profile, ("out", "file to write")).add_argument("profiles", nargs="+")
    command = add("points", write_points, runs, ("out", "file to write"))
    command.add_argument("--fitted", action="store_true", help="those that are fitted to only")
    add("errors", write_errors, runs).add_argument("predicted", **predicted)
    add("agreement", write_agreement, runs).add_argument("others", nargs="+", help="those of other studies")
    add("figure", write_figure, ("out", "image to write"), runs).add_argument("predicted", **predicted)
    arguments = parser.parse_args()
    try:
        arguments.action(arguments)
    except (OSError, KeyError, ValueError) as error:
        print(f"machine.py: {error}", file=sys.stderr)
        sys.exit(2)
    except subprocess.CalledProcessError as error:
        print(f"machine.py: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
