//! gosteal: a goroutine a link, unbuffered channels, as in Go. Dropping an end does not close a
//! channel, so who ends closes the one to the next, and so the ring comes down.
use super::{Input, Link, outcome};
use crate::drive::Outcome;
use crate::runtimes::gosteal::joined;
use gosteal::{Receiver, Sender};

pub(super) fn run(input: Input) -> Outcome {
    let (first, mut rx) = gosteal::chan(0);
    let mut links = Vec::with_capacity(input.tasks);
    for _ in 1..input.tasks {
        let (tx, next) = gosteal::chan(0);
        let from = std::mem::replace(&mut rx, next);
        links.push(gosteal::spawn(move || link(&from, &tx)));
    }
    let back = first.clone();
    links.push(gosteal::spawn(move || link(&rx, &back)));
    first.send(input.hops);
    outcome(links.into_iter().map(joined))
}

fn link(from: &Receiver<u64>, to: &Sender<u64>) -> Link {
    let mut made = 0;
    while let Some(left) = from.recv() {
        if left == 0 {
            to.close();
            return (true, made);
        }
        to.send(left - 1);
        made += 1;
    }
    to.close();
    (false, made)
}
