#!/usr/bin/env bash
# tools/update_results.sh [MUSTER]
# Runs all experiments and writes docs/results.md and its plots. Data files are in $MUSTER_DATA or
# ../shared/data; without them, their claims are listed as not run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
muster=${1:-$root/build/release/bin/muster}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$muster" reproduce all --data "${MUSTER_DATA:-$root/../shared/data}" --out "$out" >/dev/null || true
mkdir -p "$root/docs/plots"
rm -f "$root"/docs/plots/*.svg
cp "$out"/plots/*.svg "$root/docs/plots/"
cp "$out/results.md" "$root/docs/results.md"
