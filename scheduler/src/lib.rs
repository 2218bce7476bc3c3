//! gosteal: signatures only, for the first hour; the implementation replaces this file.
#![allow(missing_docs, clippy::todo, unused_variables, clippy::missing_safety_doc)]
use std::time::Duration;

pub struct Policy;
impl Policy {
    /// Go 1.26, rule for rule.
    pub fn go() -> Policy { todo!() }
    /// `"go1.26"`, `"go1.26,no-runnext,steal-one"`...
    pub fn parse(text: &str) -> Result<Policy, String> { todo!() }
    /// The name that `parse` reads back.
    pub fn name(&self) -> String { todo!() }
}
pub struct Builder;
impl Builder {
    pub fn procs(self, n: usize) -> Self { todo!() }
    pub fn policy(self, p: Policy) -> Self { todo!() }
    /// Reserved bytes a goroutine stack may grow to (default 256 KiB).
    pub fn stack_size(self, bytes: usize) -> Self { todo!() }
    pub unsafe fn build(self) -> std::io::Result<Runtime> { todo!() }
}
pub struct Runtime;
impl Runtime {
    pub fn builder() -> Builder { todo!() }
    /// Runs `f` as a goroutine, waits for it from this (outside) thread, returns its value.
    pub fn block_on<T: Send, F: FnOnce() -> T + Send>(&self, f: F) -> T { todo!() }
    pub fn handle(&self) -> Handle { todo!() }
    pub fn procs(&self) -> usize { todo!() }
    pub fn metrics(&self) -> Metrics { todo!() }
}
#[derive(Clone)]
pub struct Handle;
impl Handle {
    /// `go` from any thread.
    pub fn go<F: FnOnce() + Send + 'static>(&self, f: F) { todo!() }
    pub fn metrics(&self) -> Metrics { todo!() }
}
/// Counters since start; all monotonic but the gauges.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    pub goroutines_created: u64, pub goroutines: u64, pub threads: u64, pub steals: u64, pub stolen: u64,
    pub wakes: u64, pub parks: u64, pub searches: u64, pub global_gets: u64, pub overflows: u64,
    pub jobs_stolen: u64, pub handoffs: u64, pub preempts: u64,
}
pub fn go<F: FnOnce() + Send + 'static>(f: F) { todo!() }
pub struct JoinHandle<T>(std::marker::PhantomData<T>);
impl<T> JoinHandle<T> {
    /// The value, or the payload of the goroutine's panic.
    pub fn join(self) -> std::thread::Result<T> { todo!() }
}
pub fn spawn<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(f: F) -> JoinHandle<T> { todo!() }
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where A: FnOnce() -> RA + Send, B: FnOnce() -> RB + Send, RA: Send, RB: Send { todo!() }
pub struct Scope<'s>(std::marker::PhantomData<&'s ()>);
impl<'s> Scope<'s> {
    pub fn spawn<F: FnOnce(&Scope<'s>) + Send + 's>(&self, f: F) { todo!() }
}
/// Returns when all that was spawned on the scope has ended. As `rayon::scope`.
pub fn scope<'s, R, F: FnOnce(&Scope<'s>) -> R>(f: F) -> R { todo!() }
pub fn yield_now() { todo!() }
pub fn goexit() -> ! { todo!() }
pub fn checkpoint() { todo!() }
pub fn num_goroutine() -> usize { todo!() }
/// GOMAXPROCS of the current runtime.
pub fn procs() -> usize { todo!() }
/// A call that may block in the kernel: the P stays wired and may be retaken (SC-2).
pub fn syscall<T>(f: impl FnOnce() -> T) -> T { todo!() }
/// A call known to block: the P is handed off at once (SC-7).
pub fn blocking<T>(f: impl FnOnce() -> T) -> T { todo!() }
pub mod time {
    use super::*;
    pub fn sleep(d: Duration) { todo!() }
    pub fn after(d: Duration) -> Receiver<std::time::Instant> { todo!() }
}
/// Capacity 0 is a rendezvous. Dropping the ends does not close: Go's rule.
pub fn chan<T: Send>(cap: usize) -> (Sender<T>, Receiver<T>) { todo!() }
pub struct Sender<T>(std::marker::PhantomData<T>);
pub struct Receiver<T>(std::marker::PhantomData<T>);
impl<T> Clone for Sender<T> { fn clone(&self) -> Self { todo!() } }
impl<T> Clone for Receiver<T> { fn clone(&self) -> Self { todo!() } }
unsafe impl<T: Send> Send for Sender<T> {}
unsafe impl<T: Send> Sync for Sender<T> {}
unsafe impl<T: Send> Send for Receiver<T> {}
unsafe impl<T: Send> Sync for Receiver<T> {}
pub enum TrySendError<T> { Full(T) }
pub enum TryRecvError { Empty, Closed }
impl<T: Send> Sender<T> {
    /// Panics with `send on closed channel`.
    pub fn send(&self, v: T) { todo!() }
    pub fn try_send(&self, v: T) -> Result<(), TrySendError<T>> { todo!() }
    pub fn close(&self) { todo!() }
    pub fn len(&self) -> usize { todo!() }
    pub fn is_empty(&self) -> bool { todo!() }
    pub fn cap(&self) -> usize { todo!() }
}
impl<T: Send> Receiver<T> {
    /// `None`: closed and drained.
    pub fn recv(&self) -> Option<T> { todo!() }
    pub fn try_recv(&self) -> Result<T, TryRecvError> { todo!() }
    pub fn len(&self) -> usize { todo!() }
    pub fn is_empty(&self) -> bool { todo!() }
    pub fn cap(&self) -> usize { todo!() }
}
/// `select! { recv(rx) -> v => .., send(tx, value) => .., default => .. }`, `v: Option<T>`.
#[macro_export]
macro_rules! select { ($($t:tt)*) => { todo!() } }
pub mod sync {
    use std::marker::PhantomData;
    use std::ops::{Deref, DerefMut};
    #[derive(Clone)]
    pub struct WaitGroup;
    impl WaitGroup {
        pub fn new() -> Self { todo!() }
        pub fn add(&self, n: i64) { todo!() }
        pub fn done(&self) { todo!() }
        pub fn wait(&self) { todo!() }
        pub fn go<F: FnOnce() + Send + 'static>(&self, f: F) { todo!() }
    }
    pub struct Mutex<T>(T);
    pub struct MutexGuard<'a, T>(PhantomData<&'a T>);
    impl<T> Mutex<T> {
        pub const fn new(v: T) -> Self { Mutex(v) }
        pub fn lock(&self) -> MutexGuard<'_, T> { todo!() }
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> { todo!() }
    }
    impl<T> Deref for MutexGuard<'_, T> { type Target = T; fn deref(&self) -> &T { todo!() } }
    impl<T> DerefMut for MutexGuard<'_, T> { fn deref_mut(&mut self) -> &mut T { todo!() } }
    pub struct RwLock<T>(T);
    pub struct ReadGuard<'a, T>(PhantomData<&'a T>);
    pub struct WriteGuard<'a, T>(PhantomData<&'a T>);
    impl<T> RwLock<T> {
        pub const fn new(v: T) -> Self { RwLock(v) }
        pub fn read(&self) -> ReadGuard<'_, T> { todo!() }
        pub fn write(&self) -> WriteGuard<'_, T> { todo!() }
    }
    impl<T> Deref for ReadGuard<'_, T> { type Target = T; fn deref(&self) -> &T { todo!() } }
    impl<T> Deref for WriteGuard<'_, T> { type Target = T; fn deref(&self) -> &T { todo!() } }
    impl<T> DerefMut for WriteGuard<'_, T> { fn deref_mut(&mut self) -> &mut T { todo!() } }
}
