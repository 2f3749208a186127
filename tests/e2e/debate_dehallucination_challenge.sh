#!/usr/bin/env bash
# Before anybody answers: what is unclear is asked, and answered, until nobody asks any more; and those who answer then know it.
# Red when nobody is answered, it is asked only once, who answers is not shown it, or `auto` is always on or always off.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_URL FOLKMOOT_AGENT_TOKEN

topic='{topic: "Should we keep our event log in a queue?", max_rounds: 1, preset: "quick", agents: 3}'
debate "$(jq -nc "$topic + {phases: {dehallucination: true}}")"
turns "$id"
answer=$(jq -c '[.[] | select(.phase == "dehallucination")]' <<< "$answer")
holds "somebody asks what is unclear" '.[0].metadata | .part == "clarify" and .clarification_round == 1'
holds "and is not sure enough to begin" '.[0].confidence <= 0.9'
holds "another one answers" '.[1].metadata.part == "clarify_answer" and .[1].agent_id != .[0].agent_id'
holds "there is another round" '[.[] | select(.metadata.part == "clarify") | .metadata.clarification_round] | max >= 2'
holds "it ends when whoever asked is sure, within three rounds" '(.[-1].confidence > 0.9) and ([.[].metadata.clarification_round] | max <= 3)'
trail "$id"
question=$(jq -r '[.[] | select(.type == "response_received" and (.step // "" | test("dehallucination/ask/1")))][0].data.text | fromjson | .questions[0].question' <<< "$answer")
holds "what was asked and answered is in every prompt for an answer" \
    '[.[] | select(.type == "prompt_sent" and .data.cue.part == "proposal") | .data.messages | tostring | contains($question)] | length >= 2 and all' \
    --arg question "$question"
holds "all of it came before the first answer" \
    '([.[] | select(.step // "" | test("dehallucination")) | .position] | max) < ([.[] | select(.type == "prompt_sent" and .data.cue.part == "proposal") | .position] | min)'

debate "$(jq -nc "$topic + {phases: {dehallucination: true}, clarification_rounds: 1}")"
turns "$id"
holds "with one round allowed there is one" '[.[] | select(.phase == "dehallucination") | .metadata.clarification_round] | unique == [1]'

debate "$(jq -nc '{topic: "Tabs or spaces?", max_rounds: 1, preset: "quick", agents: 3, phases: {dehallucination: "auto"}}')"
turns "$id"
simple=$(jq '[.[] | select(.phase == "dehallucination")] | length' <<< "$answer")
debate "$(jq -nc '{topic: "Design somehow a fast, flexible and secure distributed platform that should maybe integrate several payment systems, scale well, and support migration, caching, replication, authentication and various other things, etc.", max_rounds: 1, preset: "quick", agents: 3, phases: {dehallucination: "auto"}}')"
turns "$id"
complex=$(jq '[.[] | select(.phase == "dehallucination")] | length' <<< "$answer")
answer=$(jq -nc --argjson simple "$simple" --argjson complex "$complex" '{simple: $simple, complex: $complex}')
holds "left to itself, it is skipped for what is simple, and not for what is complex" '.simple == 0 and .complex > 0'
finish
