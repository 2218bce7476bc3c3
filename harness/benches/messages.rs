//! harness/benches/messages.rs: tasks that do nothing but pass messages. Question: what is a message with the
//! switch it causes, within a worker and between workers?
//!
//! On two workers the two ends of a pair may sit on one or on both: such a benchmark can have two modes,
//! and criterion's mean lies between them. `stealbench run` reports modes. A channel of capacity 0 is a
//! rendezvous, which capacity 1 is not: they are different benchmarks.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn messages(c: &mut Criterion) {
    common::suite(
        c,
        &[
            ("W14", "pairs=1 trips=10000 cap=1"),
            ("W14", "pairs=P trips=10000 cap=1"),
            ("W14", "pairs=1 trips=10000 cap=0"),
            ("W14b", "tasks=100 hops=10000"),
            ("W14b", "tasks=503 hops=10000"),
        ],
    );
}

criterion_group! { name = benches; config = common::config(); targets = messages }
criterion_main!(benches);
