//! What may differ between schedulers under comparison: constants and pure functions only.
//!
//! Question: which rule is in force? [`Policy`] is the value that a person names; [`Rules`] is what the
//! algorithm asks. [`GoRules`] answers with constants, so the reference pays nothing for being switchable;
//! every other policy is [`Policy`] itself, which reads its fields.
//!
//! # Not here
//! No atomics, no clock, no queue.

use crate::limits;

/// How much a thief takes from a ring of a given length. Spec: RQ-10, AB-10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealAmount {
    /// Half, rounded up: Go's rule.
    Half,
    /// One.
    One,
}

/// How many workers may search at once. Spec: FIND-10, AB-3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpinCap {
    /// Fewer than half of the busy Ps before joining: Go's rule.
    HalfOfBusy,
    /// Up to GOMAXPROCS (the 2012 design).
    AllProcs,
    /// Nobody admits itself; only workers started by a wake-up search.
    Never,
}

/// When a submission wakes another worker. Spec: WAKE-1, AB-4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeRule {
    /// Only while nobody searches: Go's rule.
    NoSpinner,
    /// Whenever a P is idle.
    Always,
}

/// In which order victims are visited. Spec: STEAL-2, AB-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimOrder {
    /// A random start and a random stride coprime to P: Go's rule since 1.7.
    Coprime,
    /// P independent random picks a pass (up to Go 1.6); some Ps are missed.
    Random,
}

/// Whether, and when, a thief may take runnext. Spec: RQ-11, AB-11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextSteal {
    /// In the last pass, after a pause: Go's rule.
    AfterPause,
    /// In the last pass, at once.
    NoPause,
    /// Never.
    Never,
}

/// A scheduling policy as a value: every field is one row of the specification's ablation table.
///
/// [`Policy::go`] is Go 1.26, rule for rule; everything else is that with named changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// AB-1: a goroutine just made ready runs next on this P.
    pub runnext: bool,
    /// AB-2.
    pub victim_order: VictimOrder,
    /// AB-3.
    pub spin_cap: SpinCap,
    /// AB-4.
    pub wake: WakeRule,
    /// AB-9: look at the global queue first once every this many fresh runs; 0: never.
    pub fairness_ticks: u32,
    /// AB-10.
    pub steal: StealAmount,
    /// AB-11.
    pub next_steal: NextSteal,
    /// AB-13: a finder without an idle P asks the next worker that would go idle to search instead.
    pub needspinning: bool,
    /// AB-5: sysmon asks a goroutine that has run for 10 ms to yield at its next runtime entry.
    pub preempt: bool,
}

/// One nameable change to [`Policy::go`].
struct Switch {
    name: &'static str,
    about: &'static str,
    apply: fn(&mut Policy),
}

const SWITCHES: &[Switch] = &[
    Switch {
        name: "no-runnext",
        about: "AB-1: made-ready goroutines join the ring's tail (Go up to 1.4)",
        apply: |p| p.runnext = false,
    },
    Switch {
        name: "random-victims",
        about: "AB-2: P random picks a pass instead of the coprime walk (Go up to 1.6)",
        apply: |p| p.victim_order = VictimOrder::Random,
    },
    Switch {
        name: "spin-all",
        about: "AB-3: up to GOMAXPROCS searchers (the 2012 design)",
        apply: |p| p.spin_cap = SpinCap::AllProcs,
    },
    Switch {
        name: "spin-never",
        about: "AB-3: a worker that runs dry parks without searching",
        apply: |p| p.spin_cap = SpinCap::Never,
    },
    Switch {
        name: "wake-always",
        about: "AB-4: every submission wakes a worker while a P is idle (rejected by Go's authors)",
        apply: |p| p.wake = WakeRule::Always,
    },
    Switch {
        name: "no-fairness",
        about: "AB-9: the global queue is looked at only when the ring is empty",
        apply: |p| p.fairness_ticks = 0,
    },
    Switch {
        name: "steal-one",
        about: "AB-10: a thief takes one goroutine, not half",
        apply: |p| p.steal = StealAmount::One,
    },
    Switch {
        name: "next-steal-no-pause",
        about: "AB-11: runnext of a busy P is stolen without the pause",
        apply: |p| p.next_steal = NextSteal::NoPause,
    },
    Switch {
        name: "next-steal-never",
        about: "AB-11: runnext is never stolen",
        apply: |p| p.next_steal = NextSteal::Never,
    },
    Switch {
        name: "no-needspinning",
        about: "AB-13: without the hand-over of a missed wake-up (Go up to 1.16)",
        apply: |p| p.needspinning = false,
    },
    Switch {
        name: "no-preempt",
        about: "AB-5: no time slices (Go up to 1.1)",
        apply: |p| p.preempt = false,
    },
];

