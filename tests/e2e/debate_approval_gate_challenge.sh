#!/usr/bin/env bash
# Gates: the debate stops, and does not go on before somebody has decided; listed, approved and rejected by both sorts of paths.
# Red when a gate is skipped, its own agent may decide, a no or a timeout counts as a yes, or a retry does not hear why.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_URL FOLKMOOT_AGENT_TOKEN FOLKMOOT_REVIEWER_TOKEN

decide() { call "$FOLKMOOT_REVIEWER_TOKEN" POST "$1" "$2"; }
gated='{topic: "Shall we deploy on Fridays?", preset: "quick", agents: 3, gates: {enabled: true, gate_points: ["proposal", "convergence"]}}'

start "$(jq -nc "$gated")"
until_gate "$id"
holds "it stops after the proposals" '.status == "paused" and .phase == "proposal"'
turns "$id"
before=$(jq length <<< "$answer")
sleep 1
get "/v1/debates/$id/status"
holds "a second later it still waits, undecided" '.status == "paused" and .phase == "proposal"'
turns "$id"
is "and nobody has said anything more" "$(jq length <<< "$answer")" "$before"
call "$FOLKMOOT_AGENT_TOKEN" POST "/v1/debates/$id/approve" '{}'
is "its own agent cannot approve it" "$status" 403

get "/v1/debates/$id/gates"
holds "the gate is listed" '.gates | length == 1 and .[0].status == "pending" and .[0].phase == "proposal"'
get "/v1/debate/$id/gates"
holds "by HelixAgent's path too, with what there is to see" \
    '.gates | length == 1 and (.[0] | .debate_id == $id and .status == "pending" and (.summary | length > 0) and (.artifacts.answers | length == 3))' --arg id "$id"
gate=$(jq -r '.gates[0].id' <<< "$answer")
get "/v1/debate/$id/gates/$gate"
holds "and can be looked at" '.id == $gate and .phase == "proposal"' --arg gate "$gate"
decide "/v1/debate/$id/gates/$gate/approve" '{"reason": "read"}'
is "HelixAgent's path approves it" "$status" 200
holds "and answers in its shape" '.request_id == $gate and .decision == "approved" and .reviewer != "" and .reason == "read"' --arg gate "$gate"
decide "/v1/debate/$id/gates/$gate/reject" '{"reason": "no"}'
is "what is decided stays decided" "$status" 409

until_gate "$id" "$gate"
holds "it goes on, and stops before its verdict" '.status == "paused" and .phase == "convergence"'
get "/v1/debates/$id/results"
is "there is no result before that" "$status" 409
decide "/v1/debates/$id/approve" "{\"reason\": \"good\", \"request_id\": \"$gate\"}"
is "the debate's own path approves it" "$status" 200
until_status "$id" completed
results "$id"
holds "then there is a verdict" '.status == "completed" and (.verdict.winner | length > 0)'
for word in approve reject; do
    decide "/v1/debates/$id/$word" '{"reason": "again"}'
    is "nothing is pending any more: $word is 409" "$status $(jq -r .code <<< "$answer")" "409 no_gate_pending"
done

start "$(jq -nc "$gated")"
until_gate "$id"
decide "/v1/debates/$id/reject" "{\"request_id\": \"$gate\"}"
is "a rejection needs a reason" "$((status / 100))" 4
decide "/v1/debates/$id/reject" "{\"reason\": \"not on Fridays\", \"request_id\": \"$gate\"}"
is "with one it is taken" "$status" 200
until_status "$id" failed
holds "a rejected debate fails, and says by whom and why" '.fault.code == "gate_rejected" and (.fault.message | contains("not on Fridays"))'
turns "$id"
holds "and nobody voted" '[.[] | select(.phase == "convergence")] | length == 0'

start "$(jq -nc "$gated * {gates: {on_rejected: \"retry\"}}")"
until_gate "$id"
decide "/v1/debates/$id/reject" "{\"reason\": \"think of Mondays too\", \"request_id\": \"$gate\"}"
until_gate "$id" "$gate"
trail "$id"
holds "where it may try again, it does, and knows why" \
    '[.[] | select(.type == "prompt_sent" and .data.cue.part == "proposal") | .data.messages | tostring | contains("think of Mondays too")] | any'

start "$(jq -nc "$gated * {gates: {timeout_ms: 1000, on_timeout: \"fail\"}}")"
until_status "$id" failed
holds "nobody decided in time: it fails" '.fault.code == "gate_timed_out"'

debate "$(jq -nc "$gated + {gates: {enabled: false}}")"
get "/v1/debates/$id/gates"
holds "switched off, there is no gate" '.gates == []'
finish
