#!/usr/bin/env bash
# Keeps the benches from rotting: every body once, all built as for measuring, and a baseline saved and
# compared with in each crate (`scripts/bench.sh once`: the bodies only). What it measures is too little to say anything. For that:
#   cargo bench -- --save-baseline NAME      and later      cargo bench -- --baseline NAME
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --workspace --locked --benches
[ "${1:-}" != once ] || exit 0
cargo bench --workspace --no-run
few='forkbench/pairs=1000/.*/p1|mutex/uncontended|yield/p1'
cargo bench --workspace -- --save-baseline sanity "$few"
compared=$(cargo bench --workspace -- --baseline sanity "$few" | grep -c 'change:')
test "$compared" -ge 9 || { echo "only $compared benchmarks were compared with the baseline"; exit 1; }
echo "benches: all bodies run, all build, $compared compared with a baseline"
