#!/usr/bin/env bash
# What a debate kept can be read when it is over, and also after the server was killed; a debate that waited then is decided after it.
# Red when a restart loses a turn or a version, or leaves alone what waited at a gate.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_BIN

# Everything that can be read of a debate, in one text. Who is asked and when does not change it.
all() {
    local path
    for path in "" /turns?limit=200 /votes /code-versions /results /gates; do
        get "/v1/debates/$1$path"
        [[ "$status" == 200 ]] || echo "$path: $status"
        jq -S . <<< "$answer"
    done
}

serve
debate "$(jq -nc --arg topic "$CODE" '{topic: $topic, max_rounds: 1, agents: 3, answers: 2, phases: {dehallucination: false, review: false, adversarial: false}}')"
over=$id
get "/v1/debates/$over"
holds "the session has its columns" \
    '(.session_id | length > 0) and .status == "completed" and .topology_type == "graph_mesh" and (.coordination_protocol | length > 0)
     and .initiated_by == "robot" and .completed_at != null and .total_rounds == 1 and .final_consensus_score != null
     and .outcome.winner != null and .config.agents != null'
turns "$over"
holds "every turn has its columns" \
    'length > 5 and all(.[]; (.id | length == 36) and .round == 1 and (.phase | length > 0) and (.agent_id | length > 0) and (.agent_role | length > 0)
     and .provider == "rehearsal" and .model == "rehearsal" and (.content | length > 0) and .created_at != null and .response_time_ms >= 0)'
holds "no turn is there twice" '([.[].id] | unique | length) == length'
get "/v1/debates/$over/code-versions"
holds "versions of the code are kept, with their tests" '.versions | length >= 1 and ([.[].version_number] == [range(1; length + 1)]) and all(.[]; (.code | length > 0) and .test_pass_rate != null)'
before=$(all "$over")

start "$(jq -nc '{topic: "Shall we?", preset: "quick", agents: 3, gates: {enabled: true, gate_points: ["proposal"]}}')"
waits=$id
until_gate "$waits"
turns "$waits"
said=$(jq -c '[.[].id]' <<< "$answer")
crash
serve
is "after a kill and a restart, all of it is as it was" "$(all "$over")" "$before"
get "/v1/debates?status=completed"
holds "it is still listed" '[.debates[].id] | index($id) != null' --arg id "$over"
until_gate "$waits"
turns "$waits"
is "the one that waited waits, with what was said" "$(jq -c '[.[].id]' <<< "$answer")" "$said"
call "$FOLKMOOT_REVIEWER_TOKEN" POST "/v1/debates/$waits/approve" "{\"request_id\": \"$gate\"}"
is "its gate can be decided" "$status" 200
until_status "$waits" completed
turns "$waits"
holds "and it ends, with no turn twice" '([.[] | [.round, .phase, .agent_id, .metadata.part]] | unique | length) == length'
finish
