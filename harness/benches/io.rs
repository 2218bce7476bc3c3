//! harness/benches/io.rs: compute tasks that read a small file half way. Question: what does a blocking call
//! cost in each runtime's recommended way, and what in the naive way that blocks a worker?
//!
//! The file is in the page cache: this is the price of the hand-off, not of a disk.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn io(c: &mut Criterion) {
    common::suite(
        c,
        &[
            ("W23", "tasks=20 increments=500000 lane=recommended"),
            ("W23", "tasks=20 increments=500000 lane=naive"),
        ],
    );
}

criterion_group! { name = benches; config = common::config(); targets = io }
criterion_main!(benches);
