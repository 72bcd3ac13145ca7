#!/usr/bin/env python3
"""Writes docs/scenario.md and docs/profile.md from the schemas; with --check, says whether they are current."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

SCENARIO = """\
# Scenario files

<!-- Made by docs/make_references.py from scenarios/scenario.schema.json: change that file instead. -->

One JSON file says everything that a study varies. A field that is not given has its default. A field that is
unknown, out of range or without meaning in the scenario is refused, with the file, the place as a JSON pointer and
what is allowed; so are contradictions (an open loop without a rate, more requests outstanding on UC or UD than
receives posted, keys longer than messages can hold). All problems are told at once.

**On the command line.** `--set path=value` sets any field over the file's: `--set queue_pair.receive_depth=32` or
`--set /queue_pair/receive_depth=32`. The value is JSON, else a text. `--set path=null` takes a field out, back to its
default, which is how to change between fields that exclude each other:
`--set load.total_operations=null --set load.duration_s=20`. `--clients 1,2,4` replaces `clients`.

**Sweeps.** `"sweep": {"queue_pair.signal_interval": [1, 4, 16], "completion.mode": ["busy", "event"]}` makes six
scenarios, one for each combination, named after the file and the values.

**Presets** fill in operations, keys, sizes and message capacities; fields given beside one win.

| preset | what it is |
| --- | --- |
| `thesis` | Troost's benchmark (VU Amsterdam, 2021): operation i of a client is a SET of its key i with 6 %, else a GET of a key number drawn from -1 to i - 1, most of which were never set |
| `ycsb_a`, `ycsb_b`, `ycsb_c` | YCSB (Cooper et al., SoCC 2010): 50, 95, 100 % GETs, the rest SETs; 23-byte keys by zipf 0.99, 1000-byte values written whole, since a key-value store has no fields |
| `ycsb_d` | 95 % GETs that prefer the newest keys, 5 % SETs of new ones; newest of the same client, since an order common to all would need a counter that clients share while they are measured |
| `ycsb_e` | refused: it scans neighbouring keys, and the store keeps no order |
| `ycsb_f` | 50 % GETs, 50 % read-modify-writes: a GET and then a SET of the same key, two operations |
| `etc` | Facebook's ETC pool (Atikoglu et al., SIGMETRICS 2012): 30 GETs a SET, the paper's key and value sizes, values cut at 4096 bytes, which 0.16 % would exceed; the paper has no formula for the keys' popularity, zipf 0.99 stands in |
| `sys` | refused: the paper shows Facebook's SYS pool in plots only, without a formula or table to draw from |

**What goes over the wire and into reports** is the resolved scenario: every default written out, presets and sweeps
replaced by what they mean, fields without meaning left out. It is itself a scenario file.

## Fields
"""

PROFILE = """\
# Machine profiles

<!-- Made by docs/make_references.py from calibration/profiles/profile.schema.json: change that file instead. -->

A profile is a JSON file that describes what a simulation runs on: hosts, their operating system, network cards and
network, in physical terms. Durations are nanoseconds, fractions allowed, kept to the picosecond. A field that is not
given has its default. A field that is unknown or out of range is refused, with the file, the place as a JSON pointer
and what is allowed; so is what makes no sense together. All problems are told at once.

| file in `calibration/profiles/` | what it is |
| --- | --- |
| `das5.json` | the two DAS-5 nodes of Troost's thesis: ConnectX-3, FDR InfiniBand, two sockets of 8 cores |
| `das5_fitted.json` | the same, with what `calibration/studies/das5` found on the thesis's curves with up to 15 clients |
| `modern_100g.json` | two servers of 32 cores with ConnectX-6 at 100 Gbit/s |
| `connectx_ddr.json` | two cluster nodes: the first ConnectX, DDR InfiniBand, PCIe 2.0, two Opteron 6276 |
| `local_soft0.json` | one virtual machine of two CPUs with rkv's own RNIC in user space |

But for `das5_fitted.json` they hold published values and estimates, fitted to no measurement. Each one's description names its sources.

**A profile over another.** `"base": "das5.json"` takes every value that this file does not give from that one; the
path starts from this file's folder. Values are merged field by field (RFC 7396): null takes a value out, back to its
default, and a list replaces the list. Name and description are not taken over.

**Server and client alike.** `hosts` describes both; `server` and `client` go over it. In a chain of bases each file's
`hosts` goes over what the files below gave to either.

**On the command line** `--set-profile path=value` goes over the file: `--set-profile nic.rc.send_ns=40`, or
`--set-profile hosts.scheduler.interrupt_cpu=-1`, which is for both hosts whatever the file gave to one.

**In reports** stands the complete profile: every default written out, for server and client each. It is itself a
profile file.

## Sources of the defaults

An estimate is an order of magnitude that no publication was used for, and the first thing to calibrate.

