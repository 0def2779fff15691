#!/usr/bin/env python3
"""Validates answers of the API against its schema, src/api/port/openapi.json. The helpers of the tests
call check() for each answer that they get, so a field that the schema lacks fails a test.

If MUSTER_API_REACHED names a directory, each test program writes there which answers it got:

    MUSTER_API_REACHED=reached ctest -R 'live|view' ; tests/api_schema.py reached

lists the operations and statuses that no test reached.
"""

import atexit
import functools
import json
import os
import pathlib
import re
import sys
import urllib.parse

import jsonschema

SCHEMA = pathlib.Path(__file__).resolve().parent.parent / "src/api/port/openapi.json"
ANYWHERE = (405, 408, 431)  # Statuses that every call may have; see the schema's description.
JSON = "application/json"

_reached = set()  # Pairs of operationId and status.


@functools.cache
def document():
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def resolve(node):
    while "$ref" in node:
        target = document()
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def closed(node):
    """Returns the schema without references. Objects may have only the properties that it names."""
    if isinstance(node, list):
        return [closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {key: closed(value) for key, value in resolve(node).items()}
    for part in node.pop("allOf", ()):
        node["properties"] = {**node.get("properties", {}), **part["properties"]}
        node["required"] = node.get("required", []) + part.get("required", [])
    if "properties" in node:
        node["type"] = "object"
        node.setdefault("additionalProperties", False)
    return node


@functools.cache
def operations():
    """Triples of method, pattern of the path, and operation."""
    found = []
    for path, methods in document()["paths"].items():
        pattern = re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))
        found += [(method.upper(), pattern, operation) for method, operation in methods.items()
                  if method != "parameters"]
    return found


def find_operation(method, path):
    for known, pattern, operation in operations():
        if known == method and pattern.fullmatch(path):
            return operation
    return None


@functools.cache
def validator(operation_id, status):
    """The validator of JSON answers; of errors that are not documented for the call too."""
    responses = next(each for _, _, each in operations()
                     if each["operationId"] == operation_id)["responses"]
    schema = document()["components"]["schemas"]["Error"]
    if str(status) in responses:
        schema = resolve(responses[str(status)])["content"][JSON]["schema"]
    return jsonschema.Draft202012Validator(closed(schema))


def check(method, target, status, kind, text, also=()):
    """Raises AssertionError unless the answer is as the schema has it. `kind` is its Content-Type.
    `also`: more statuses that are errors, where something else than a manager answers."""
    path = urllib.parse.urlsplit(target).path
    operation = find_operation("GET" if method == "HEAD" else method, path)
    if operation is None:
        return  # A file of the dashboard, or no such address.
    what = f"{method} {target}: {status}"
    name, responses = operation["operationId"], operation["responses"]
    documented = str(status) in responses
    assert documented or status in (*ANYWHERE, *also), f"{what}: a status not in the schema"
    _reached.add((name, status))
    kind = (kind or "").split(";")[0]
    kinds = resolve(responses[str(status)])["content"] if documented else {JSON: {}}
    assert kind in kinds, f"{what}: a Content-Type not in the schema: {kind}"
    if kind != JSON or method == "HEAD":
        return
    for error in validator(name, status).iter_errors(json.loads(text)):
        where = "/".join(map(str, error.absolute_path))
        raise AssertionError(f"{what}: not as in the schema: {where}: {error.message[:1000]}")


def list_missing(directory):
    """Lines with the documented answers that no file in the directory lists."""
    reached = {tuple(line.split()) for file in pathlib.Path(directory).iterdir()
               for line in file.read_text().splitlines()}
    lines = []
    for _, _, operation in operations():
        missing = [status for status in operation["responses"]
                   if (operation["operationId"], status) not in reached]
        if missing:
            lines.append(f"{operation['operationId']}: {' '.join(missing)}")
    return lines


def write_reached():
    directory = os.environ.get("MUSTER_API_REACHED")
    if directory and _reached:
        pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
        lines = [f"{operation} {status}\n" for operation, status in sorted(_reached)]
        file = f"{pathlib.Path(sys.argv[0]).stem}.{os.getpid()}"
        (pathlib.Path(directory) / file).write_text("".join(lines))


atexit.register(write_reached)

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("No test reached:", *list_missing(sys.argv[1]), sep="\n  ")
