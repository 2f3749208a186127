"""Fuzzes a running server from its own description as one role, and then asks whether all is as it should be.

    python fuzz.py URL ROLE EXAMPLES SECONDS SEED FOLDER

Started by `cargo xtask fuzz`, which starts the server too, with a token of each role; this ends with 1 if something is wrong.
"""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import time

from world import CONFIGURED_CHANNEL, KINDS, TOKENS, Receiver, World, receive

HERE = os.path.dirname(os.path.abspath(__file__))

# How many of each kind there are before the fuzzing begins.
WORLD_SIZE = 40


def populate(world):
    """Something of each kind to be tried on, by noun, as hooks.py wants it."""
    known = {noun: [] for noun in KINDS}
    for _ in range(WORLD_SIZE):
        for noun, kinds in KINDS.items():
            known[noun] += [world.make(kind) for kind in kinds]
    tokens = world.done("admin", "GET", "/v1/tokens", None)["tokens"]
    webhooks = world.done("admin", "GET", "/v1/webhooks", None)["webhooks"]
    return {
        "url": world.url,
        "role": world.role,
        "receiver": world.receiver,
        "known": known,
        "ours": [token["id"] for token in tokens if token["id"] not in known["tokens"]],
        "channels": [webhook["name"] for webhook in webhooks] + [CONFIGURED_CHANNEL],
    }


def main():
    url, role, examples, seconds, seed, folder = sys.argv[1:]
    world = World(url, role, receive())
    try:
        populated = populate(world)
    except RuntimeError as error:
        sys.exit(f"fuzz: {error}")
    before = sum(1 for _ in world.log())
    paths = {name: os.path.join(folder, f"{name}.json") for name in ["world", "counts", "report"]}
    with open(paths["world"], "w", encoding="utf-8") as file:
        json.dump(populated, file)

    command = [
        os.path.join(os.path.dirname(sys.executable), "schemathesis"),
        f"--config-file={os.path.join(HERE, 'schemathesis.toml')}",
        "run", f"{url}/openapi.json",
        f"--header=Authorization: Bearer {TOKENS[role]}",
        f"--max-examples={examples}", f"--seed={seed}",
        "--workers=2", "--suppress-health-check=all", "--warnings=off", "--generation-database=none", "--no-color",
        "--output-sanitize=false", "--report=json", f"--report-json-path={paths['report']}",
    ]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": os.path.join(HERE, "hooks.py"),
        "FOLKMOOT_FUZZ_WORLD": paths["world"],
        "FOLKMOOT_FUZZ_COUNTS": paths["counts"],
    }
    began = time.monotonic()
    process = subprocess.Popen(command, env=environment, cwd=folder)
    try:
        ended = process.wait(timeout=int(seconds))
    except subprocess.TimeoutExpired:
        # An interrupt lets it say what it has found.
        process.send_signal(signal.SIGINT)
        ended = None
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
    took = time.monotonic() - began

    problems = []
    if ended is None:
        problems.append(f"it was not through after {seconds} seconds; give it more --minutes or fewer --examples")
    elif ended != 0:
        problems.append("Schemathesis found something; see above")
    found, crossed = after(world, role, before)
    problems += found
    counts = {}
    if os.path.exists(paths["counts"]):
        with open(paths["counts"], encoding="utf-8") as file:
            counts = json.load(file)
    found, counts["GET /docs"] = docs(url, int(examples), int(seed))
    problems += found
    report(role, counts, took)
    with open(os.path.join(folder, "result.json"), "w", encoding="utf-8") as file:
        json.dump({"counts": counts, "crossed": crossed, "seconds": took}, file)
    for problem in problems:
        print(f"  WRONG: {problem}")
    sys.exit(1 if problems else 0)


