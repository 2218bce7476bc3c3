//! What goroutines wait for: channels, select, semaphores and the locks built on them, forks, handles, time.
//!
//! Every wait follows one pattern: under the structure's lock record who waits, then park with a commit that
//! releases the lock (PARK-2); a waker takes the record out under the lock, releases it, and makes the
//! goroutine ready as runnext (CHAN-7).

pub(crate) mod chan;
pub(crate) mod handle;
pub(crate) mod join;
pub(crate) mod mutex;
pub(crate) mod rwlock;
pub(crate) mod scope;
pub(crate) mod select;
pub(crate) mod sema;
pub(crate) mod time;
pub(crate) mod waitgroup;
pub(crate) mod waitq;
