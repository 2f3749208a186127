#!/bin/sh
# An agent that asks before it works, and stops when people say so.
#
# It needs nothing but `folkmoot` on the PATH, and finds this machine's server by itself;
# FOLKMOOT_URL and FOLKMOOT_TOKEN name another.

agent=${AGENT:-builder} session=${SESSION:-nightly} pace=${PACE:-2}

# One piece of work, if nothing halts this agent. `clear` ends with 0 if it may work and with 6 if
# it is halted; with --wait it ends with 0 once it is released. Whoever cannot ask does not work.
work() {
  folkmoot clear "$agent" --session "$session" > /dev/null
  case $? in
    0) ;;
    6)
      echo "$agent: halted"
      folkmoot clear "$agent" --session "$session" --wait > /dev/null || exit
      echo "$agent: released"
      ;;
    *) exit 1 ;;
  esac
  echo "$agent: $1"
  sleep "$pace"
}

# Asks, waits, and prints the answer. The exit code says whether there is one: 3 is no.
ask() {
  folkmoot ask "$@" --agent "$agent" --session "$session" --wait
}

work "reading the code"

# A BLOCKING question halts this agent until somebody answers.
colour=$(ask "Which colour for the button?" --options red,blue) || exit
work "painting it $colour"

# An APPROVAL halts everyone in the session, and nothing but `approve` lets it pass.
ask "Deploy the $colour button?" --type APPROVAL > /dev/null
code=$?
if [ $code -ne 0 ]; then
  echo "$agent: not deploying (exit code $code)"
  exit $code
fi
work "deploying"
