#!/usr/bin/env bash
# tests/determinism.sh MUSTER MUSTER...
# The same inputs must give the same decisions whatever compiled them: runs every case on every
# binary and compares the digests. Naming one binary twice checks that it repeats itself.
set -uo pipefail

# policy mechanism round
cases=(
  "fifo proportional 300s"
  "srtf proportional 300s"
  "srtf tune         300s"
  "las  greedy       300s"
  "las  tune         60s"
  "ftf  proportional 60s"
  "ftf  tune         300s"
  "srtf blend        300s"
  "fifo opt          300s"
  "backfill proportional 60s"
  "tetris greedy     300s"
  "drf  blend        60s"
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

# digest_of MUSTER POLICY MECHANISM ROUND: prints the digest, or why there is none on stderr.
digest_of() {
  local output
  if ! output=$("$1" sim --policy "$2" --mechanism "$3" --round "$4" --json); then
    echo "failed: $1 sim --policy $2 --mechanism $3 --round $4 --json" >&2
    return 1
  fi
  if ! python3 -c "$read_digest" <<<"$output"; then
    echo "no digest in the output of: $1 sim --policy $2 --mechanism $3 --round $4 --json" >&2
    return 1
  fi
}

status=0
printf '%-8s %-14s %-6s %-18s %s\n' policy mechanism round digest "$# binaries"
for case in "${cases[@]}"; do
  read -r policy mechanism round <<<"$case"
  digests=()
  verdict=equal
  for muster in "$@"; do
    digest=$(digest_of "$muster" "$policy" "$mechanism" "$round") || digest=none
    digests+=("$digest")
    if [[ $digest == none || $digest != "${digests[0]}" ]]; then verdict=DIFFERENT; fi
  done
  printf '%-8s %-14s %-6s %-18s %s\n' "$policy" "$mechanism" "$round" "${digests[0]}" "$verdict"
  if [[ $verdict != equal ]]; then
    status=1
    for i in "${!digests[@]}"; do printf '    %-18s %s\n' "${digests[i]}" "${@:i+1:1}"; done
  fi
done
exit "$status"