| | |
| --- | --- |
| [breakdown] | R. Zambre, M. Grodowitz, A. Chandramowlishwaran, P. Shamis, "Breaking band: a breakdown of high-performance communication", ICPP 2019 (ThunderX2, ConnectX-4) |
| [spin] | S. Boyd-Wickizer, M. F. Kaashoek, R. Morris, N. Zeldovich, "Non-scalable locks are dangerous", Linux Symposium 2012 |
| [smart] | F. Ren, M. Zhang, K. Chen, H. Xia, Z. Chen, Y. Wu, "Scaling up memory disaggregated applications with SMART", ASPLOS 2024 (ConnectX-6) |
| [Haswell] | D. Molka, D. Hackenberg, R. Schöne, W. E. Nagel, "Cache coherence protocol and memory performance of the Intel Haswell-EP architecture", ICPP 2015 |
| [DDR4] | JEDEC, JESD79-4, DDR4 SDRAM: timings by speed bin |
| [HERD] | A. Kalia, M. Kaminsky, D. G. Andersen, "Using RDMA efficiently for key-value services", SIGCOMM 2014 |
| [IBA] | InfiniBand Architecture Specification, volume 1: packet headers, link rates, timers |
| [limits] | `ibv_devinfo -v`, as posted by users: ConnectX-3 in claudebarthels/infinity issue 5, mlx5 in open-mpi/ompi pull request 6137 and openucx/ucx issue 8229 |
| [Linux] | kernel/sched/fair.c of 3.10, 6.1 and 6.6: the constants are multiplied by 1 + log2 of the number of CPUs, 8 at most |
| [PCIe] | R. Neugebauer, G. Antichi, J. F. Zazo, Y. Audzevich, S. López-Buedo, A. W. Moore, "Understanding PCIe performance for end host networking", SIGCOMM 2018 |
| [rdma-core] | providers/mlx4/qp.c and providers/mlx5/qp.c |
| [SMT] | D. T. Marr et al., "Hyper-Threading technology architecture and microarchitecture", Intel Technology Journal 6 (1), 2002 |
| [switch] | C. Li, C. Ding, K. Shen, "Quantifying the cost of context switch", ExpCS 2007 (3.8 us between processes); about 1.1 to 1.3 us between threads in later measurements by the same method |

## Fields
"""

# Each page: its schema, its text, and whether its table says where defaults come from.
PAGES = {
    ROOT / "docs" / "scenario.md": (ROOT / "scenarios" / "scenario.schema.json", SCENARIO, False),
    ROOT / "docs" / "profile.md": (ROOT / "calibration" / "profiles" / "profile.schema.json", PROFILE, True),
}


def limits(schema):
    if "anyOf" in schema:
        return " or ".join(limits(choice) for choice in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type")
    if kind in ("integer", "number"):
        low = f"above {schema['exclusiveMinimum']:g}" if "exclusiveMinimum" in schema else f"{number(schema['minimum'])}"
        high = f"below {schema['exclusiveMaximum']:g}" if "exclusiveMaximum" in schema else number(schema["maximum"])
        return f"{'whole number' if kind == 'integer' else 'number'}, {low} to {high}"
    if kind == "boolean":
        return "`true`, `false`"
    if kind == "array":
        each = f" of: {limits(schema['items'])}" if "items" in schema else ""
        return f"list{each}"
    if kind == "string":
        return f"text, {schema['maxLength']} characters at most"
    return "object"


def number(value):
    return str(int(value)) if value == int(value) else f"{value:g}"


def definition(schema, part):
    """What a part that only refers to a definition stands for, with its own words first; None for others."""
    if "$ref" not in part:
        return None
    return {**schema["definitions"][part["$ref"].removeprefix("#/definitions/")], **part}


def rows(whole, schema, path, sources, shown):
    blank = " |" if sources else ""
    for name, part in schema["properties"].items():
        field = f"{path}.{name}" if path else name
        meant = definition(whole, part)
        if meant is not None and part["$ref"] in shown:
            yield f"| **`{field}`** | {shown[part['$ref']]} | |{blank} {meant['description']} |"
        elif "properties" in (meant or part):
            if meant is not None:
                shown[part["$ref"]] = f"as `{field}`"
            yield f"| **`{field}`** | | |{blank} {(meant or part)['description']} |"
            yield from rows(whole, meant or part, field, sources, shown)
        else:
            default = f"`{json.dumps(part['default'])}`" if "default" in part else ""
            source = f" {part.get('$comment', '')} |" if sources else ""
            yield f"| `{field}` | {limits(part)} | {default} |{source} {part['description']} |"
            yield from items(part, field, sources)


def items(part, field, sources):
    """The fields of each element, where a list's elements are objects."""
    for name, inner in part.get("items", {}).get("properties", {}).items():
        yield f"| `{field}[].{name}` | {limits(inner)} | |{' |' if sources else ''} {inner['description']} |"


def page(schema_file, introduction, sources):
    schema = json.loads(schema_file.read_text())
    head = ["field", "may be", "default", *(["its source"] if sources else []), "meaning"]
    table = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows(schema, schema, "", sources, {})]
    return introduction + "\n" + "\n".join(table) + "\n"


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(f"usage: {pathlib.Path(__file__).name} [--check]")
    for file, content in PAGES.items():
        text = page(*content)
        if not check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            sys.exit(f"{file} is not what the schema says: run {pathlib.Path(__file__).name}")


if __name__ == "__main__":
    main()
