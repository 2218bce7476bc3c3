//! harness/src/measure/noise.rs: who else used the machine. Question: how much of the CPU time in a block
//! went to the hypervisor or to programs that are not part of the measurement?
//!
//! # Invariants
//! - The kernel counts in ticks (10 ms): what the counters cannot resolve is not held against a block.
//! - Where a counter is missing the share is `None`, never 0.

use std::time::Instant;

use super::epoch::Outside;

/// Shares of a block's capacity (wall time times usable CPUs), 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Taken by the hypervisor.
    pub steal: Option<f64>,
    /// Used by other programs.
    pub foreign: Option<f64>,
}

/// Counters of the usable CPUs, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counters {
    busy: u64,
    steal: u64,
}

/// The real machine.
pub struct RealOutside {
    start: Instant,
    cpus: Vec<usize>,
    tick_ns: u64,
    open: Option<(u64, Option<Counters>, Option<u64>)>,
}

impl RealOutside {
    /// Watches `cpus`, the numbers of the CPUs that this process may use.
    pub fn new(cpus: Vec<usize>) -> RealOutside {
        // SAFETY: a call without pointers.
        let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        let tick_ns = 1_000_000_000 / u64::try_from(hz).unwrap_or(100).max(1);
        RealOutside { start: Instant::now(), cpus, tick_ns, open: None }
    }

    fn counters(&self) -> Option<Counters> {
        parse(&std::fs::read_to_string("/proc/stat").ok()?, &self.cpus, self.tick_ns)
    }
}

impl Outside for RealOutside {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn block_starts(&mut self, contenders_cpu_ns: Option<u64>) {
        let own = contenders_cpu_ns.zip(own_cpu_ns()).map(|(a, b)| a + b);
        self.open = Some((self.now_ns(), self.counters(), own));
    }

    fn block_ends(&mut self, contenders_cpu_ns: Option<u64>) -> Noise {
        let Some((from, before, own_before)) = self.open.take() else { return Noise::default() };
        let Some((before, after)) = before.zip(self.counters()) else { return Noise::default() };
        let capacity = (self.now_ns() - from) as f64 * self.cpus.len().max(1) as f64;
        let own = contenders_cpu_ns.zip(own_cpu_ns()).map(|(a, b)| a + b).zip(own_before);
        let share = |ns: u64, unseen: u64| ns.saturating_sub(unseen) as f64 / capacity;
        let busy = after.busy.saturating_sub(before.busy);
        Noise {
            steal: Some(share(after.steal.saturating_sub(before.steal), self.tick_ns)),
            foreign: own.map(|(now, then)| {
                share(busy.saturating_sub(now.saturating_sub(then)), 2 * self.tick_ns)
            }),
        }
    }
}

/// Sums the lines of `cpus` in the text of `/proc/stat`.
fn parse(text: &str, cpus: &[usize], tick_ns: u64) -> Option<Counters> {
    let mut sum = Counters { busy: 0, steal: 0 };
    let mut found = false;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|w| w.strip_prefix("cpu")).and_then(|n| n.parse().ok());
        if !number.is_some_and(|n: usize| cpus.contains(&n)) {
            continue;
        }
        let ticks: Vec<u64> = words.map_while(|w| w.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is inside user.
        let at = |i: usize| ticks.get(i).copied().unwrap_or(0);
        sum.busy += (at(0) + at(1) + at(2) + at(5) + at(6)) * tick_ns;
        sum.steal += at(7) * tick_ns;
        found = true;
    }
    found.then_some(sum)
}

/// CPU time of this process, in ns.
fn own_cpu_ns() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local.
    let got = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    (got == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_usable_cpus_count_and_idle_is_not_busy() {
        let text =
            "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 50 4 5 6 0 0\ncpu1 7 0 0 9 0 0 0 1\nintr 5";
        let got = parse(text, &[0], 10).unwrap();
        assert_eq!(got, Counters { busy: (1 + 2 + 3 + 4 + 5) * 10, steal: 60 });
        assert_eq!(parse(text, &[0, 1], 10).unwrap().steal, 70);
        assert_eq!(parse(text, &[7], 10), None);
    }
}
