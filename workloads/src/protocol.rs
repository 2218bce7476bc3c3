//! The line protocol between the harness and a contender: one request line, one reply line.
//!
//! ```text
//! hello                                   ok proto=1 runtime=tokio version=1.54.1 lang=rust pid=..
//! setup workload=W07 workers=2 policy=-  n=20   ok workers=2 threads=3 cpus=0,1     | unsupported <reason>
//! check                                   ok answer=6765 units=10945 inlined=0
//! run iters=3                             ok ns=123 answer=6765 units=.. inlined=.. cpu_ns=.. c.steals=12 ..
//! park                                    ok cpu_ns=..      (all workers idle)
//! quit                                    ok                (then the process exits 0)
//! anything wrong                          error <reason>
//! ```
//! Keys and values are percent-encoded where they hold a space, `=`, `%` or a control character; the
//! reason after `unsupported` and `error` is the rest of the line. Counters carry the prefix `c.`;
//! latency samples, where a workload has them, are `lat_ns=p50:..,p90:..,p99:..,p999:..,max:..`.
//! Times are integer nanoseconds. Unknown keys are ignored by both sides.
