#!/usr/bin/env python3
"""Checks a receipt of Folkmoot without Folkmoot: check_receipt.py RECEIPT KEY.pem    (needs openssl 3 on the path)"""
import base64, hashlib, json, subprocess, sys, tempfile

FIELDS = "position stream stream_seq type version actor on_behalf_of session command_id at payload prev_hash".split()

def unambiguous(members):
    twice = len(dict(members)) < len(members)
    return sys.exit("this is no receipt: a member is there twice") if twice else dict(members)

receipt, key, problems = json.load(open(sys.argv[1], "rb"), object_pairs_hook=unambiguous), sys.argv[2], []

def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()

def check(holds, problem):
    problems.extend([] if holds else [problem])

def signed(statement):
    with tempfile.NamedTemporaryFile() as text, tempfile.NamedTemporaryFile() as signature:
        text.write(canonical({name: statement[name] for name in statement if name != "signature"}))
        signature.write(base64.b64decode(statement["signature"]))
        text.flush(), signature.flush()
        verify = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", text.name, "-sigfile", signature.name]
        return subprocess.run(verify, capture_output=True).returncode == 0

check(signed(receipt) and receipt["type"] == "folkmoot.receipt.v1", "the receipt was not signed with this key")
check(signed(receipt["checkpoint"]), "its checkpoint was not signed with this key")
erased, opened, decided = set(), [], None
for event in receipt["events"]:
    hasher, payload = hashlib.sha256(), json.loads(event["payload"], object_pairs_hook=unambiguous)
    for field in FIELDS + ["token_id"] * (event.get("token_id") is not None):
        text = b"" if event[field] is None else str(event[field]).encode()
        hasher.update(len(text).to_bytes(8, "big") + text)
    check(event["hash"] == hasher.hexdigest(), f"event {event['position']} was changed")
    check(event["position"] <= receipt["checkpoint"]["position"], f"event {event['position']} is after the checkpoint")
    erased |= set(payload.get("digests", [payload.get("digest")]) if event["type"].startswith("artifact") else [])
    if event["type"] in ("gate.opened", "gate.amended"):
        opened.append(payload["digest"])
    decided = payload["decision"] if event["type"] == "gate.decided" else decided
check(receipt["decision"] == decided, "the decision is not the one in the events")
check([shown["digest"] for shown in receipt["shown"]] == opened, "what was shown is not what the events say")
for shown in receipt["shown"]:
    for content in [shown["summary"]] + shown["artifacts"]:
        data = bytes.fromhex(content["hex"]) if "hex" in content else content["text"] and content["text"].encode()
        gone = content["text"] is None and "hex" not in content
        check(content["digest"] in erased if gone else sha256(data or b"") == content["digest"], f"{content['digest']} is not shown")
    artifacts = [{"media_type": a["media_type"], "name": a["name"], "sha256": a["digest"][7:]} for a in shown["artifacts"]]
    names = "allowed kind on_timeout phase quorum reviewers risk title".split()
    digest = sha256(canonical({name: shown[name] for name in names} | {"artifacts": artifacts, "summary": shown["summary"]["text"]}))
    check(digest == shown["digest"] or shown["summary"]["text"] is None, f"revision {shown['revision']} has the digest {digest}")
if decided:
    check(decided["digest"] == receipt["shown"][decided["revision"] - 1]["digest"], "it was decided on something else")
said = f"{decided['decision']} by {decided['reviewer']} at {decided['decided_at']}" if decided else "not decided yet"
said += f", shown by {decided['presence']}" if decided and "presence" in decided else ""
print("\n".join(problems) or f"ok: {receipt['gate']} {said}")
sys.exit(1 if problems else 0)
