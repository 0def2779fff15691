#!/usr/bin/env bash
# tests/determinism.sh MUSTER...
# Runs each case of digests.txt with each binary. The same inputs must give the same decisions with
# any compiler and in all versions: each digest must equal the one in the file.
set -uo pipefail

if (($# < 1)); then
  echo "usage: determinism.sh MUSTER...: one binary or more" >&2
  exit 2
fi
for muster in "$@"; do
  if [[ ! -x $muster ]]; then
    echo "determinism.sh: no such program: '$muster'" >&2
    exit 2
  fi
done

cases=() expected=()
while read -r digest options; do
  if [[ -z $digest || $digest == '#'* ]]; then continue; fi
  expected+=("$digest") cases+=("$options")
done <"$(dirname "${BASH_SOURCE[0]}")/digests.txt"
if ((${#cases[@]} == 0)); then
  echo "determinism.sh: digests.txt has no cases" >&2
  exit 2
fi

read_digest='
import json, sys
try:
    digest = json.load(sys.stdin)["digest"]
    assert isinstance(digest, str) and digest
except Exception:
    sys.exit(1)
print(digest)
'

# digest_of MUSTER OPTION...: prints the digest, or an error on stderr.
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

# compare EXPECTED CASE MUSTER...: prints the line of the case; fails if a digest differs.
compare() {
  local expected=$1 case=$2 options digests=() verdict=equal digest muster
  shift 2
  read -ra options <<<"$case"
  for muster in "$@"; do
    digest=$(digest_of "$muster" "${options[@]}") || digest=none
    digests+=("$digest")
    if [[ $digest != "$expected" ]]; then verdict=DIFFERENT; fi
  done
  printf '%-56s %-18s %s\n' "$case" "$expected" "$verdict"
  if [[ $verdict == equal ]]; then return 0; fi
  for i in "${!digests[@]}"; do printf '    %-18s %s\n' "${digests[i]}" "${@:i+1:1}"; done
  return 1
}

# Runs one case per core in parallel; prints the results in order.
status=0
printf '%-56s %-18s %s\n' "options" digest "$# binaries"
printed=$(mktemp -d)
trap 'rm -rf "$printed"' EXIT
for i in "${!cases[@]}"; do
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
  { compare "${expected[i]}" "${cases[i]}" "$@" >"$printed/$i" 2>&1 || touch "$printed/failed"; } &
done
wait
for i in "${!cases[@]}"; do cat "$printed/$i"; done
if [[ -e $printed/failed ]]; then status=1; fi
exit "$status"
