"""What Schemathesis is told about Folkmoot: ids that exist, waits that are short, and one more check."""

import atexit
import json
import os
import sys
import threading
import zlib

import schemathesis

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, kind_of  # noqa: E402, because it is found only now

with open(os.environ["FOLKMOOT_FUZZ_WORLD"], encoding="utf-8") as file:
    GIVEN = json.load(file)
KNOWN, WORLD = GIVEN["known"], World(GIVEN["url"], GIVEN["role"], GIVEN["receiver"])

WAIT_MS = 5

# Each webhook is told of whatever happens, so that a few hundred of them would leave time for nothing else.
WEBHOOKS_MAX = 10
WEBHOOKS = []

# What answered what, for the summary.
COUNTS = {}
LOCK = threading.Lock()


def draw(what):
    """A number that is chosen by what was drawn, so that the same seed chooses the same."""
    return zlib.crc32(repr(what).encode("utf-8", "surrogatepass"))


def noun_of(path):
    return path.removeprefix("/v1/").split("/")[0]


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Half of the ids are of something that exists: the others are all unknown, and nothing else is tried with them."""
    known = KNOWN.get(noun_of(context.operation.path), [])
    drawn = draw(path_parameters)
    if path_parameters and known and drawn % 2:
        for name in {"id", "digest"} & path_parameters.keys():
            path_parameters[name] = known[(drawn // 2) % len(known)]
    return path_parameters


def is_long(timeout_ms):
    """Only what the server would take is shortened; what it refuses goes as it is."""
    if isinstance(timeout_ms, bool) or not isinstance(timeout_ms, (int, str)) or not str(timeout_ms).isascii():
        return False
    return str(timeout_ms).isdigit() and WAIT_MS < int(timeout_ms) < 2**64


@schemathesis.hook
def before_call(context, case, kwargs):
    path = case.operation.path
    # A wait that fits the description may last a minute, and holds a worker as long.
    if path.endswith("/wait"):
        given = case.body if path == "/v1/gates/wait" else case.query
        if isinstance(given, dict) and is_long(given.get("timeout_ms", 30_000)):
            given["timeout_ms"] = WAIT_MS
    # What was decided, closed or ended once refuses everything. Half of what is changed is new.
    parameters = case.path_parameters or {}
    for name in {"id", "digest"} & parameters.keys():
        if case.operation.method.upper() != "GET" and parameters[name] in KNOWN.get(noun_of(path), []) and draw(case.body) % 2:
            parameters[name] = WORLD.make(kind_of(path))
    # Without the token that the rest of the run is made with, nothing more would be tried.
    if path == "/v1/tokens/{id}" and parameters.get("id") in GIVEN["ours"]:
        parameters["id"] = "token-of-ours"
    if isinstance(case.body, dict):
        aim(path, case.body)


def aim(path, body):
    """Of a hundred drawn addresses and names none is one; half of those that could be are made so."""
    if noun_of(path) == "webhooks" and isinstance(body.get("url"), str):
        # And no message leaves this machine.
        if draw(body) % 2 or body["url"].lower().startswith("http"):
            body["url"] = WORLD.receiver
    if path == "/v1/notify/test" and isinstance(body.get("channel"), str) and draw(body) % 2:
        body["channel"] = GIVEN["channels"][draw(body) // 2 % len(GIVEN["channels"])]


@schemathesis.hook
def after_call(context, case, response):
    with LOCK:
        statuses = COUNTS.setdefault(case.operation.label, {})
        statuses[str(response.status_code)] = statuses.get(str(response.status_code), 0) + 1
        if case.operation.label == "POST /v1/webhooks" and response.status_code == 201:
            WEBHOOKS.append(response.json()["id"])
        spare = [WEBHOOKS.pop(0) for _ in range(len(WEBHOOKS) - WEBHOOKS_MAX)]
    for webhook in spare:
        WORLD.ask("admin", "DELETE", f"/v1/webhooks/{webhook}")


@schemathesis.check
def described_is_understood(ctx, response, case):
    """What fits the description may break a rule, but is never something that the server does not know how to read."""
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code != 422:
        return
    detail = response.json().get("detail", "")
    assert "is not what this takes" not in detail, f"it fits the description, and is refused: {detail}"


@atexit.register
def write_counts():
    with open(os.environ["FOLKMOOT_FUZZ_COUNTS"], "w", encoding="utf-8") as file:
        json.dump(COUNTS, file)
