#!/usr/bin/env bash
# The tree: one root, leads beneath it, specialists beneath them; phases are led by whose concern they are, and subtrees speak together.
# Red when everybody is right beneath the root, the root leads all, subtrees do not speak together, or words skip parents.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_URL FOLKMOOT_AGENT_TOKEN

team='[{id: "arch", role: "architect"}, {id: "sec", role: "security"}, {id: "perf", role: "performance_analyzer"},
       {id: "moe", role: "moderator"}, {id: "cris", role: "critic"}, {id: "rev", role: "reviewer"},
       {id: "pia", role: "proposer"}, {id: "gen", role: "generator"}, {id: "opt", role: "optimizer"}, {id: "red", role: "red_team"}]'
topic='{topic: "Should our API version its routes?", max_rounds: 1, phases: {dehallucination: false}}'
debate "$(jq -nc "$topic + {topology: \"tree\", agents: $team}")"

get "/v1/debates/$id"
holds "the session is a tree" '.topology_type == "tree"'
answer=$(jq -c '.metadata.tree' <<< "$answer")
holds "everybody has a place in it" 'length == 10 and ([.[].agent_id] | unique | length == 10)'
holds "there is one root, the architect" '[.[] | select(.parent == null)] | length == 1 and .[0].agent_id == "arch" and .[0].level == 0'
holds "everybody else is one level beneath a parent who is there" \
    '. as $tree | [.[] | select(.parent != null) | . as $node | ($tree[] | select(.agent_id == $node.parent)).level == $node.level - 1] | length == 9 and all'
holds "there are leads and specialists" '[.[].level] | max >= 2'
holds "parents and children name each other" \
    '. as $tree | [.[] | . as $node | (.children // [])[] as $child | ($tree[] | select(.agent_id == $child)).parent == $node.agent_id] | length == 9 and all'
tree=$answer

trail "$id"
answer=$(jq -c '[.[] | select(.type == "phase_started") | .data]' <<< "$answer")
holds "critique is led by the lead for security" '[.[] | select(.phase == "critique")][0].leader == "sec"'
holds "optimization is led by the lead for performance" '[.[] | select(.phase == "optimization")][0].leader == "perf"'
holds "the rest is led by the root" '[.[] | select(.phase == "proposal" or .phase == "convergence") | .leader] | length == 2 and all(. == "arch")'
holds "those who vote in one group are of one subtree" \
    '[.[] | select(.phase == "convergence")][0].speakers
     | length >= 2 and all(.[]; map(. as $who | $tree[] | select(.agent_id == $who) | if .level <= 1 then .agent_id else .parent end) | unique | length == 1)' \
    --argjson tree "$tree"
trail "$id"
voted=$(jq '[.[] | select(.type == "phase_completed" and .data.phase == "convergence")][0].data.messages' <<< "$answer")

# The same debate where everybody hears everybody: what siblings say to each other goes through their parent only in a tree.
debate "$(jq -nc "$topic + {topology: \"graph_mesh\", agents: $team}")"
get "/v1/debates/$id"
holds "a mesh has no tree" '.topology_type == "graph_mesh" and .metadata.tree == []'
trail "$id"
holds "and takes fewer messages for its votes than the tree's $voted" \
    '[.[] | select(.type == "phase_completed" and .data.phase == "convergence")][0].data.messages < $voted' --argjson voted "$voted"
finish
