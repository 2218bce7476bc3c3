#!/usr/bin/env bash
# Records a session under results/runs/NAME: scripts/record.sh NAME [stealbench run options]
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
shift
cargo build --release --locked
target/release/stealbench run "$@" --out "results/runs/$name"
target/release/stealbench report "results/runs/$name" --html "results/runs/$name/report.html" --md "results/runs/$name/report.md" >/dev/null
echo "results/runs/$name"
