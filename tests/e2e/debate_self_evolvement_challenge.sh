#!/usr/bin/env bash
# Agents test their own code before others see it: executed tests, mended drafts, and the mended one enters the debate.
# Red when a draft is not refined or kept, its first version enters the debate, tests are believed, or `off` is not off.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_URL FOLKMOOT_AGENT_TOKEN

alone='{max_rounds: 1, agents: 3, answers: 2, tool_calls_max: 0, lessons: false,
        phases: {dehallucination: false, critique: false, review: false, optimization: false, adversarial: false}}'
debate "$(jq -nc --arg topic "$CODE" "{topic: \$topic} + $alone")"
turns "$id"
holds "drafts come before proposals" '([.[].phase] | index("self_evolvement")) < ([.[].phase] | index("proposal"))'
holds "a draft is refined, twice at most" \
    '[.[] | select(.phase == "self_evolvement") | .metadata | select(.part == "refine") | .attempt] | length >= 1 and max <= 3'
author=$(jq -r '[.[] | select(.phase == "self_evolvement")][0].agent_id' <<< "$answer")
mended=$(jq -r --arg author "$author" '[.[] | select(.agent_id == $author and .metadata.part == "refine")] | last | .content' <<< "$answer")
trail "$id"
holds "it is the mended draft that its author enters the debate with" \
    '[.[] | select(.type == "prompt_sent" and .data.cue.part == "proposal" and .agent == $author)][0].data.messages[0].text
     | ($mended | length > 0) and contains($mended)' --arg author "$author" --arg mended "$mended"
answer=$(jq -c --arg author "$author" '[.[] | select(.type == "tool_called" and .data.tool == "tests" and .agent == $author)]' <<< "$answer")
holds "its first tests were executed, and some failed" '.[0].data | .phase == "self_evolvement" and .of > 0 and .passed < .of'
holds "which ones is said by name" '.[0].data | .failed | length > 0 and all(length > 0)'
holds "the refinement was tested again, and passes" '[.[] | select(.data.phase == "self_evolvement")][-1].data | .of > 0 and .passed == .of'
holds "what enters the debate passes at once" '[.[] | select(.data.phase == "proposal")] | length == 0 or (.[0].data | .passed == .of)'
get "/v1/debates/$id/code-versions"
holds "drafts are kept as versions, from one that fails to one that passes" \
    '[.versions[] | select(.code | length > 0)] | length >= 2 and .[0].test_pass_rate < 1 and any(.[]; .test_pass_rate == 1)'
results "$id"
evolved=$(jq -r .code <<< "$answer")

debate "$(jq -nc --arg topic "$CODE" "{topic: \$topic} + $alone + {phases: {dehallucination: false, self_evolvement: false, critique: false, review: false, optimization: false, adversarial: false}}")"
turns "$id"
holds "switched off, nobody tests a draft" '[.[] | select(.phase == "self_evolvement")] | length == 0'
get "/v1/debates/$id/code-versions"
holds "and what an agent comes to by testing is not among the answers" '.versions | length >= 1 and all(.[]; .code != $evolved)' --arg evolved "$evolved"
finish
