#!/bin/sh
# Keeps the benches from rotting: runs every body once, builds all as for measuring, and checks that the
# flags of a baseline get through to each of them. Measures nothing. The measurement itself is
#   cargo bench -- --save-baseline NAME      and later      cargo bench -- --baseline NAME
set -eu
cd "$(dirname "$0")/.."
cargo test --workspace --benches
cargo bench --workspace --no-run
cargo bench --workspace -- --save-baseline sanity --list >/dev/null
cargo bench --workspace -- --baseline sanity --list >/dev/null
echo "benches: all bodies run, all build, baseline flags accepted"
