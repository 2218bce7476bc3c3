//! gosteal: two goroutines and two channels a pair, as in Go.
use super::Input;
use crate::drive::Outcome;
use crate::runtimes::gosteal::joined;

pub(super) fn run(input: Input) -> Outcome {
    let pairs: Vec<_> = input.shares().map(|trips| pair(trips, input.cap)).collect();
    let trips = pairs.into_iter().map(joined).sum();
    Outcome::new(trips, trips)
}

/// Returns the trips that came back right.
fn pair(trips: u64, cap: usize) -> gosteal::JoinHandle<u64> {
    let (ping, pinged) = gosteal::chan(cap);
    let (pong, ponged) = gosteal::chan(cap);
    gosteal::go(move || {
        while let Some(n) = pinged.recv() {
            let n: u64 = n;
            pong.send(n + 1);
        }
    });
    gosteal::spawn(move || {
        let mut done = 0;
        for n in 0..trips {
            ping.send(n);
            done += ponged.recv().expect("a pong") - n;
        }
        ping.close();
        done
    })
}
