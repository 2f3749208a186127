"""Fuzzes a running server from its own description as one role, and then asks whether all is as it should be.

    python fuzz.py URL ROLE EXAMPLES SECONDS SEED FOLDER

Started by `cargo xtask fuzz`, which starts the server too, with a token of each role; this ends with 1 if something is wrong.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))

TOKENS = {role: f"fuzz-token-of-the-{role}-0123456789" for role in ["viewer", "agent", "reviewer", "admin"]}

# How many of each there are before the fuzzing begins.
WORLD_SIZE = 40

class Server:
    def __init__(self, url):
        self.url = url

    def ask(self, role, method, path, body=None):
        """The status and the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("Authorization", f"Bearer {TOKENS[role]}")
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text[:1] in b"{[" else text.decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def make(self, role, path, body):
        status, answer = self.ask(role, "POST", path, body)
        if status not in (200, 201):
            sys.exit(f"fuzz: {role} cannot POST {path}: {status} {answer}")
        return answer["id"]

    def log(self):
        """Every event, as the admin reads it."""
        after = 0
        while after is not None:
            _, page = self.ask("admin", "GET", f"/v1/audit?after={after}&limit=1000")
            yield from page["entries"]
            after = page["next"]


def populate(server, role):
    """Something of each kind to be tried on. What an agent cannot see is of no use to it, so it opens what there is."""
    gate = {"summary": "A gate", "timeout_ms": 86_400_000}
    artifacts = [{"name": "a", "media_type": "text/plain", "content": "a"}]
    draft = {**gate, "kind": "checkpoint", "allowed": ["approve", "reject", "adjust", "pause"], "artifacts": artifacts}
    makes = {
        "gates": ("agent", gate),
        "drafts": ("agent", draft),
        "questions": ("agent", {"type": "CLARIFYING", "text": "A question"}),
        # Only who started a run executes it.
        "runs": (role, {"title": "A run"}),
        "halts": ("admin", {"scope": "agent", "agent_id": "halted", "reason": "to be lifted"}),
        "tokens": ("admin", {"name": "spare", "role": "viewer"}),
    }
    world = {noun: [] for noun in makes if noun != "drafts"}
    for n in range(WORLD_SIZE):
        for noun, (who, body) in makes.items():
            path = "gates" if noun == "drafts" else noun
            if noun == "questions" and n % 3:
                body = {**body, "type": ["BLOCKING", "APPROVAL"][n % 2], "agent_id": f"asker-{n}"}
            world[path].append(server.make(who, f"/v1/{path}", body))
    _, listed = server.ask("admin", "GET", "/v1/tokens")
    world["ours"] = [token["id"] for token in listed["tokens"] if token["id"] not in world["tokens"]]
    world["new"] = {noun: (TOKENS[who], body) for noun, (who, body) in makes.items()}
    world["url"] = server.url
    return world


def main():
    url, role, examples, seconds, seed, folder = sys.argv[1:]
    server = Server(url)
    world = populate(server, role)
    before = sum(1 for _ in server.log())
    paths = {name: os.path.join(folder, f"{name}.json") for name in ["world", "counts", "report"]}
    with open(paths["world"], "w", encoding="utf-8") as file:
        json.dump(world, file)

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
    found, crossed = after(server, role, before)
    problems += found
    counts = {}
    if os.path.exists(paths["counts"]):
        with open(paths["counts"], encoding="utf-8") as file:
            counts = json.load(file)
    report(role, counts, took)
    with open(os.path.join(folder, "result.json"), "w", encoding="utf-8") as file:
        json.dump({"counts": counts, "crossed": crossed, "seconds": took}, file)
    for problem in problems:
        print(f"  WRONG: {problem}")
    sys.exit(1 if problems else 0)


def after(server, role, before):
    """What does not hold although it must whatever was sent, and how many did what they may not."""
    if server.ask("admin", "GET", "/readyz")[0] != 200:
        return ["the server is not ready any more"], 0
    problems = []
    status, verified = server.ask("viewer", "GET", "/v1/audit/verify")
    if status != 200 or not verified["ok"]:
        problems.append(f"the log does not verify: {status} {verified}")
    _, listed = server.ask("admin", "GET", "/v1/tokens")
    roles = {token["name"]: token["role"] for token in listed["tokens"]}
    crossed, written = [], 0
    for event in server.log():
        written += 1
        # `system`, `timeout` and their like are no principals.
        actor = roles.get(event["actor"])
        if actor and not might(event["type"], event["actor"], actor, json.loads(event["payload"])):
            crossed.append(f"{event['type']} by {event['actor']} ({actor}) at {event['position']}")
    print(f"  {role}: {written - before} events written, {len(crossed)} cross-role successes")
    problems += [f"cross-role: {line}" for line in crossed[:10]]
    if written <= before:
        problems.append("nothing was written: the run proves nothing")
    return problems, len(crossed)


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
    if event in ("halt.raised", "halt.lifted", "token.created", "token.revoked"):
        return role == "admin"
    return role != "viewer" or event.endswith(".refused")


def report(role, counts, took):
    calls = sum(sum(statuses.values()) for statuses in counts.values())
    print(f"  {role}: {len(counts)} operations, {calls} calls in {took:.0f} s")
    for operation, statuses in sorted(counts.items()):
        told = "  ".join(f"{status}×{count}" for status, count in sorted(statuses.items()))
        print(f"    {operation:42} {told}")


if __name__ == "__main__":
    main()
