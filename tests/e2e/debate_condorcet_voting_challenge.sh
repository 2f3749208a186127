#!/usr/bin/env bash
# Condorcet: whoever beats every other one head to head wins; where nobody does, the method that was asked for decides, and the result
# says so. Every count is checked against the ballots, here and by hand.
# Red when first places decide, what decides instead is not said, a cycle is called a tie, or Borda is not Borda.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_URL FOLKMOOT_AGENT_TOKEN FOLKMOOT_BIN

# Who beats whom by the ballots of a verdict: whoever is ranked beats whoever is not.
recount='
  def place($ranking; $who): ($ranking | index($who)) // 1000;
  def beats($ballots; $one; $other):
    ([$ballots[] | select(place(.; $one) < place(.; $other))] | length) > ([$ballots[] | select(place(.; $other) < place(.; $one))] | length);
  (.elected.points | keys) as $candidates
  | [.ballots[] | select(.refused == null) | .ranking] as $ballots
  | [$candidates[] | . as $one | select(all($candidates[]; . == $one or beats($ballots; $one; .)))] as $winners
  | [$candidates[] | . as $one | select(any($candidates[]; . != $one and beats($ballots; .; $one)) | not)] as $unbeaten
  | {winner: .winner, elected, candidates: ($candidates | length), condorcet: $winners[0], unbeaten: ($unbeaten | length)}'

: > "$folder/verdicts"
batch() {
    local topic ids=()
    for topic in $(seq "$1" $(($1 + 9))); do
        start "$(jq -nc --arg n "$topic" '{topic: "Motion \($n): shall we keep it?", preset: "quick", agents: (6 + ($n | tonumber) % 2), answers: 7,
            voting: "condorcet", voting_fallback: "borda", language: "none"}')"
        ids+=("$id")
    done
    for id in "${ids[@]}"; do
        until_status "$id" completed
        results "$id"
        jq -c ".verdict | $recount" <<< "$answer" >> "$folder/verdicts"
    done
}
# Ballots are as they fall: more debates, until there was everything that can happen.
for first in 1 11 21 31; do
    batch "$first"
    answer=$(jq -sc '[.[] | select(.candidates > 2)]' "$folder/verdicts")
    both=$(jq 'any(.[]; .condorcet != null) and any(.[]; .condorcet == null)' <<< "$answer")
    [[ "$both" != true ]] || break
done
holds "all were counted head to head" 'length > 0 and all(.[]; .elected.method == "condorcet")'
holds "in some debate somebody beats every other one" 'any(.[]; .condorcet != null)'
holds "whoever does wins, and nothing falls back" \
    'all(.[] | select(.condorcet != null); .winner == .condorcet and .elected.fallback == null and .elected.fallback_reason == null)'
holds "in some debate nobody does" 'any(.[]; .condorcet == null)'
holds "Borda decides there, and the result says so" 'all(.[] | select(.condorcet == null); .elected.fallback == "borda")'
holds "a cycle is called a cycle and a tie a tie" \
    'all(.[] | select(.condorcet == null); .elected.fallback_reason == (if .unbeaten == 0 then "condorcet_cycle" else "condorcet_tie" end))'
holds "whoever has most points for each judge is elected then, or a rule that is named told them apart" \
    'all(.[] | select(.condorcet == null);
        ([.elected.points[] | select(.of > 0) | .points / .of] | max) as $most | .elected as $elected
        | ($elected.points[.winner] | .points / .of) == $most and (($elected.first | length == 1) or $elected.tie_break != null))'
jq -r '"       \(length) debates: \([.[] | select(.condorcet != null)] | length) by Condorcet, \([.[] | select(.elected.fallback_reason == "condorcet_cycle")] | length) after a cycle, \([.[] | select(.elected.fallback_reason == "condorcet_tie")] | length) after a tie"' <<< "$answer"

# Ballots that we write, a list for each voter. Nobody ranks their own.
cat > "$folder/voter" << 'END'
name=$1 prompt=$(cat)
shift
number() { awk -v line="the way of $1" '/^\[\[data answer /{n = $3} $0 == line {print n; exit}' <<< "$prompt"; }
case $prompt in
*"Now: vote."*)
    numbers=()
    for choice in "$@"; do numbers+=("$(number "$choice")"); done
    jq -nc '{ranking: $ARGS.positional, confidence: 0.8, evidence: "as it was asked", objection: "none"}' --args "${numbers[@]}"
    ;;
*"Now: propose."*) jq -nc --arg name "$name" '{position: "the way of \($name)", summary: "It is done in the way of \($name).", confidence: 0.8}' ;;
*) jq -nc '{tasks: [{id: "answer", title: "Answer it", depends_on: [], priority: 1}]}' ;;
esac
END
count() {
    serve "$(jq -r --arg voter "$folder/voter" 'to_entries[] | "[providers.\(.key)]\nkind = \"command\"\ncommand = \(["bash", $voter, .key] + .value)\n"' <<< "$1")"
    debate "$(jq -c '{topic: "Whose way do we go?", preset: "quick", answers: 3, voting: "condorcet", voting_fallback: "borda", language: "none",
        agents: [keys[] | {id: ., provider: ., role: (if . <= "cid" then "proposer" elif . == "moe" then "moderator" else "critic" end)}]}' <<< "$1")"
    results "$id"
    answer=$(jq -c .verdict <<< "$answer")
    holds "ballots are cast as we wrote them" '[.ballots[] | {key: .voter, value: .ranking}] | from_entries == $ballots' --argjson ballots "$1"
}
count '{"ann": ["cid", "bob"], "bob": ["ann", "cid"], "cid": ["ann", "bob"],
    "dan": ["ann", "cid", "bob"], "eve": ["bob", "cid", "ann"], "fay": ["bob", "cid", "ann"], "moe": ["cid", "bob", "ann"]}'
holds "ann has most first places, and cid wins, who beats ann and bob by 3 to 2" \
    '([.ballots[].ranking[0]] | group_by(.) | max_by(length)[0]) == "ann" and .winner == "cid" and .elected.fallback == null and .elected.first == ["cid"]'
crash
count '{"ann": ["bob", "cid"], "bob": ["cid", "ann"], "cid": ["ann", "bob"],
    "dan": ["ann", "bob", "cid"], "eve": ["bob", "cid", "ann"], "fay": ["cid", "ann", "bob"], "moe": ["ann", "bob", "cid"]}'
holds "ann beats bob, bob beats cid, and cid beats ann: a cycle, which Borda decides for ann" \
    '.elected.fallback_reason == "condorcet_cycle" and .elected.fallback == "borda" and .winner == "ann"'
finish
