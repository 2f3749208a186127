"""What is tried on: something of each kind, made before the fuzzing begins, and one more whenever what there was is used up."""

import http.server
import itertools
import json
import os
import threading
import time
import urllib.error
import urllib.request

TOKENS = {role: f"fuzz-token-of-the-{role}-0123456789" for role in ["viewer", "agent", "reviewer", "admin"]}

# By the first word of an address: all that can be there. Gates come in three kinds, because few verbs take all of them.
KINDS = {
    "gates": ["gate", "draft", "decided"],
    "questions": ["question"],
    "runs": ["run"],
    "halts": ["halt"],
    "tokens": ["token"],
    "webhooks": ["webhook"],
    "deliveries": ["delivery"],
    "artifacts": ["artifact"],
}

# A channel of the configuration that `cargo xtask fuzz` writes; nobody listens where it sends.
CONFIGURED_CHANNEL = "nobody-listens"

NUMBERS = itertools.count()


def kind_of(path):
    """What an operation is best tried on; `None` if it is about nothing that has an id."""
    noun, *rest = path.removeprefix("/v1/").split("/")
    if path.endswith(("/adjust", "/pause")):
        return "draft"
    if path.endswith("/contents"):
        return "decided"
    return KINDS[noun][0] if noun in KINDS and rest and rest[0].startswith("{") else None


class World:
    """A server, who fuzzes it, and where its webhooks can be sent."""

    def __init__(self, url, role, receiver):
        self.url, self.role, self.receiver = url, role, receiver

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

    def done(self, role, method, path, body):
        status, answer = self.ask(role, method, path, body)
        if status not in (200, 201):
            raise RuntimeError(f"{role} cannot {method} {path}: {status} {answer}")
        return answer

    def make(self, kind):
        """Makes one more, and gives its id. What an agent cannot see is of no use to it, so it opens what there is."""
        number = next(NUMBERS)
        # What is erased is not kept again, so that whatever may be erased is said only once.
        once = f"{kind} {os.getpid()}-{number}"
        gate = {"summary": "A gate", "timeout_ms": 86_400_000}
        artifacts = [{"name": "a", "media_type": "text/plain", "content": "a"}]
        match kind:
            case "gate":
                return self.done("agent", "POST", "/v1/gates", gate)["id"]
            case "draft":
                allowed = ["approve", "reject", "adjust", "pause"]
                draft = {**gate, "kind": "checkpoint", "allowed": allowed, "artifacts": artifacts}
                return self.done("agent", "POST", "/v1/gates", draft)["id"]
            case "decided" | "artifact":
                shown = {**gate, "summary": once, "artifacts": [{**artifacts[0], "content": once}]}
                opened = self.done("agent", "POST", "/v1/gates", shown)
                self.done("reviewer", "POST", f"/v1/gates/{opened['id']}/approve", {})
                return opened["id"] if kind == "decided" else opened["artifacts"][0]["digest"]
            case "question":
                asked = {"type": "CLARIFYING", "text": "A question"}
                if number % 3:
                    asked = {**asked, "type": ["BLOCKING", "APPROVAL"][number % 2], "agent_id": f"asker-{number}"}
                return self.done("agent", "POST", "/v1/questions", asked)["id"]
            case "run":
                # Only who started a run executes it.
                return self.done(self.role, "POST", "/v1/runs", {"title": "A run"})["id"]
            case "halt":
                halt = {"scope": "agent", "agent_id": "halted", "reason": "to be lifted"}
                return self.done("admin", "POST", "/v1/halts", halt)["id"]
            case "token":
                return self.done("admin", "POST", "/v1/tokens", {"name": "spare", "role": "viewer"})["id"]
            case "webhook":
                # Told of little: each is told of every event that it wants.
                webhook = {"name": f"hook-{os.getpid()}-{number}", "url": self.receiver, "events": ["halt.lifted"]}
                return self.done("admin", "POST", "/v1/webhooks", webhook)["id"]
            case "delivery":
                return self.delivery(f"nobody-{os.getpid()}-{number}")
        raise ValueError(f"nobody knows how to make a {kind}")

    def delivery(self, channel):
        """Nobody answers to such a name, so what is sent to it is dead at once, and can be sent again."""
        told = {"summary": "A gate", "timeout_ms": 86_400_000, "notification_channels": [channel]}
        self.done("agent", "POST", "/v1/gates", told)
        for _ in range(1000):
            listed = self.done("admin", "GET", f"/v1/deliveries?state=dead&channel={channel}", None)["deliveries"]
            if listed:
                return listed[0]["id"]
            time.sleep(0.02)
        raise RuntimeError(f"nothing died that was to go to {channel}")

    def log(self):
        """Every event, as the admin reads it."""
        after = 0
        while after is not None:
            _, page = self.ask("admin", "GET", f"/v1/audit?after={after}&limit=1000")
            yield from page["entries"]
            after = page["next"]


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes whatever webhooks send."""

    protocol_version = "HTTP/1.1"
    taken = itertools.count()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        next(Receiver.taken)
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def receive():
    """Listens from now on, on this machine alone; gives its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/hook"
