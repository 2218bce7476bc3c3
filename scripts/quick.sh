#!/usr/bin/env bash
# A small comparison from the command line to the checked report: what CI runs.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cargo build --release --locked
stealbench=target/release/stealbench
"$stealbench" run --workload W03,W07,W14 --workers 2 --budget-time 60s --out "$out/run" --json >"$out/report.json"
python3 - "$out/report.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["schema"] == "stealbench.report/1", report["schema"]
seen = set()
for cell in report["cells"]:
    for c in cell["contenders"]:
        assert c["answer_ok"] is True, (cell["workload"], c)
        assert c["median"] > 0, (cell["workload"], c)
        seen.add(c["runtime"])
missing = {"gosteal", "tokio", "rayon", "smol", "async-std"} - seen
assert not missing, f"not in the report: {missing}"
print(f"{len(report['cells'])} cells, {len(seen)} contenders, every answer right")
PY
for f in report.html report.md journal.jsonl; do test -s "$out/run/$f" || { echo "no $f"; exit 1; }; done
if grep -Eq '<script|https?://[^w]' "$out/run/report.html"; then echo "report.html has a script or a link outside"; exit 1; fi
"$stealbench" report "$out/run" --html "$out/again.html" >/dev/null
cmp "$out/run/report.html" "$out/again.html" && echo "the report is rebuilt from the journal, byte for byte"
