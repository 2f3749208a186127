# shellcheck shell=bash
# What every challenge uses. A challenge drives a running server over HTTP, and says what it sees:
#
#   FOLKMOOT_URL              the server
#   FOLKMOOT_AGENT_TOKEN      a token of an agent, who starts debates
#   FOLKMOOT_REVIEWER_TOKEN   a token of a reviewer, who decides
#   FOLKMOOT_BIN              the program, for those that must stop and start a server of their own
#
# `cargo xtask challenges` sets all of them. Whatever is asked for here is asked of the rehearsal, so no model is needed.
set -euo pipefail

# How long anything may take before it counts as never.
PATIENCE=${FOLKMOOT_PATIENCE:-45}
CODE="Write parse_duration in Python: turn 90s, 5m, 1h30m or 2d into seconds, refuse anything else"

name=$(basename "$0" _challenge.sh)
failures=0
debates=()
servers=()
folder=$(mktemp -d "${TMPDIR:-/tmp}/folkmoot-challenge.XXXXXX")

for tool in curl jq; do
    command -v "$tool" > /dev/null || { echo "$name needs $tool; install it first" >&2; exit 1; }
done

# Nothing is left: debates that still go on are cancelled, servers of our own are stopped.
clean_up() {
    local code=$? id pid
    for id in "${debates[@]}"; do
        if [[ -z "${servers[*]}" ]]; then
            curl -s -o /dev/null -m 5 -X DELETE -H "authorization: Bearer ${FOLKMOOT_REVIEWER_TOKEN:-}" \
                "$FOLKMOOT_URL/v1/debates/$id?reason=the+challenge+is+over" || true
        fi
    done
    for pid in "${servers[@]}"; do
        kill -KILL "$pid" 2> /dev/null || true
        wait "$pid" 2> /dev/null || true
    done
    rm -rf "$folder"
    ((code == 0 || failures > 0)) || say FAIL "it cannot go on (exit $code)"
    exit $((code != 0))
}
trap clean_up EXIT

need() {
    local variable
    for variable in "$@"; do
        [[ -n "${!variable:-}" ]] || { echo "$name needs $variable; \`cargo xtask challenges\` sets it" >&2; exit 1; }
    done
}

