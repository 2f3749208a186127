#!/usr/bin/env bash
# Nothing hangs: many debates of every sort at once, models that never answer, gates that nobody decides; all of it ends within a bound.
# Red when a debate's time never ends, a gate's timeout never comes, a vote hangs, or a silent model's process is left.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_BIN

serve '
[providers.silent]
kind = "command"
command = ["sleep", "600"]
'
declare -A wanted
for number in $(seq 6); do
    for topology in graph_mesh star chain tree; do
        start "$(jq -nc --arg n "$number" --arg topology "$topology" \
            '{topic: "Motion \($n) by \($topology): shall we keep it?", topology: $topology, agents: (3 + ($n | tonumber) % 5), max_rounds: 1, max_parallel: (1 + ($n | tonumber) % 3)}')"
        wanted[$id]=completed
    done
done
begun=$SECONDS
for _ in 1 2 3; do
    start '{"topic": "A model that never answers", "provider": "silent", "preset": "quick", "agents": 3, "timeout_ms": 2000}'
    wanted[$id]=limit_exceeded
    start '{"topic": "Nobody decides", "preset": "quick", "agents": 3, "gates": {"enabled": true, "gate_points": ["proposal"], "timeout_ms": 1000, "on_timeout": "fail"}}'
    wanted[$id]=gate_timed_out
done
start '{"topic": "One agent whose model never answers", "preset": "quick", "timeout_ms": 4000,
        "agents": [{"id": "ann", "role": "proposer"}, {"id": "mute", "role": "critic", "provider": "silent"}, {"id": "moe", "role": "moderator"}]}'
wanted[$id]=limit_exceeded
start '{"topic": "A model that never answers, cancelled", "provider": "silent", "preset": "quick", "agents": 3}'
cancelled=$id
wanted[$id]=cancelled

get /healthz
is "the server answers meanwhile" "$status" 200
call "$FOLKMOOT_REVIEWER_TOKEN" DELETE "/v1/debates/$cancelled"
is "one that waits for its model can be cancelled" "$status" 200

wrong=()
for id in "${!wanted[@]}"; do
    until_status "$id" completed failed cancelled
    seen=$(jq -r 'if .status == "failed" then .fault.code else .status end' <<< "$answer")
    [[ "$seen" == "${wanted[$id]}" ]] || wrong+=("$id is $seen, not ${wanted[$id]}")
done
is "${#wanted[@]} debates end as they must: decided, out of time, or cancelled" "${wrong[*]}" ""
echo "       $((SECONDS - begun)) s for all of them"

answer=$(for status in pending running paused; do get "/v1/debates?status=$status"; jq -c .debates <<< "$answer"; done | jq -sc add)
holds "none is left that goes on or waits" '. == []'
# What was asked of the silent model was dropped with its debate.
left=0
for _ in $(seq 50); do
    # ps fails where it finds none.
    left=$({ ps -o pid= --ppid "$server" || true; } | wc -l)
    ((left > 0)) || break
    sleep 0.1
done
is "no process of a silent model is left" "$left" 0
start '{"topic": "Does it still work?", "preset": "quick", "agents": 3}'
until_status "$id" completed
say ok "and the next debate is held"
finish