/// The name of the reference policy.
const BASE: &str = "go1.26";

impl Policy {
    /// Go 1.26, rule for rule. The default.
    #[must_use]
    pub fn go() -> Policy {
        Policy {
            runnext: true,
            victim_order: VictimOrder::Coprime,
            spin_cap: SpinCap::HalfOfBusy,
            wake: WakeRule::NoSpinner,
            fairness_ticks: limits::FAIRNESS_TICKS,
            steal: StealAmount::Half,
            next_steal: NextSteal::AfterPause,
            needspinning: true,
            preempt: true,
        }
    }

    /// Reads `go1.26` followed by switches: `go1.26,no-runnext,steal-one`.
    ///
    /// # Errors
    /// One line that names the unknown part and lists what is known.
    pub fn parse(text: &str) -> Result<Policy, String> {
        let mut parts = text.split(',').map(str::trim);
        let base = parts.next().unwrap_or_default();
        if base != BASE {
            return Err(format!("policy {text:?}: must begin with {BASE}"));
        }
        let mut policy = Policy::go();
        for part in parts {
            let switch = SWITCHES.iter().find(|s| s.name == part).ok_or_else(|| {
                let known: Vec<&str> = SWITCHES.iter().map(|s| s.name).collect();
                format!("policy switch {part:?}: want one of {}", known.join(", "))
            })?;
            (switch.apply)(&mut policy);
        }
        Ok(policy)
    }

    /// The text that [`Policy::parse`] reads back.
    #[must_use]
    pub fn name(&self) -> String {
        let mut reached = Policy::go();
        let mut name = BASE.to_string();
        for switch in SWITCHES {
            let (mut mine, mut with) = (self.clone(), reached.clone());
            (switch.apply)(&mut mine);
            (switch.apply)(&mut with);
            if mine == *self && with != reached {
                reached = with;
                name = format!("{name},{}", switch.name);
            }
        }
        name
    }

    /// Every switch with what it does, for `list policies`.
    pub fn switches() -> impl Iterator<Item = (&'static str, &'static str)> {
        SWITCHES.iter().map(|s| (s.name, s.about))
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::go()
    }
}

/// What the algorithm asks of the policy in force.
pub(crate) trait Rules: 'static {
    /// Spec: RQ-5.
    fn runnext(&self) -> bool;
    /// Spec: GQ-5. `tick` is the P's count of fresh runs.
    fn fairness_due(&self, tick: u32) -> bool;
    /// Spec: FIND-10. May one more worker start searching?
    fn may_spin(&self, spinning: u32, busy: u32, procs: u32) -> bool;
    /// Spec: WAKE-1. Is a submission silent while somebody searches?
    fn quiet_while_spinning(&self) -> bool;
    /// Spec: RQ-10. How many of `len` to take.
    fn steal_amount(&self, len: u32) -> u32;
    /// Spec: STEAL-2.
    fn victim_order(&self) -> VictimOrder;
    /// Spec: RQ-11.
    fn next_steal(&self) -> NextSteal;
    /// Spec: SPIN-6.
    fn needspinning(&self) -> bool;
}

