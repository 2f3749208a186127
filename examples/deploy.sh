#!/bin/sh
# A deployment that can be killed anywhere and started again: what is done is not done twice, and
# nothing is shipped that nobody has approved.

version=${1:-1.4.2} pace=${PACE:-2}

# The same id is the same run, however often this is started.
run=$(folkmoot start "Deploy $version" --id "deploy-$version") || exit

# step [--once] KEY COMMAND…: does it, records what it printed, and prints that; or prints what was
# recorded. With --once it is not repeated where nobody knows whether it was done.
step() {
  once=
  if [ "$1" = --once ]; then once=$1; shift; fi
  key=$1; shift
  folkmoot step begin "$run" "$key" $once
  case $? in
    0) ;;           # do it now
    7) return 0 ;;  # it is done, and its result was printed
    *) exit 1 ;;    # halted, failed before, or nobody knows; stderr says what to do
  esac
  if result=$("$@"); then
    folkmoot step done "$run" "$key" --text "$result" > /dev/null && echo "$result"
  else
    code=$?
    echo "$result" >&2
    folkmoot step fail "$run" "$key" --reason "${result:-exit code $code}" > /dev/null
    folkmoot end "$run" --failed "$key failed" > /dev/null
    exit $code
  fi
}

build() { sleep "$pace"; echo "app-$version.tar"; }
ship() { sleep "$pace"; echo "shipped $1" | tee -a "${SHIPPED:-/dev/null}"; }

archive=$(step build build) || exit
echo "built $archive"

# Whoever waits at a gate may ask again: with this key it is the same gate as long as it waits.
step approval folkmoot gate open "Deploy $version to production" --risk high --run "$run" \
  --dedupe-key "deploy-$version" --wait || exit

step --once ship ship "$archive" || exit
folkmoot end "$run"
