//! tokio: two tasks and two mpsc channels a pair (tokio.rs/tokio/tutorial/channels).
use super::Input;
use crate::drive::Outcome;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub(super) async fn run(input: Input) -> Outcome {
    let pairs: Vec<_> = input.shares().map(|trips| pair(trips, input.cap)).collect();
    let mut trips = 0;
    for pair in pairs {
        trips += pair.await.expect("a pair panicked");
    }
    Outcome::new(trips, trips)
}

/// Returns the trips that came back right.
fn pair(trips: u64, cap: usize) -> JoinHandle<u64> {
    let (ping, mut pinged) = mpsc::channel::<u64>(cap);
    let (pong, mut ponged) = mpsc::channel::<u64>(cap);
    tokio::spawn(async move {
        while let Some(n) = pinged.recv().await {
            pong.send(n + 1).await.expect("the pinger listens");
        }
    });
    tokio::spawn(async move {
        let mut done = 0;
        for n in 0..trips {
            ping.send(n).await.expect("the ponger listens");
            done += ponged.recv().await.expect("a pong") - n;
        }
        done
    })
}
