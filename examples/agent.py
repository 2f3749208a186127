#!/usr/bin/env python3
"""An agent that asks before it works, and stops when people say so: plain HTTP, nothing to install.

It finds this machine's server by itself; FOLKMOOT_URL and FOLKMOOT_TOKEN name another.
"""

import json
import os
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

AGENT = os.environ.get("AGENT", "builder")
SESSION = os.environ.get("SESSION", "nightly")
PACE = float(os.environ.get("PACE", "2"))


def server():
    """Where the server is, and the agent's token: from the environment, or the server's own folder."""
    url, token = os.environ.get("FOLKMOOT_URL"), os.environ.get("FOLKMOOT_TOKEN")
    if url and token:
        return url.rstrip("/"), token
    share = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share"
    folder = pathlib.Path(os.environ.get("FOLKMOOT_DATA") or pathlib.Path(share) / "folkmoot")
    if url or not (folder / "server.json").exists():
        sys.exit("start `folkmoot serve` here, or set both FOLKMOOT_URL and FOLKMOOT_TOKEN")
    url = json.loads((folder / "server.json").read_text())["url"]
    return url, token or json.loads((folder / "tokens.json").read_text())["agent"]["token"]


URL, TOKEN = server()


def call(path, query=None, body=None):
    """Asks the server; for up to a minute also one that is being restarted."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    if body is not None:
        headers["Idempotency-Key"] = str(uuid.uuid4())  # Sent twice, it is done once.
    address = f"{URL}{path}?{urllib.parse.urlencode(query or {})}"
    data = json.dumps(body).encode() if body is not None else None
    for attempt in range(60):
        try:
            with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            if refused.code != 503:
                sys.exit(f"{AGENT}: {json.load(refused)['detail']}")
        except OSError:  # Nobody listens there just now.
            pass
        time.sleep(1)
    sys.exit(f"{AGENT}: {URL} does not answer")  # Whoever cannot ask does not work.


def work(what):
    """One piece of work, if nothing halts this agent; else as soon as it is released."""
    me = {"agent_id": AGENT, "session_id": SESSION}
    clearance = call("/v1/clearance", me)
    if not clearance["can_proceed"]:
        print(f"{AGENT}: halted", flush=True)
        for hold in clearance["blocked_by"]:
            print(f"{AGENT}:   by {hold['id']}: {hold.get('reason') or hold['type']}", flush=True)
        waited = {"reason": "timeout"}
        while waited["reason"] == "timeout":  # Each wait answers at once when there is news, else after a while.
            waited = call("/v1/clearance/wait", {**me, "timeout_ms": 30_000})
        if not waited["cleared"]:
            print(f"{AGENT}: {waited['reason']}")
            sys.exit(3)
        print(f"{AGENT}: released", flush=True)
    print(f"{AGENT}: {what}", flush=True)
    time.sleep(PACE)


def ask(kind, text, **more):
    """Asks people, and waits until the question is answered, denied or closed in another way."""
    question = {"type": kind, "text": text, "agent_id": AGENT, "session_id": SESSION, **more}
    question = call("/v1/questions", body=question)
    print(f"{AGENT}: asking: {text} ({question['id']})", flush=True)
    while question["closed"] is None:
        question = call(f"/v1/questions/{question['id']}/wait", {"timeout_ms": 30_000})
    if question["status"] == "denied":  # It halts this agent until that says that it has heard it.
        call(f"/v1/questions/{question['id']}/acknowledge", body={})
    return question


work("reading the code")

# A BLOCKING question halts this agent until somebody answers.
colour = ask("BLOCKING", "Which colour for the button?", options=["red", "blue"])
if colour["status"] != "answered":
    print(f"{AGENT}: not painting: {colour['status']} by {colour['closed']['by']}")
    sys.exit(3)
work(f"painting it {colour['answer']}")

# An APPROVAL halts everyone in the session, and nothing but `approve` lets it pass.
approval = ask("APPROVAL", f"Deploy the {colour['answer']} button?")
if approval["status"] != "answered":
    why = approval["closed"]["reason"]
    print(f"{AGENT}: not deploying: {approval['status']} by {approval['closed']['by']}" + (f": {why}" if why else ""))
    sys.exit(3)
work("deploying")
