#!/usr/bin/env bash
# The trail: everything that happened in a debate, prompts in full, in order; complete enough that it can be replayed without a model.
# Red when the trail lacks prompts, votes or decisions, a prompt is not whole, or a replay ends otherwise.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_URL FOLKMOOT_AGENT_TOKEN FOLKMOOT_REVIEWER_TOKEN

start "$(jq -nc --arg topic "$CODE" '{topic: $topic, max_rounds: 1, agents: 5, answers: 1, lessons: false, phases: {dehallucination: true},
    gates: {enabled: true, gate_points: ["convergence"]}}')"
until_gate "$id"
get "/v1/debates/$id/replay"
holds "of a debate that waits, a replay says where" '.same == false and .differs == null and .waiting_at != null and .calls > 10'
call "$FOLKMOOT_REVIEWER_TOKEN" POST "/v1/debates/$id/approve" "{\"reason\": \"read it\", \"request_id\": \"$gate\"}"
until_status "$id" completed

get "/v1/debates/$id/audit?limit=1"
types=$(jq -c .summary.types <<< "$answer")
holds "the summary counts types, agents and models" '(.summary.types | length >= 12) and (.summary.agents | length >= 4) and .summary.models["rehearsal/rehearsal"] > 10'
turns "$id"
turns=$answer
get "/v1/debates/$id/votes"
votes=$answer

trail "$id"
for type in debate_started round_started phase_started prompt_sent response_received tool_called reflection_generated vote_cast gate_decision \
    phase_completed round_completed debate_completed; do
    holds "there is $type" 'any(.[]; .type == $type)' --arg type "$type"
done
holds "the pages have as many of each type as the summary says" '(group_by(.type) | map({key: .[0].type, value: length}) | from_entries) == $types' --argjson types "$types"
holds "they are in the order of the log" '[.[].position] | . == sort'
holds "all eight phases began and ended" \
    '([.[] | select(.type == "phase_started") | .data.phase] == ["dehallucination", "self_evolvement", "proposal", "critique", "review", "optimization", "adversarial", "convergence"])
     and ([.[] | select(.type == "phase_completed")] | length == 8)'
holds "every prompt is there in full, with its topic" '[.[] | select(.type == "prompt_sent") | .data.messages | tostring | contains("parse_duration")] | length > 10 and all'
holds "every prompt has what was answered to it" \
    '([.[] | select(.type == "prompt_sent") | .step] | sort) == ([.[] | select(.type == "response_received" or (.type == "error_occurred" and .step != null)) | .step] | sort)'
holds "every answer names its model and its version" '[.[] | select(.type == "response_received") | .data] | all(.model == "rehearsal" and (.version | length > 0) and .usage.input_tokens > 0)'
holds "every turn has its prompt in the trail" \
    '[.[] | select(.type == "prompt_sent") | .step] as $steps | [$turns[].metadata.step as $turn | any($steps[]; startswith($turn))] | length > 10 and all' --argjson turns "$turns"
holds "every vote is there as it was cast" '[.[] | select(.type == "vote_cast") | [.data.voter, .data.ranking]] == [$votes.votes[] | [.voter, .ranking]]' --argjson votes "$votes"
holds "who decided at the gate, and why" '[.[] | select(.type == "gate_decision")][0].data | .decision == "approved" and .reason == "read it" and (.reviewer | length > 0)'
get "/v1/debates/$id/audit?type=vote_cast"
holds "a type can be asked for alone" '.entries | length > 0 and all(.[]; .type == "vote_cast")'

results "$id"
verdict=$(jq -Sc .verdict <<< "$answer")
get "/v1/debates/$id/replay"
holds "replayed without any model it ends the same" '.same == true and .differs == null and .calls > 20'
is "with the same verdict, to the last number" "$(jq -Sc .verdict <<< "$answer")" "$verdict"
finish
