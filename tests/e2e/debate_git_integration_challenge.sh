#!/usr/bin/env bash
# Git: a debate commits its code on a branch of its own, in a worktree of its own; the worktree goes with it, the branch stays, and what
# the user has there is not touched.
# Red when nothing is committed, a worktree is left, the branch goes or ends with what lost, or an agent may have it.
. "$(dirname "$0")/lib.sh"
need FOLKMOOT_URL FOLKMOOT_AGENT_TOKEN FOLKMOOT_REVIEWER_TOKEN
command -v git > /dev/null || { echo "$name needs git; install it first" >&2; exit 1; }

repository="$folder/project"
git() { command git -C "$repository" -c user.name=user -c user.email=user@example.org "$@"; }
mkdir "$repository"
git init -q
echo "# a project" > "$repository/README.md"
git add -A
git commit -q -m "Begin"
main=$(git symbolic-ref --short HEAD)
head=$(git rev-parse HEAD)
worktrees() { git worktree list --porcelain | grep -c '^worktree '; }

# Nobody tests or improves anything before the vote, so that the last version is not the one that wins.
wanted=$(jq -nc --arg topic "$CODE" --arg repository "$repository" '{topic: $topic, repository: $repository, language: "python", max_rounds: 1, answers: 3,
    agents: [{id: "bob", role: "proposer"}, {id: "cid", role: "proposer"}, {id: "dan", role: "proposer"}, {id: "moe", role: "moderator"}],
    phases: {dehallucination: false, self_evolvement: false, critique: false, review: false, optimization: false, adversarial: false},
    gates: {enabled: true, gate_points: ["proposal"]}}')
call "$FOLKMOOT_AGENT_TOKEN" POST /v1/debates "$(jq -c '.provider = "rehearsal"' <<< "$wanted")"
is "an agent may not have the server write into a repository" "$status" 403

FOLKMOOT_AGENT_TOKEN=$FOLKMOOT_REVIEWER_TOKEN
start "$wanted"
until_gate "$id"
is "the debate has a branch of its own" "$(git branch --list --format='%(refname:short)' 'debate/*')" "debate/$session"
is "and a worktree of its own beside the user's" "$(worktrees)" 2
call "$FOLKMOOT_REVIEWER_TOKEN" POST "/v1/debates/$id/approve" "{\"request_id\": \"$gate\"}"
until_status "$id" completed
is "its worktree is gone when it is over" "$(worktrees)" 1
is "its branch is still there" "$(git branch --list --format='%(refname:short)' 'debate/*')" "debate/$session"
is "its branch has commits" "$(($(git rev-list --count "$head..debate/$session") > 0))" 1
results "$id"
code=$(jq -r .code <<< "$answer")
file=$(git diff --name-only "$head" "debate/$session" | head -n 1)
get "/v1/debates/$id/code-versions"
before=$([[ "$(git show "debate/$session~1:$file")" == "$code" ]] && echo same || echo another)
is "the last commit is the verdict's, and before it was another code" \
    "$(git log -1 --format=%s "debate/$session" | cut -d ' ' -f 1-2) $before" "The verdict: another"
is "the branch ends with the code that won all the same" "$(git show "debate/$session:$file")" "$code"
holds "what was committed on the way is a version of the code" 'any(.versions[].code; rtrimstr("\n") == $first)' \
    --arg first "$(git show "$(git rev-list --reverse "$head..debate/$session" | head -n 1):$file")"
is "the user's branch is where it was" "$(git rev-parse "$main") $(git symbolic-ref --short HEAD)" "$head $main"
is "and so are the user's files" "$(git status --porcelain)" ""

start "$wanted"
until_gate "$id"
is "another one waits, with a worktree" "$(worktrees)" 2
commits=$(git rev-list --count "$head..debate/$session")
call "$FOLKMOOT_REVIEWER_TOKEN" DELETE "/v1/debates/$id"
is "it is cancelled" "$status" 200
is "its worktree is gone" "$(worktrees)" 1
is "its branch and its commits stay" "$(git rev-list --count "$head..debate/$session") $((commits > 0))" "$commits 1"
finish
