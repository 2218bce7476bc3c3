//! harness/benches/trees.rs: fork-join and spawn trees with next to nothing in their leaves. Question: how
//! many nanoseconds is a fork, with its join, and does a second worker help or hurt?
//!
//! W07 with `c=1` forks at every node: its time per fork is the figure to read side by side for
//! runtimes with a fork-join of their own. The literal programs of the others spawn a task a node, which
//! is not how they are meant to be used. Claims nothing about trees whose leaves do real work.

mod common;

use criterion::{Criterion, criterion_group, criterion_main};

fn trees(c: &mut Criterion) {
    common::suite(
        c,
        &[
            ("W07", "n=20 c=1 lane=join"),
            ("W07", "n=20 c=1 lane=goroutine"),
            ("W07", "n=30 c=20 lane=join"),
            ("W08", "pairs=1000"),
            ("W08", "pairs=30000"),
            ("W09", "depth=4 lane=channel"),
            ("W09", "depth=4 lane=join"),
            ("W10", "n=8"),
        ],
    );
}

criterion_group! { name = benches; config = common::config(); targets = trees }
criterion_main!(benches);
