# Shared by setup, run, test and lint; sourced, never run. Everything said goes to stderr: stdout belongs to the programs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/scripts/versions"
venv=$root/.venv
preset=${KERNELCAST_PRESET:-release}
build=$root/build/$preset
logs=$root/build/logs

say() { printf '[%s] %s\n' "${0##*/}" "$*" >&2; }
fail() { say "$*"; exit 1; }

# At most one compiler per core and per 1.5 GiB of memory (a file that includes LibTorch takes about 1 GiB).
job_count() {
  local cores memory
  [[ -n ${KERNELCAST_JOBS:-} ]] && { echo "$KERNELCAST_JOBS"; return; }
  cores=$(nproc)
  memory=$(awk '/^MemTotal/ {n = int($2 / 1572864); print n < 1 ? 1 : n}' /proc/meminfo)
  echo $((cores < memory ? cores : memory))
}

# Holds a lock of the checkout while "$@" runs, so that two calls at once do not build or install the same thing.
locked() {
  mkdir -p "$root/build"
  (
    flock -n 9 || { say "waiting for another call to finish building or installing"; flock 9; }
    "$@" 9>&-
  ) 9>"$root/build/.lock"
}

# Prints those of the named Debian packages that are not installed; nothing on a system without dpkg.
missing_packages() {
  command -v dpkg-query >/dev/null || return 0
  local installed name
  installed=" $(dpkg-query -W -f '${db:Status-Status}/${Package} ' "$@" 2>/dev/null || true) "
  for name in "$@"; do
    [[ $installed == *" installed/$name "* ]] || printf '%s ' "$name"
  done
}

# Python package sets are stamped after success with the exact requirements: other pins, or a killed pip, mean "again".
stamp() { echo "$venv/.stamps/$1"; }
has_set() {  # NAME REQUIREMENTS
  [[ -x $venv/bin/python && -f $(stamp "$1") && $(<"$(stamp "$1")") == "$2" ]]
}
has_torch() {
  [[ -n ${KERNELCAST_LIBTORCH:-} ]] && { [[ -f $KERNELCAST_LIBTORCH/lib/libtorch_cpu.so ]]; return; }
  has_set full "$PIP_FULL" || { ! wants_gpu && has_set light "$PIP_LIGHT"; }
}
wants_gpu() { [[ -e /proc/driver/nvidia/version || -e $(stamp full) ]]; }

# True when setup would find nothing to do; costs some milliseconds.
is_set_up() {  # [further apt packages]
  [[ -z $(missing_packages $APT_BUILD "$@") ]] && has_torch
}

# What the configuration depends on beside the CMake files, which Ninja watches itself.
configuration() {
  local set
  printf '%s\n' "$root" "$preset" "${KERNELCAST_LIBTORCH:-}"
  for set in light full; do
    [[ ! -f $(stamp $set) ]] || printf '%s: %s\n' "$set" "$(<"$(stamp $set)")"
  done
  printf '%s\n' "$(<"$root/CMakePresets.json")"
}

configure() {
  local want
  want=$(configuration)
  [[ -f $build/.configured && -f $build/build.ninja && $(<"$build/.configured") == "$want" ]] && return
  say "configuring build/$preset"
  mkdir -p "$build" "$logs"
  rm -f "$build/.configured"
  if ! (cd "$root" && cmake --fresh --preset "$preset") >"$logs/configure.log" 2>&1; then
    grep -A 12 'CMake Error' "$logs/configure.log" | head -n 40 >&2 || tail -n 40 "$logs/configure.log" >&2
    fail "configuring failed; the whole log is build/logs/configure.log"
  fi
  printf '%s\n' "$want" >"$build/.configured"
}

# Ninja's own display on a terminal; elsewhere warnings, errors and about ten lines of progress.
run_ninja() {
  if [[ -t 2 ]]; then
    ninja -C "$build" -j "$(job_count)" "$@" 1>&2
  else
    NINJA_STATUS='[%f/%t] ' ninja -C "$build" -j "$(job_count)" "$@" | awk '
      /^ninja: (Entering|no work)/ || /^\[[0-9]+\/[0-9]+\] cd / { next }
      match($0, /^\[[0-9]+\/[0-9]+\]/) {
        split(substr($0, 2, RLENGTH - 2), at, "/")
        tenth = int(10 * at[1] / at[2])
        if (tenth == last && $0 !~ /FAILED/) next
        last = tenth
      }
      { print; fflush() }' >&2
  fi
}

build_targets() {  # [ninja targets]
  export CCACHE_BASEDIR=$root
  configure
  run_ninja "$@" || fail "the build failed (see above); the next call continues it"
}
