//! What the kernel knows of this process: threads, CPU time, switches, memory, allowed CPUs.
//!
//! Linux is read through /proc and libc. On other systems each function says "not known" (`None`),
//! never 0.
use std::time::{Duration, Instant};

/// CPU time, switches and peak memory of the whole process, with the monotonic clock beside them.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// User and system time of all threads, nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Switches because a thread waited.
    pub voluntary: Option<u64>,
    /// Switches because a thread's time was up.
    pub involuntary: Option<u64>,
    /// Peak resident memory, KiB.
    pub max_rss_kib: Option<u64>,
}

/// Reads [`Usage`] now. Two system calls.
pub fn usage() -> Usage {
    // SAFETY: both structures are plain integers, for which all zeroes is a value.
    let (mut rusage, mut cpu): (libc::rusage, libc::timespec) = unsafe { std::mem::zeroed() };
    // SAFETY: a valid pointer to a `rusage` of our own.
    let got_usage = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut rusage) } == 0;
    // SAFETY: a valid pointer to a `timespec` of our own.
    let got_cpu = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut cpu) } == 0;
    let count = |value: libc::c_long| got_usage.then(|| u64::try_from(value).unwrap_or(0));
    Usage {
        cpu_ns: got_cpu.then_some(cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64),
        voluntary: count(rusage.ru_nvcsw),
        involuntary: count(rusage.ru_nivcsw),
        max_rss_kib: count(rusage.ru_maxrss),
    }
}

/// Resident memory now, bytes.
pub fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: takes a number, returns a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page).ok()?)
}

/// The names of this process's threads (the kernel keeps 15 bytes of each).
pub fn thread_names() -> Option<Vec<String>> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let comm = |t: std::fs::DirEntry| std::fs::read_to_string(t.path().join("comm")).ok();
    Some(tasks.flatten().filter_map(comm).map(|name| name.trim_end().to_string()).collect())
}

/// How many threads this process has.
pub fn thread_count() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

/// How many threads other than the caller are running or runnable just now.
pub fn busy_threads() -> Option<usize> {
    let me = thread_id();
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let busy = tasks.flatten().filter(|task| task.file_name() != *me.to_string()).filter(|task| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        // The name before it may hold anything, but the state follows the last bracket.
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('R'))
    });
    Some(busy.count())
}

/// The kernel's number for the calling thread, or 0 where it is not known.
pub fn thread_id() -> u64 {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: no arguments, cannot fail.
        u64::try_from(unsafe { libc::gettid() }).unwrap_or(0)
    }
    #[cfg(not(target_os = "linux"))]
    0
}

/// The CPUs that the calling thread may run on, ascending.
pub fn allowed_cpus() -> Option<Vec<usize>> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: `cpu_set_t` is an array of integers, for which all zeroes is a value.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the size given is that of the set pointed to, which is our own.
        let rc = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
        let limit = libc::CPU_SETSIZE as usize;
        // SAFETY: every index is under CPU_SETSIZE.
        (rc == 0).then(|| (0..limit).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect())
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// What an idle process costs.
#[derive(Clone, Copy, Debug)]
pub struct IdleCost {
    /// CPU time of the process in the last window, nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Length of that window, nanoseconds.
    pub window_ns: u64,
    /// Threads that were running or runnable at its end.
    pub busy: Option<usize>,
}

/// Waits until the process has come to rest, at most a second, and says what the last 20 ms cost.
/// Whether that is too much is for the caller to say. Blocks the calling thread.
pub fn settle() -> IdleCost {
    const WINDOW: Duration = Duration::from_millis(20);
    let deadline = Instant::now() + Duration::from_secs(1);
    loop {
        let (from, before) = (Instant::now(), usage().cpu_ns);
        std::thread::sleep(WINDOW);
        let busy = busy_threads();
        let cpu_ns = usage().cpu_ns.zip(before).map(|(now, then)| now.saturating_sub(then));
        let window_ns = from.elapsed().as_nanos() as u64;
        let rested = cpu_ns.is_none_or(|cpu| cpu * 100 <= window_ns) && busy.unwrap_or(0) == 0;
        if rested || Instant::now() >= deadline {
            return IdleCost { cpu_ns, window_ns, busy };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_usage_counts_cpu_time() {
        let before = usage();
        crate::kernel::work(1, 1_000_000);
        let after = usage();
        assert!(after.cpu_ns.unwrap() > before.cpu_ns.unwrap());
        assert!(after.max_rss_kib.unwrap() > 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn system_reads_threads_and_cpus_back() {
        assert!(thread_count().unwrap() >= 1);
        assert_eq!(thread_id(), thread_id());
        assert_ne!(thread_id(), std::thread::spawn(thread_id).join().unwrap());
        assert!(!allowed_cpus().unwrap().is_empty());
        assert!(resident_bytes().unwrap() > 4096);
    }
}
