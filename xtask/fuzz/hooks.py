"""What Schemathesis is told about Folkmoot: ids that exist, waits that are short, and one more check."""

import atexit
import json
import os
import threading
import zlib

import requests
import schemathesis

with open(os.environ["FOLKMOOT_FUZZ_WORLD"], encoding="utf-8") as file:
    WORLD = json.load(file)

WAIT_MS = 5

# What answered what, for the summary.
COUNTS = {}
LOCK = threading.Lock()


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Half of the ids are of something that exists: the others are all unknown, and nothing else is tried with them."""
    known = WORLD.get(context.operation.path.removeprefix("/v1/").split("/")[0], [])
    # Chosen by what was drawn, so that the same seed chooses the same.
    drawn = zlib.crc32(repr(path_parameters).encode("utf-8", "surrogatepass"))
    if path_parameters and "id" in path_parameters and known and drawn % 2:
        path_parameters["id"] = known[(drawn // 2) % len(known)]
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
    noun, given = path.removeprefix("/v1/").split("/")[0], (case.path_parameters or {}).get("id")
    if case.operation.method.upper() != "GET" and given in WORLD.get(noun, []) and zlib.crc32(repr(case.body).encode()) % 2:
        case.path_parameters["id"] = make(noun, "/adjust" in path or "/pause" in path)
    # Without the token that the rest of the run is made with, nothing more would be tried.
    if path == "/v1/tokens/{id}" and (case.path_parameters or {}).get("id") in WORLD["ours"]:
        case.path_parameters["id"] = "token-of-ours"


def make(noun, draft):
    """Makes one more, and returns its id."""
    who, body = WORLD["new"]["drafts" if draft else noun]
    made = requests.post(f"{WORLD['url']}/v1/{noun}", json=body, headers={"Authorization": f"Bearer {who}"}, timeout=30)
    return made.json()["id"]


@schemathesis.hook
def after_call(context, case, response):
    with LOCK:
        statuses = COUNTS.setdefault(case.operation.label, {})
        statuses[str(response.status_code)] = statuses.get(str(response.status_code), 0) + 1


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
