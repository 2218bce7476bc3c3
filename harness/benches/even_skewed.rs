//! harness/benches/even_skewed.rs: bags of independent tasks whose costs differ. Question: what does it cost
//! when the dear tasks come last, or sit behind one another on one worker, and who evens it out?
//!
//! Sizes are small: the tasks are microseconds long, so the price of spreading them shows. Claims
//! nothing about tasks that wait, and nothing about machines with other core counts than this one's.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn even_skewed(c: &mut Criterion) {
    common::suite(
        c,
        &[
            ("W03", "m=1000000 chunks=16"),
            ("W03", "m=1000000 chunks=1024"),
            ("P4", "tasks=200 rounds=10000 lane=skewed"),
            ("P4", "tasks=200 rounds=10000 lane=stealing"),
            ("P4", "tasks=200 rounds=10000 lane=shared"),
        ],
    );
}

criterion_group! { name = benches; config = common::config(); targets = even_skewed }
criterion_main!(benches);
