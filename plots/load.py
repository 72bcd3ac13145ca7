"""Reads reports (docs/report.md) into data frames.

Whatever is wrong with a report is an InputError that names the file and what is wrong with it.
"""
import collections
import dataclasses
import json
import os
import re

import numpy
import pandas

SCHEMA_VERSION = 1

LATENCY_COLUMNS = (
    "mean", "stddev", "min", "p25", "p50", "p75", "p90", "p95", "p99", "p999", "max", "whisker_low", "whisker_high",
)

POINT_MEMBERS = {
    "clients": int, "partial": bool, "operations": int, "throughput_ops_s": (int, float),
    "latency_us": (dict, type(None)), "histogram_file": str,
}

# docs/report.md, "Traces"
TRACE_HEADER = numpy.dtype([
    ("magic", "S8"), ("version", "<u4"), ("header_bytes", "<u4"), ("record_bytes", "<u4"), ("clients", "<u4"),
    ("records", "<u8"), ("overflow", "<u8"),
])
TRACE_RECORD = numpy.dtype([
    ("client", "<u4"), ("method", "u1"), ("code", "u1"), ("zero", "<u2"), ("operation", "<u8"), ("sent_ns", "<i8"),
    ("received_ns", "<i8"), ("key_id", "<u8"),
])


class InputError(Exception):
    """The person who called can repair this."""


@dataclasses.dataclass
class Run:
    """One report: a curve of its own in every figure."""

    folder: str
    report: dict
    label: str
    series: str  # runs of one series have the same colour: a real run and its simulation

    @property
    def simulated(self):
        return self.report["backend"] == "sim"


def load_report(folder):
    path = os.path.join(folder, "report.json")
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; give the directory of a run") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    version = report.get("schema_version") if isinstance(report, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(f"{path}: schema_version is {version}, these plots read version {SCHEMA_VERSION}")
    problem = problem_of(report)
    if problem:
        raise InputError(f"{path}: {problem}")
    return report


def problem_of(report):
    """What keeps these plots from using the report, or None. (The whole schema is core/report/report.schema.json.)"""
    for name, kind in (("backend", str), ("scenario", dict), ("points", list)):
        if not isinstance(report.get(name), kind):
            return f"{name} is missing or not what it should be"
    for index, point in enumerate(report["points"]):
        for name, kind in POINT_MEMBERS.items():
            if not isinstance(point, dict) or not isinstance(point.get(name), kind):
                return f"/points/{index}/{name} is missing or not what it should be"
        for name in LATENCY_COLUMNS:
            if point["latency_us"] is not None and not isinstance(point["latency_us"].get(name), (int, float)):
                return f"/points/{index}/latency_us/{name} is missing or not a number"
    return None


def describe(report):
    """What distinguishes a curve: transport and how completions are awaited."""
    scenario = report["scenario"]
    transport = str(scenario.get("transport", scenario.get("name", "?"))).upper()
    completion = scenario.get("completion")
    if not isinstance(completion, dict) or "mode" not in completion:
        return transport
    return f"{transport} {str(completion['mode']).replace('_', ' ')}"


def series_of(reports):
    """By report: what tells a real run and its simulations from other runs. That is the description, with the
    scenario's name where several runs of one backend are described alike."""
    described = [describe(report) for report in reports]
    kinds = collections.Counter((series, report["backend"]) for series, report in zip(described, reports))
    crowded = {series for (series, _), count in kinds.items() if count > 1}
    names = collections.defaultdict(set)
    for series, report in zip(described, reports):
        names[series].add(report["scenario"].get("name"))
    return [
        f"{series}, {report['scenario'].get('name', '?')}" if series in crowded and len(names[series]) > 1 else series
        for series, report in zip(described, reports)
    ]