/// The reference, clause by clause, as constants.
pub(crate) struct GoRules;

impl Rules for GoRules {
    #[inline]
    fn runnext(&self) -> bool {
        true
    }
    #[inline]
    fn fairness_due(&self, tick: u32) -> bool {
        tick.is_multiple_of(limits::FAIRNESS_TICKS)
    }
    #[inline]
    fn may_spin(&self, spinning: u32, busy: u32, _procs: u32) -> bool {
        2 * spinning < busy
    }
    #[inline]
    fn quiet_while_spinning(&self) -> bool {
        true
    }
    #[inline]
    fn steal_amount(&self, len: u32) -> u32 {
        len - len / 2
    }
    #[inline]
    fn victim_order(&self) -> VictimOrder {
        VictimOrder::Coprime
    }
    #[inline]
    fn next_steal(&self) -> NextSteal {
        NextSteal::AfterPause
    }
    #[inline]
    fn needspinning(&self) -> bool {
        true
    }
}

impl Rules for Policy {
    fn runnext(&self) -> bool {
        self.runnext
    }
    fn fairness_due(&self, tick: u32) -> bool {
        self.fairness_ticks != 0 && tick.is_multiple_of(self.fairness_ticks)
    }
    fn may_spin(&self, spinning: u32, busy: u32, procs: u32) -> bool {
        match self.spin_cap {
            SpinCap::HalfOfBusy => 2 * spinning < busy,
            SpinCap::AllProcs => spinning < procs,
            SpinCap::Never => false,
        }
    }
    fn quiet_while_spinning(&self) -> bool {
        self.wake == WakeRule::NoSpinner
    }
    fn steal_amount(&self, len: u32) -> u32 {
        match self.steal {
            StealAmount::Half => len - len / 2,
            StealAmount::One => len.min(1),
        }
    }
    fn victim_order(&self) -> VictimOrder {
        self.victim_order
    }
    fn next_steal(&self) -> NextSteal {
        self.next_steal
    }
    fn needspinning(&self) -> bool {
        self.needspinning
    }
}

#[cfg(all(test, not(sched_loom)))]
mod tests {
    use super::*;

    #[test]
    fn ab_names_read_back_alone_and_together() {
        for (name, _) in Policy::switches() {
            let text = format!("{BASE},{name}");
            let policy = Policy::parse(&text).unwrap();
            assert_ne!(policy, Policy::go(), "{name} changes nothing");
            assert_eq!(policy.name(), text);
        }
        let text = "go1.26,no-runnext,no-fairness,steal-one";
        assert_eq!(Policy::parse(text).unwrap().name(), text);
        assert_eq!(Policy::parse("go1.26").unwrap(), Policy::go());
    }

    #[test]
    fn ab_unknown_names_are_refused_with_the_known_ones() {
        assert!(Policy::parse("go1.26,steal-two").unwrap_err().contains("steal-one"));
        assert!(Policy::parse("tokio").unwrap_err().contains("go1.26"));
        assert!(Policy::parse("").unwrap_err().contains("go1.26"));
    }

    /// The two sources of the reference rules agree: the constants and the value.
    #[test]
    fn ab_reference_value_and_constants_agree() {
        let value = Policy::go();
        for len in 0..=limits::RING_SLOTS {
            assert_eq!(GoRules.steal_amount(len), value.steal_amount(len));
        }
        for n in 0..200 {
            assert_eq!(GoRules.fairness_due(n), value.fairness_due(n));
            assert_eq!(GoRules.may_spin(n, 100, 128), value.may_spin(n, 100, 128));
        }
        assert_eq!(GoRules.victim_order(), value.victim_order());
        assert_eq!(GoRules.next_steal(), value.next_steal());
        assert_eq!(GoRules.runnext(), value.runnext());
        assert_eq!(GoRules.needspinning(), value.needspinning());
        assert_eq!(GoRules.quiet_while_spinning(), value.quiet_while_spinning());
    }
}
