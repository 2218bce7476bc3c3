//! harness/benches/spawn.rs: the life of a task that does nothing. Question: what does it cost to start, to
//! yield, to wait and be woken, from a worker and from outside?
//!
//! All is warm: stacks and task memory are reused. Claims nothing about the first task of a program, nor
//! about the memory of a waiting task, which `stealbench run` reports.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn spawn(c: &mut Criterion) {
    common::suite(
        c,
        &[
            ("W18", "from=local tasks=10000"),
            ("W18", "from=outside tasks=10000"),
            ("W18", "from=chain tasks=1000"),
            ("W19", "tasks=200 yields=1000"),
            ("W20", "tasks=10000"),
        ],
    );
}

criterion_group! { name = benches; config = common::config(); targets = spawn }
criterion_main!(benches);
