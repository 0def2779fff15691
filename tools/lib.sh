# shellcheck shell=bash
# Functions that ./run and ./test share: install packages and build a preset. To be sourced.
# All messages go to stderr, so that stdout contains only the output of programs.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }

# elapsed START: prints the time since START, a value of $SECONDS: "34 s" or "2 min 05 s".
elapsed() {
  local seconds=$((SECONDS - $1))
  if ((seconds < 60)); then
    printf '%d s' "$seconds"
  else
    printf '%d min %02d s' $((seconds / 60)) $((seconds % 60))
  fi
}

# packages_of SECTION: prints the packages of a section of tools/packages.txt, one per line.
packages_of() {
  awk -v want="[$1]" '
    { sub(/#.*/, ""); gsub(/[ \t\r]/, "") }
    /^\[/ { inside = ($0 == want); next }
    inside && $0 != "" { print }' "$root/tools/packages.txt"
}

# Reads packages from stdin ("package" or "package|command") and prints the missing ones. A package
# is not missing if its command exists.
missing_packages() {
  local package command
  while IFS='|' read -r package command; do
    if [[ -n $command ]] && command -v "$command" >/dev/null; then continue; fi
    # dpkg-query expands the format, not the shell.
    # shellcheck disable=SC2016
    if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
      printf '%s\n' "$package"
    fi
  done
}

# as_root COMMAND...: runs the command as root. Asks for a password only at a terminal.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif [[ -t 0 ]]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# apt_get ARGUMENTS...: prints nothing on success, and the end of its log on failure.
apt_get() {
  local attempt log=$root/build/packages.log
  mkdir -p "$root/build"
  for attempt in 1 2; do
    as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1 && return 0
    if ((attempt == 1)); then
      say "apt-get $1 failed; trying again"
      sleep 3
    fi
  done
  say "apt-get $1 failed again; the end of $log:"
  tail -n 15 "$log" >&2
  return 1
}

# need_packages run|test: installs missing packages. Needs neither root nor a network if no package
# is missing.
need_packages() {
  local sections=(run) section missing
  if [[ $1 == test ]]; then sections+=(test); fi
  if ! command -v dpkg-query >/dev/null; then
    say "dpkg-query not found; assuming that the packages of tools/packages.txt are installed"
    return 0
  fi
  mapfile -t missing < <(for section in "${sections[@]}"; do packages_of "$section"; done |
    missing_packages)
  if ((${#missing[@]} == 0)); then return 0; fi
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    say "missing packages: ${missing[*]}"
    say "installing them needs root or sudo; as root, run:"
    say "  apt-get install --no-install-recommends ${missing[*]}"
    return 1
  fi
  say "installing packages: ${missing[*]}"
  # The install may succeed with old package lists, so a failed update is not an error.
  apt_get update || say "could not update the package lists; using the old ones"
  if ! apt_get install -y --no-install-recommends "${missing[@]}"; then
    say "could not install: ${missing[*]}"
    return 1
  fi
}

# Installs the dashboard's packages of web/package-lock.json, unless they are up to date.
need_web_packages() {
  local attempt log=$root/build/npm.log start=$SECONDS
  if cmp -s "$root/web/package-lock.json" "$root/web/node_modules/.muster-lock"; then return 0; fi
  mkdir -p "$root/build"
  printf 'installing the packages of the dashboard ... ' >&2
  for attempt in 1 2; do
    if npm ci --prefix "$root/web" --no-audit --no-fund >"$log" 2>&1 &&
      cp "$root/web/package-lock.json" "$root/web/node_modules/.muster-lock"; then
      say "$(elapsed "$start")"
      return 0
    fi
    if ((attempt == 1)); then sleep 3; fi
  done
  say "failed; the end of $log:"
  tail -n 15 "$log" >&2
  return 1
}

# build PRESET [TARGET...]: configures and builds build/PRESET (default: all targets). Prints one
# line on success, and the first failure in the log otherwise.
build() {
  local preset=$1 start log
  shift
  need_web_packages || return 1
  start=$SECONDS
  log=$root/build/$preset.log
  mkdir -p "$root/build"
  printf 'building %s%s ... ' "$preset" "${*:+ ($*)}" >&2
  if (
    cd "$root" &&
      cmake --preset "$preset" &&
      cmake --build --preset "$preset" -j "$(nproc)" ${1:+--target "$@"}
  ) >"$log" 2>&1; then
    say "$(elapsed "$start")"
    return 0
  fi
  say "failed after $(elapsed "$start"); from $log:"
  if grep -q '^FAILED:' "$log"; then
    sed -n '/^FAILED:/,$p' "$log" | head -n 60 >&2
  else
    tail -n 40 "$log" >&2
  fi
  return 1
}