def load_runs(folders, labels=None, clients=None):
    if labels and len(labels) != len(folders):
        raise InputError(f"--labels: {len(labels)} labels for {len(folders)} reports; give one for each")
    reports = [load_report(folder) for folder in folders]
    if clients:
        for report in reports:
            report["points"] = [point for point in report["points"] if point["clients"] in clients]
    runs = []
    all_series = series_of(reports)
    kinds = collections.Counter((series, report["backend"]) for series, report in zip(all_series, reports))
    for index, (folder, report, series) in enumerate(zip(folders, reports, all_series)):
        label = f"{series} (simulated)" if report["backend"] == "sim" else series
        if kinds[series, report["backend"]] > 1:
            # Alike in what is usually studied: the directory tells them apart, and each has its own colour.
            series = f"{label}, {os.path.basename(os.path.normpath(folder))}"
            label = series
        if labels:
            label = labels[index]
        runs.append(Run(folder=folder, report=report, label=label, series=series))
    if len({run.label for run in runs}) < len(runs):
        raise InputError("two reports would have the same label; tell them apart by --labels")
    return runs


def points_frame(runs):
    """One row a point of every run; latencies in microseconds, missing where nothing was measured."""
    rows = []
    for run in runs:
        for point in run.report["points"]:
            row = {name: point[name] for name in ("clients", "partial", "operations", "throughput_ops_s")}
            latency = point["latency_us"] or {}
            row.update({f"latency_{name}_us": latency.get(name, numpy.nan) for name in LATENCY_COLUMNS})
            rows.append({"label": run.label, "simulated": run.simulated, **row})
    columns = ["label", "simulated", "clients", "partial", "operations", "throughput_ops_s"]
    columns += [f"latency_{name}_us" for name in LATENCY_COLUMNS]
    return pandas.DataFrame(rows, columns=columns)


def file_of(run, name):
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", str(name)):
        raise InputError(f"{run.folder}/report.json: {name!r} is not the name of a file in this directory")
    return os.path.join(run.folder, name)


def load_distribution(path):
    """A .hgrm file as latency_us and cum_prob: the part of all values that are at most that."""
    rows = []
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                cells = line.split()
                if line.startswith("#") or not cells or cells[0] == "Value":
                    continue
                rows.append((float(cells[0]), int(cells[2])))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file, though the report names it") from None
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"{path}: this is not a percentile distribution: {error}") from None
    frame = pandas.DataFrame(rows, columns=["latency_us", "count"]).drop_duplicates("latency_us", keep="last")
    frame["cum_prob"] = frame["count"] / frame["count"].max() if len(frame) else []
    return frame[["latency_us", "cum_prob"]].reset_index(drop=True)


def distributions_frame(runs):
    """label, simulated, clients, latency_us, cum_prob of all points at which something was measured."""
    frames = []
    for run in runs:
        for point in run.report["points"]:
            frame = load_distribution(file_of(run, point["histogram_file"]))
            frames.append(frame.assign(label=run.label, simulated=run.simulated, clients=point["clients"]))
    columns = ["label", "simulated", "clients", "latency_us", "cum_prob"]
    return pandas.concat(frames)[columns] if frames else pandas.DataFrame(columns=columns)


def load_trace(path):
    """A trace as client, operation, sent_ns, latency_us."""
    try:
        if path.endswith(".bin"):
            header = numpy.fromfile(path, dtype=TRACE_HEADER, count=1)
            if len(header) != 1 or header["magic"][0] != b"RKVTRACE" or header["version"][0] != 1:
                raise ValueError("no header of version 1")
            if header["record_bytes"][0] != TRACE_RECORD.itemsize:
                raise ValueError("records of another size")
            records = numpy.fromfile(path, dtype=TRACE_RECORD, offset=int(header["header_bytes"][0]))
            if len(records) != header["records"][0]:
                raise ValueError(f"{len(records)} records instead of {header['records'][0]}")
            frame = pandas.DataFrame({name: records[name] for name in ("client", "operation", "sent_ns")})
            frame["latency_us"] = (records["received_ns"] - records["sent_ns"]) / 1000.0
            return frame
        return pandas.read_csv(path, usecols=["client", "operation", "sent_ns", "latency_us"])
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file, though the report names it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: this is not a trace: {error}") from None
