#!/usr/bin/env python3
"""Verifies an export of Folkmoot's log: verify.py [FILE, or - for standard input] [a head_hash or checkpoint that you kept]"""
import hashlib, json, sys

FIELDS = "position stream stream_seq type version actor on_behalf_of session command_id at payload prev_hash".split()
path, kept = (sys.argv[1:] + ["-"])[0], [json.loads(text) if "{" in text else {"hash": text} for text in sys.argv[2:]]
position, prev_hash, hashes, problems = 0, "0" * 64, {}, []
for number, line in enumerate(sys.stdin.buffer if path == "-" else open(path, "rb"), 1):
    try:
        event, hasher = json.loads(line), hashlib.sha256()
        if "signature" in event and not kept.append(event):
            continue
        for field in FIELDS + ["token_id"] * (event.get("token_id") is not None):
            text = b"" if event[field] is None else str(event[field]).encode()
            hasher.update(len(text).to_bytes(8, "big") + text)
        if event["position"] != position + 1:
            problems.append(f"event {position + 1} is missing: the log goes on with {event['position']}")
        elif event["prev_hash"] != prev_hash:
            problems.append(f"event {event['position']} does not carry the hash of the event before it")
        if event["hash"] != hasher.hexdigest():
            problems.append(f"event {event['position']} was changed: its content does not give its hash")
        position, prev_hash = int(event["position"]), event["hash"]
        hashes[prev_hash] = position
    except (KeyError, TypeError, ValueError) as error:
        problems.append(f"line {number} is no event: {error!r}")
for known in kept:
    if hashes.get(known["hash"], -1) != known.get("position", hashes.get(known["hash"])):
        problems.append(f"the end is missing, or the past was rewritten: no event has the hash {known['hash']} any more")
print("\n".join(problems) or (f"ok: {position} events, head_hash {prev_hash}" if hashes else "there are no events"))
sys.exit(0 if hashes and not problems else 1)
