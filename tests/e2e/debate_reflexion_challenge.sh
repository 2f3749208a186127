#!/usr/bin/env bash
# Reflexion: code fails its tests, its author says why, tries again with that before its eyes, and passes.
# Red when nobody reflects, a reflection is not kept or not shown to who tries again, or tests are believed, not executed.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_URL FOLKMOOT_AGENT_TOKEN

alone='{max_rounds: 1, agents: 3, answers: 2, tool_calls_max: 0, lessons: false,
        phases: {dehallucination: false, critique: false, review: false, optimization: false, adversarial: false}}'
debate "$(jq -nc --arg topic "$CODE" "{topic: \$topic} + $alone")"

turns "$id"
holds "the turns have reflections" '[.[] | select(.reflections != null)] | length >= 1'
holds "each says what went wrong, why, and what will change" \
    '[.[] | select(.reflections != null) | .reflections | .root_cause, .what_went_wrong, .what_to_change] | all(length > 0)'
holds "each stands beside tests that failed when they were executed" \
    '[.[] | select(.reflections != null) | .test_results | tostring | test("fail"; "i")] | all'
reflected=$(jq '[.[] | select(.reflections != null)] | length' <<< "$answer")
author=$(jq -r '[.[] | select(.reflections != null)][0].agent_id' <<< "$answer")
lesson=$(jq -r '[.[] | select(.reflections != null)][0].reflections.what_to_change' <<< "$answer")
retry=$(jq -r --arg author "$author" '[.[] | select(.agent_id == $author and .metadata.part == "refine")] | last | .metadata.step' <<< "$answer")

trail "$id"
holds "the trail has as many reflections as the turns" '[.[] | select(.type == "reflection_generated")] | length == $n' --argjson n "$reflected"
holds "the last retry was shown the first reflection" \
    '[.[] | select(.type == "prompt_sent" and (.step // "" | startswith($retry))) | .data | tostring | contains($lesson[0:60])] | length > 0 and all' \
    --arg retry "$retry" --arg lesson "$lesson"
holds "its tests failed first, and all pass in the end" \
    '[.[] | select(.type == "tool_called" and .data.tool == "tests" and .data.phase == "self_evolvement" and .agent == $author) | .data]
     | (.[0].passed < .[0].of) and (.[-1].passed == .[-1].of) and (.[-1].of > 0)' --arg author "$author"
results "$id"
holds "what won passes all of its tests" '.verdict.tests | .of > 0 and .passed == .of'

# Where nobody may try again nobody reflects: so it was the loop that did it.
debate "$(jq -nc --arg topic "$CODE" "{topic: \$topic, self_evolvement_iterations: 0, reflexion_attempts: 1} + $alone")"
turns "$id"
holds "without another attempt there is no reflection" '[.[] | select(.reflections != null)] | length == 0'
finish
