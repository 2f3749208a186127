#!/usr/bin/env bash
# Red attacks, blue defends, red attacks again, until nothing new is found. An attack counts if its test fails, a defence if it passes then.
# Red when nobody attacks what was mended, attacks go on though nothing new is found, or an attack or a defence counts untested.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_URL FOLKMOOT_AGENT_TOKEN

# Nobody tests their draft before, so that there is something to attack.
team='{max_rounds: 1, answers: 1, tool_calls_max: 0, lessons: false,
       agents: [{id: "ann", role: "proposer"}, {id: "rex", role: "red_team"}, {id: "bea", role: "blue_team"}, {id: "moe", role: "moderator"}]}'
phases='{dehallucination: false, self_evolvement: false, critique: false, review: false, optimization: false}'
debate "$(jq -nc --arg topic "$CODE" "{topic: \$topic, phases: $phases} + $team")"

turns "$id"
answer=$(jq -c '[.[] | select(.phase == "adversarial")]' <<< "$answer")
holds "the red team attacks first" '.[0] | .agent_role == "red_team" and .metadata.part == "attack"'
holds "the blue team defends after it" '.[1] | .agent_role == "blue_team" and .metadata.part == "defence"'
holds "the red team attacks what was defended" '[.[] | select(.metadata.part == "attack") | .metadata.adversarial_round] | length >= 2 and . == ([range(1; length + 1)])'
holds "there are three rounds at most" '[.[].metadata.adversarial_round] | max <= 3'
holds "the first attack that finds nothing is the last" \
    '([.[] | select(.metadata.part == "attack")] | length) == ([.[] | select(.metadata.part == "defence")] | length) + 1'

trail "$id"
answer=$(jq -c '[.[] | select(.data.phase == "adversarial")]' <<< "$answer")
holds "an attack's test was executed, and failed" \
    '[.[] | select(.type == "tool_called" and .data.tool == "tests")][0].data | .of == 1 and .passed == 0 and (.failed | length == 1)'
# That one test alone; only then everybody's tests on what was mended.
holds "on the defence it was executed next, and passes" \
    '[.[] | select(.type == "tool_called" and .data.tool == "tests")][1] | .agent == "bea" and .data.of == 1 and .data.passed == 1'
holds "the phase says how many attacks held and were mended, and why it ended" \
    '[.[] | select(.type == "phase_completed")][0].data.note | test("[1-9][0-9]* attacks? held, [1-9][0-9]* were mended; nothing new was found$")'
get "/v1/debates/$id/code-versions"
holds "what was mended is a version of the code, with what changed" '.versions | length >= 2 and (.[-1].diff_from_previous | test("(?m)^\\+"))'

debate "$(jq -nc --arg topic "$CODE" "{topic: \$topic, phases: ($phases + {adversarial: false})} + $team")"
turns "$id"
holds "switched off, nobody attacks" '[.[] | select(.phase == "adversarial")] | length == 0'
get "/v1/debates/$id/code-versions"
holds "and nothing is mended" '.versions | length == 1'
finish
