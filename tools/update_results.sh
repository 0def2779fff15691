#!/usr/bin/env bash
# tools/update_results.sh [MUSTER]
# Runs all experiments and writes docs/results.md and its plots. The data files must be in
# $MUSTER_DATA or ../shared/data.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
muster=${1:-$root/build/release/bin/muster}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# Exit status 1 can also mean a claim that is missed without a known reason.
"$muster" reproduce all --data "${MUSTER_DATA:-$root/../shared/data}" --out "$out" >/dev/null || true
if [[ ! -s $out/results.md ]] || grep -q 'not run:' "$out/results.md"; then
  echo "update_results.sh: some experiments did not run; docs/results.md is unchanged" >&2
  exit 1
fi
mkdir -p "$root/docs/plots"
rm -f "$root"/docs/plots/*.svg
cp "$out"/plots/*.svg "$root/docs/plots/"
cp "$out/results.md" "$root/docs/results.md"
