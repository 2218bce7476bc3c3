//! smol: two tasks and two bounded channels a pair (docs.rs/smol, `channel`).
use super::Input;
use crate::drive::Outcome;
use crate::runtimes::smol::EXECUTOR;
use smol::channel;

pub(super) async fn run(input: Input) -> Outcome {
    let pairs: Vec<_> = input.shares().map(|trips| pair(trips, input.cap)).collect();
    let mut trips = 0;
    for pair in pairs {
        trips += pair.await;
    }
    Outcome::new(trips, trips)
}

/// Returns the trips that came back right.
fn pair(trips: u64, cap: usize) -> smol::Task<u64> {
    let (ping, pinged) = channel::bounded::<u64>(cap);
    let (pong, ponged) = channel::bounded::<u64>(cap);
    EXECUTOR
        .spawn(async move {
            while let Ok(n) = pinged.recv().await {
                pong.send(n + 1).await.expect("the pinger listens");
            }
        })
        .detach();
    EXECUTOR.spawn(async move {
        let mut done = 0;
        for n in 0..trips {
            ping.send(n).await.expect("the ponger listens");
            done += ponged.recv().await.expect("a pong") - n;
        }
        done
    })
}
