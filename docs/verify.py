#!/usr/bin/env python3
"""Verifies an export of Folkmoot's log: verify.py [FILE, or - for standard input] [a head_hash that you kept]"""
import hashlib, json, sys

FIELDS = "position stream stream_seq type version actor on_behalf_of session command_id at payload prev_hash".split()
path = sys.argv[1] if len(sys.argv) > 1 else "-"
kept = sys.argv[2] if len(sys.argv) > 2 else None
position, prev_hash, hashes, problems = 0, "0" * 64, set(), []
for number, line in enumerate(sys.stdin.buffer if path == "-" else open(path, "rb"), 1):
    try:
        event = json.loads(line)
        hasher = hashlib.sha256()
        for field in FIELDS:
            text = b"" if event[field] is None else str(event[field]).encode()
            hasher.update(len(text).to_bytes(8, "big") + text)
        if event["position"] != position + 1:
            problems.append(f"event {position + 1} is missing: the log goes on with {event['position']}")
        elif event["prev_hash"] != prev_hash:
            problems.append(f"event {event['position']} does not carry the hash of the event before it")
        if event["hash"] != hasher.hexdigest():
            problems.append(f"event {event['position']} was changed: its content does not give its hash")
        position, prev_hash = int(event["position"]), event["hash"]
        hashes.add(prev_hash)
    except (KeyError, TypeError, ValueError) as error:
        problems.append(f"line {number} is no event: {error!r}")
if not hashes or (kept and kept not in hashes):
    problems.append(f"the end is missing: no event has the hash {kept}" if kept else "there are no events")
print("\n".join(problems) or f"ok: {position} events, head_hash {prev_hash}")
sys.exit(1 if problems else 0)
