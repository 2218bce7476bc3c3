//! The worker program alone, for this crate's tests and for whoever speaks the protocol by hand.

fn main() {
    std::process::exit(stealbench_workloads::worker::main(std::env::args().skip(1)));
}
