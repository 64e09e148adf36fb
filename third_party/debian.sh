# Shared by ./quickstart and ./run_tests: Debian's packages, and what mpirun needs on a small machine.
# shellcheck shell=bash

build_packages=(ca-certificates g++ make cmake ninja-build openmpi-bin libopenmpi-dev libhdf5-dev libdnnl-dev
  ocl-icd-opencl-dev libeigen3-dev nlohmann-json3-dev libcli11-dev libcurl4-openssl-dev libssl-dev zlib1g-dev
  libpng-dev libjpeg-dev)
test_packages=(libgtest-dev binutils pkg-config python3 python3-yaml strace valgrind clang libclang-rt-dev lld
  dpkg-dev file)

mapfile -t mpi_settings < <(sed -n 's/^\([A-Z][^ ]*\).*/\1/p' "${BASH_SOURCE[0]%/*}/mpi.env")
[ "$(id -u)" -ne 0 ] || mpi_settings+=(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }
# Prints a command as one could type it, then runs it.
run() {
  local word
  printf '$'
  for word in "$@"; do
    case $word in
      *[!A-Za-z0-9_./=,:+@%-]* | "") printf ' %q' "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  "$@"
}

without_root='or build with libraries of your own: "Building" in README.md'

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    run "$@"
  elif command -v sudo >/dev/null; then
    run sudo "$@"
  else
    fail "missing packages can only be installed by root. Run this as root, then start again: $* ($without_root)"
  fi
}

# Leaves apt alone when nothing is missing.
install_missing() { # packages
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || { echo "already installed: $*"; return 0; }
  command -v apt-get >/dev/null || fail "not a Debian system. Install what these packages hold: ${missing[*]} ($without_root)"
  export DEBIAN_FRONTEND=noninteractive
  as_root apt-get install -y -q --no-install-recommends "${missing[@]}" && return 0
  as_root apt-get update -q  # the lists may be missing or old
  as_root apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# clang takes the C++ library of the newest GCC that it finds, be that another language's: Open MPI of Ubuntu 26.04 brings
# gfortran 16, beside g++ 15.
give_clang_a_library() {
  echo '#include <cstddef>' | clang++ -x c++ -fsyntax-only - 2>/dev/null && return 0
  install_missing "libstdc++-$(clang++ -v 2>&1 | sed -n 's/^Selected GCC installation: .*\///p')-dev"
}

use_mpi_settings() {
  local setting
  echo "What mpirun needs on a small machine:"
  for setting in "${mpi_settings[@]}"; do run export "${setting?}"; done
}
