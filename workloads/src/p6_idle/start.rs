//! One empty task from a thread outside, in each runtime: a line each, so one file.
use super::Tick;
use crate::runtimes;

pub(super) fn gosteal(tick: Tick) {
    runtimes::gosteal::handle().go(tick);
}
pub(super) fn tokio(tick: Tick) {
    drop(runtimes::tokio::handle().spawn(async move { tick() }));
}
pub(super) fn rayon(tick: Tick) {
    runtimes::rayon::pool().spawn(tick);
}
pub(super) fn smol(tick: Tick) {
    runtimes::smol::EXECUTOR.spawn(async move { tick() }).detach();
}
pub(super) fn async_std(tick: Tick) {
    drop(async_std::task::spawn(async move { tick() }));
}
