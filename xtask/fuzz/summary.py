"""What several runs of fuzz.py came to: `python summary.py FOLDER...`. Ends with 1 if an operation was never tried with success."""

import json
import os
import sys

# What no role can do here, and why.
NEVER = {
    "POST /v1/runs/{id}/resume": "only a run that has stopped can be resumed, and no workflow is here that would stop",
}


def main():
    reached, known, failed = set(), set(), False
    print(f"{'database-role':18} {'operations':>10} {'calls':>8} {'2xx':>8} {'4xx':>8} {'5xx':>5} {'crossed':>8} {'seconds':>8}")
    for folder in sys.argv[1:]:
        try:
            with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
                result = json.load(file)
        except FileNotFoundError:
            print(f"{os.path.basename(folder):18} did not come to an end")
            failed = True
            continue
        of = {"2": 0, "4": 0, "5": 0}
        for operation, statuses in result["counts"].items():
            known.add(operation)
            for status, count in statuses.items():
                of[status[0]] = of.get(status[0], 0) + count
                if status[0] == "2":
                    reached.add(operation)
        calls = sum(of.values())
        print(
            f"{os.path.basename(folder):18} {len(result['counts']):10} {calls:8} {of['2']:8} {of['4']:8} {of['5']:5}"
            f" {result['crossed']:8} {result['seconds']:8.0f}"
        )
    for operation in sorted(known - reached):
        if operation in NEVER:
            print(f"never with success: {operation}: {NEVER[operation]}")
        elif len(sys.argv) > 3:
            print(f"WRONG: {operation} was never tried with success, so that nothing behind its door was tried")
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
