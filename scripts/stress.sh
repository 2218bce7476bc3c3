#!/usr/bin/env bash
# The scheduler's stress tests, many times in a row: scripts/stress.sh [RUNS=200] [TIMES=1]
# RUNS: repetitions; TIMES: multiplies the rounds of each test (long forms of the field cases: 10 and more).
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-200}
export GOSTEAL_STRESS=${2:-1} RUST_BACKTRACE=0
tests=$(cargo test -p gosteal --release --test stress --test machine --no-run 2>&1 | sed -n 's/.*Executable.*(\(.*\))$/\1/p')
for run in $(seq "$runs"); do
  for test in $tests; do
    timeout 900 "$test" >target/stress.log 2>&1 || { echo "run $run of $runs: $test"; cat target/stress.log; exit 1; }
  done
  [ $((run % 20)) -ne 0 ] || echo "$run of $runs, ${SECONDS}s"
done
echo "$runs runs in a row, rounds times $GOSTEAL_STRESS: $(nproc) CPUs, ${SECONDS}s"
