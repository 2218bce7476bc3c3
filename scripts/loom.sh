#!/bin/sh
# Model tests of the queues, the wake protocol, parking and forks (see docs/orderings.md). Extra arguments
# select tests by name: scripts/loom.sh rq4.
set -eu
cd "$(dirname "$0")/.."
# The own cfg switches everything over, so the own target folder keeps ordinary builds warm.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
export RUSTFLAGS="${RUSTFLAGS:-} --cfg sched_loom"
# Link-time optimisation buys nothing here and doubles the build.
export CARGO_PROFILE_RELEASE_LTO=off
[ $# -gt 0 ] || set -- loom
exec cargo test -p gosteal --lib --release -- "$@"
