#!/usr/bin/env bash
# tests/determinism.sh MUSTER MUSTER...
# The same inputs must give the same decisions whatever compiled them: runs every case on every
# binary and compares the digests. Naming one binary twice checks that it repeats itself.
set -uo pipefail

# Options of muster sim.
cases=(
  "--policy fifo --mechanism proportional --round 300s"
  "--policy srtf --mechanism proportional --round 300s"
  "--policy srtf --mechanism tune --round 300s"
  "--policy las --mechanism greedy --round 300s"
  "--policy las --mechanism tune --round 60s"
  "--policy ftf --mechanism proportional --round 60s"
  "--policy ftf --mechanism tune --round 300s"
  "--policy srtf --mechanism blend --round 300s"
  "--policy fifo --mechanism opt --round 300s"
  "--policy backfill --mechanism proportional --round 60s"
  "--policy tetris --mechanism greedy --round 300s"
  "--policy drf --mechanism blend --round 60s"
  "--scheduler philly --failures on"
  "--scheduler tiresias --failures on --retry adaptive"
  "--scheduler gandiva --elastic 1-8 --failures on"
  "--scheduler optimus --failures on"
)

if (($# < 2)); then
  echo "usage: determinism.sh MUSTER MUSTER...: two binaries or more" >&2
  exit 2
fi
for muster in "$@"; do
  if [[ ! -x $muster ]]; then
    echo "determinism.sh: no such program: '$muster'" >&2
    exit 2
  fi
done

read_digest='
import json, sys
try:
    digest = json.load(sys.stdin)["digest"]
    assert isinstance(digest, str) and digest
except Exception:
    sys.exit(1)
print(digest)
'

# digest_of MUSTER OPTION...: prints the digest, or why there is none on stderr.
digest_of() {
  local output
  if ! output=$("$1" sim "${@:2}" --json); then
    echo "failed: $1 sim ${*:2} --json" >&2
    return 1
  fi
  if ! python3 -c "$read_digest" <<<"$output"; then
    echo "no digest in the output of: $1 sim ${*:2} --json" >&2
    return 1
  fi
}

# compare CASE MUSTER...: prints the case's line; fails if the digests differ.
compare() {
  local case=$1 options digests=() verdict=equal digest muster
  shift
  read -ra options <<<"$case"
  for muster in "$@"; do
    digest=$(digest_of "$muster" "${options[@]}") || digest=none
    digests+=("$digest")
    if [[ $digest == none || $digest != "${digests[0]}" ]]; then verdict=DIFFERENT; fi
  done
  printf '%-56s %-18s %s\n' "$case" "${digests[0]}" "$verdict"
  if [[ $verdict == equal ]]; then return 0; fi
  for i in "${!digests[@]}"; do printf '    %-18s %s\n' "${digests[i]}" "${@:i+1:1}"; done
  return 1
}

# As many cases at a time as there are cores, told in their order.
status=0
printf '%-56s %-18s %s\n' "options" digest "$# binaries"
told=$(mktemp -d)
trap 'rm -rf "$told"' EXIT
for i in "${!cases[@]}"; do
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
  { compare "${cases[i]}" "$@" >"$told/$i" 2>&1 || touch "$told/failed"; } &
done
wait
for i in "${!cases[@]}"; do cat "$told/$i"; done
if [[ -e $told/failed ]]; then status=1; fi
exit "$status"
