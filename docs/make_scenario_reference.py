#!/usr/bin/env python3
"""Writes docs/scenario.md from scenarios/scenario.schema.json; with --check, says whether it is current."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "scenarios" / "scenario.schema.json"
PAGE = ROOT / "docs" / "scenario.md"

INTRODUCTION = """\
# Scenario files

<!-- Made by docs/make_scenario_reference.py from scenarios/scenario.schema.json: change that file instead. -->

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


def limits(schema):
    if "anyOf" in schema:
        return " or ".join(limits(choice) for choice in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type")
    if kind in ("integer", "number"):
        low = f"above {schema['exclusiveMinimum']:g}" if "exclusiveMinimum" in schema else f"{number(schema['minimum'])}"
        return f"{'whole number' if kind == 'integer' else 'number'}, {low} to {number(schema['maximum'])}"
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


def rows(schema, path):
    for name, part in schema["properties"].items():
        field = f"{path}.{name}" if path else name
        if "properties" in part:
            yield f"| **`{field}`** | | | {part['description']} |"
            yield from rows(part, field)
        else:
            default = f"`{json.dumps(part['default'])}`" if "default" in part else ""
            yield f"| `{field}` | {limits(part)} | {default} | {part['description']} |"


def page():
    schema = json.loads(SCHEMA.read_text())
    table = ["| field | may be | default | meaning |", "| --- | --- | --- | --- |", *rows(schema, "")]
    return INTRODUCTION + "\n" + "\n".join(table) + "\n"


def main():
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit(f"{PAGE} is not what the schema says: run {pathlib.Path(__file__).name}")
    elif sys.argv[1:]:
        sys.exit(f"usage: {pathlib.Path(__file__).name} [--check]")
    else:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
