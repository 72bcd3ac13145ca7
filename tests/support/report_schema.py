"""Whether a report follows its schema."""

import json
import pathlib

SCHEMA = pathlib.Path(__file__).parents[2] / "core" / "report" / "report.schema.json"


def follows(value, schema, definitions, where=""):
    """What of `value` does not follow the schema, as texts: the keywords that the report's schema uses."""
    if "$ref" in schema:
        return follows(value, definitions[schema["$ref"].rsplit("/", 1)[1]], definitions, where)
    wrong = []
    if "anyOf" in schema and all(follows(value, option, definitions) for option in schema["anyOf"]):
        wrong.append(f"{where}: follows none of the alternatives")
    if "not" in schema and not follows(value, schema["not"], definitions):
        wrong.append(f"{where}: follows what it must not")
    types = schema.get("type", [])
    kinds = {
        "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
        "integer": int, "number": (int, float),
    }  # fmt: skip
    types = [types] if isinstance(types, str) else types
    is_bool = isinstance(value, bool)
    if types and not any(isinstance(value, kinds[t]) and (not is_bool or t == "boolean") for t in types):
        return [f"{where}: {value!r} is no {types}"]
    if "const" in schema and value != schema["const"]:
        wrong.append(f"{where}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        wrong.append(f"{where}: {value!r} is none of {schema['enum']}")
    if "minimum" in schema and value < schema["minimum"] or "maximum" in schema and value > schema["maximum"]:
        wrong.append(f"{where}: {value} is out of range")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        wrong += [f"{where}/{name}: missing" for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            more = schema.get("additionalProperties", True)
            if name in properties:
                wrong += follows(member, properties[name], definitions, f"{where}/{name}")
            elif more is False:
                wrong.append(f"{where}/{name}: unknown")
            elif isinstance(more, dict):
                wrong += follows(member, more, definitions, f"{where}/{name}")
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            wrong += follows(item, schema["items"], definitions, f"{where}/{index}")
    return wrong


def schema_problems(report):
    schema = json.loads(SCHEMA.read_text())
    return follows(report, schema, schema["definitions"])