# call TOKEN METHOD PATH [JSON]: what was answered is in $answer, its status code in $status.
call() {
    local body=()
    [[ $# -lt 4 ]] || body=(-H 'content-type: application/json' --data-binary "$4")
    status=$(curl -s -m 20 -o "$folder/answer" -w '%{http_code}' -X "$2" -H "authorization: Bearer $1" "${body[@]}" \
        "$FOLKMOOT_URL$3") || status=000
    answer=$(cat "$folder/answer" 2> /dev/null || true)
    rm -f "$folder/answer"
}

get() { call "$FOLKMOOT_AGENT_TOKEN" GET "$1"; }

# give_up WHAT: nothing that follows could be seen.
give_up() {
    say FAIL "$1"
    [[ $# -lt 2 ]] || printf '         %s\n' "${2:0:600}"
    failures=$((failures + 1))
    exit 1
}

say() { printf '  %-4s %s\n' "$1" "$2"; }

# is WHAT SEEN WANTED: two texts are the same.
is() {
    if [[ "$2" == "$3" ]]; then
        say ok "$1"
    else
        say FAIL "$1"
        printf '         wanted: %s\n         seen:   %s\n' "$3" "${2:0:600}"
        failures=$((failures + 1))
    fi
}

# holds WHAT FILTER [jq options]: a filter is true of what is in $answer.
holds() {
    local what=$1 filter=$2 seen
    shift 2
    if seen=$(jq -r "$@" "$filter" <<< "$answer" 2>&1) && [[ "$seen" == true ]]; then
        say ok "$what"
    else
        say FAIL "$what"
        printf '         %s\n         is: %s\n         in: %s\n' "$filter" "${seen:0:300}" "$(head -c 600 <<< "$answer")"
        failures=$((failures + 1))
    fi
}

# start JSON [TOKEN]: starts a debate with the rehearsal; its id is in $id, its session in $session.
start() {
    local wanted
    wanted=$(jq -c '{provider: "rehearsal"} + .' <<< "$1")
    call "${2:-$FOLKMOOT_AGENT_TOKEN}" POST /v1/debates "$wanted"
    if [[ "$status" != 202 ]]; then
        give_up "a debate starts" "$status $answer"
    fi
    id=$(jq -r .id <<< "$answer")
    session=$(jq -r .session_id <<< "$answer")
    debates+=("$id")
}

# until_status ID WORD...: waits until the debate has one of these statuses; gives up after a while, or where it can have none of them.
until_status() {
    local id=$1 until=$((SECONDS + PATIENCE)) seen word
    shift
    while ((SECONDS < until)); do
        get "/v1/debates/$id/status"
        seen=$(jq -r '.status // "?"' <<< "$answer" 2> /dev/null || echo '?')
        for word in "$@"; do
            [[ "$seen" != "$word" ]] || return 0
        done
        case $seen in completed | failed | cancelled) break ;; esac
        sleep 0.1
    done
    give_up "debate $id becomes $* within $PATIENCE s" "$answer"
}

# until_gate ID [GATE]: waits until the debate stands still at a gate that is not this one; $gate is it.
until_gate() {
    local until=$((SECONDS + PATIENCE))
    while ((SECONDS < until)); do
        get "/v1/debates/$1/status"
        # A gate is there a moment before the debate stands still at it.
        gate=$(jq -r 'select(.status == "paused") | .waiting_at // ""' <<< "$answer" 2> /dev/null || true)
        [[ -z "$gate" || "$gate" == "${2:-}" ]] || return 0
        case $(jq -r .status <<< "$answer" 2> /dev/null || true) in completed | failed | cancelled) break ;; esac
        sleep 0.1
    done
    give_up "debate $1 stops at a ${2:+further }gate within $PATIENCE s" "$answer"
}

# debate JSON [TOKEN]: starts one and waits until it is completed.
debate() {
    start "$1" "${2:-$FOLKMOOT_AGENT_TOKEN}"
    until_status "$id" completed
}

# pages PATH FIELD: all pages of a list, as one array in $answer.
pages() {
    local next='' query
    : > "$folder/pages"
    while :; do
        query="limit=200"
        [[ -z "$next" ]] || query+="&cursor=$next"
        get "$1?$query"
        if [[ "$status" != 200 ]]; then
            give_up "$1 can be read" "$status $answer"
        fi
        jq -c ".$2" <<< "$answer" >> "$folder/pages"
        next=$(jq -r '.next // ""' <<< "$answer")
        [[ -n "$next" ]] || break
    done
    answer=$(jq -sc add "$folder/pages")
}

turns() { pages "/v1/debates/$1/turns" turns; }
trail() { pages "/v1/debates/$1/audit" entries; }
results() { get "/v1/debates/$1/results"; }

# serve [TOML]: a server of our own on $folder/data, started again where it was; $server is its process.
serve() {
    need FOLKMOOT_BIN
    mkdir -p "$folder/data"
    [[ $# -eq 0 ]] || printf '%s\n' "$1" > "$folder/data/folkmoot.toml"
    rm -f "$folder/data/server.json"
    FOLKMOOT_AGENT_TOKEN=challenge-agent-0123456789
    FOLKMOOT_REVIEWER_TOKEN=challenge-reviewer-0123456789
    env -u FOLKMOOT_URL FOLKMOOT_RATE_LIMIT=1000000 \
        FOLKMOOT_BOOTSTRAP_TOKENS="agent:robot=$FOLKMOOT_AGENT_TOKEN,reviewer:alice=$FOLKMOOT_REVIEWER_TOKEN" \
        "$FOLKMOOT_BIN" serve --data "$folder/data" --listen 127.0.0.1:0 < /dev/null > "$folder/log" 2>&1 &
    server=$!
    servers+=("$server")
    local until=$((SECONDS + PATIENCE))
    while ((SECONDS < until)); do
        FOLKMOOT_URL=$(jq -r --argjson pid "$server" 'select(.pid == $pid) | .url' "$folder/data/server.json" 2> /dev/null || true)
        [[ -z "$FOLKMOOT_URL" ]] || return 0
        kill -0 "$server" 2> /dev/null || break
        sleep 0.05
    done
    give_up "a server of our own starts" "$(tail -n 5 "$folder/log")"
}

# crash: the server of our own is killed, and can do nothing about it.
crash() {
    kill -KILL "$server"
    wait "$server" 2> /dev/null || true
    servers=()
}

finish() {
    if ((failures > 0)); then
        echo "  $failures wrong"
        exit 1
    fi
    exit 0
}

echo "$name"