def docs(url, examples, seed):
    """The pages of the documentation are in no description. Their addresses, spoiled, and how often each status was answered."""
    drawn = random.Random(seed)
    good = ["/docs", "/docs/", "/docs/index.html", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js"]
    spoils = ["..%2f", "../", "%00", "%ff", "%", "%2", "//", "/./", "?", "#", "\\", "%0d%0a", "%c3%28", "é", ";", "x" * 3000]
    problems, statuses = [], {}
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    for n in range(examples):
        path = good[n % len(good)]
        for _ in range(drawn.randrange(4)):
            at = drawn.randrange(1, len(path) + 1)
            path = path[:at] + drawn.choice(spoils) + path[at + drawn.randrange(3) :]
        method = drawn.choice(["GET", "GET", "GET", "HEAD", "POST", "OPTIONS"])
        connection.putrequest(method, "/", skip_accept_encoding=True)
        # As it is: the library would refuse what we want to see refused.
        connection._buffer[0] = f"{method} {path} HTTP/1.1".encode()
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        if answer.will_close:
            connection.close()
        statuses[str(answer.status)] = statuses.get(str(answer.status), 0) + 1
        kind = answer.headers.get("Content-Type", "")
        if answer.status >= 500:
            problems.append(f"{method} {path[:200]}: {answer.status}")
        elif answer.status >= 400 and kind != "application/problem+json" and answer.headers.get("Content-Length") != "0":
            problems.append(f"{method} {path[:200]}: {answer.status} with {kind or 'no type'}")
        elif answer.status == 200 and path.startswith("/docs") and "Content-Security-Policy" not in answer.headers:
            problems.append(f"{method} {path[:200]}: 200 without a policy for its content")
    return problems[:10], statuses


def after(world, role, before):
    """What does not hold although it must whatever was sent, and how many did what they may not."""
    if world.ask("admin", "GET", "/readyz")[0] != 200:
        return ["the server is not ready any more"], 0
    problems = []
    status, verified = world.ask("viewer", "GET", "/v1/audit/verify")
    if status != 200 or not verified["ok"]:
        problems.append(f"the log does not verify: {status} {verified}")
    roles = {token["name"]: token["role"] for token in world.done("admin", "GET", "/v1/tokens", None)["tokens"]}
    crossed, written = [], 0
    for event in world.log():
        written += 1
        # `system`, `timeout` and their like are no principals.
        actor = roles.get(event["actor"])
        if actor and not might(event["type"], event["actor"], actor, json.loads(event["payload"])):
            crossed.append(f"{event['type']} by {event['actor']} ({actor}) at {event['position']}")
    print(f"  {role}: {written - before} events written, {len(crossed)} cross-role successes")
    print(f"  {role}: {next(Receiver.taken)} messages were taken by the receiver of the webhooks")
    problems += [f"cross-role: {line}" for line in crossed[:10]]
    if written <= before:
        problems.append("nothing was written: the run proves nothing")
    return problems, len(crossed)


# What only admins do, and what everybody does who may do anything.
ADMINS = ["halt.raised", "halt.lifted", "token.", "webhook.", "delivery.", "artifact."]
WORKERS = [
    "gate.opened", "gate.amended", "gate.extended", "question.asked", "question.fetched", "run.", "step.",
    # These follow from a question, an answer or a halt, in whose commit they are.
    "agent.", "session.", "system.",
]


def might(event, name, role, payload):
    """Whether somebody of this role may have done what the event says. Written down a second time, apart from the rules."""
    decides = role in ("reviewer", "admin")
    if event == "gate.decided" and payload["decision"]["decision"] == "cancelled":
        return decides or payload["requested_by"] == name
    if event in ("gate.decided", "gate.vote"):
        return decides and payload["requested_by"] != name
    if event in ("question.answered", "question.denied"):
        return decides and payload["asked_by"] != name
    if event in ("question.skipped", "question.cancelled"):
        return decides or payload["asked_by"] == name
    if event.startswith(tuple(ADMINS)) and not event.endswith(".refused"):
        return role == "admin"
    # A type that nobody has placed here is wrong until somebody does.
    return event.endswith(".refused") or (role != "viewer" and event.startswith(tuple(WORKERS)))


def report(role, counts, took):
    calls = sum(sum(statuses.values()) for statuses in counts.values())
    print(f"  {role}: {len(counts)} operations, {calls} calls in {took:.0f} s")
    for operation, statuses in sorted(counts.items()):
        told = "  ".join(f"{status}×{count}" for status, count in sorted(statuses.items()))
        print(f"    {operation:42} {told}")


if __name__ == "__main__":
    main()
