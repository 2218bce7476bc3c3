//! harness/src/verdict.rs: from epochs to statements. Question: which contender is faster in this cell, by
//! how much, and is this machine able to tell?
//!
//! # Invariants
//! - Pure: plan and epochs in, figures out. The live session, the journal's derived lines and every
//!   report call this and nothing else, so they cannot disagree.
//! - A contender that gave a wrong answer in any epoch has no times here.
//! - An interval that does not decide is never turned into a decision.

use std::collections::BTreeMap;

use crate::plan::Plan;
use crate::stats::{
    Block, Interval, Shape, describe, epoch_value, hodges_lehmann, median, median_interval,
    quantile, spearman,
};
use crate::store::{BlockRecord, Epoch, EpochFault};

/// Name and version of the method, for the record.
pub const METHOD: &str = "palindromic blocks, Huber within epochs, median over epochs, \
                          order-statistic interval; version 1";

/// A ratio of times with what stands behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// The estimate and its interval; the confidence is exact.
    pub interval: Interval,
    /// Hodges–Lehmann, the second opinion.
    pub secondary: f64,
    /// One ratio an epoch, in the order of the epochs.
    pub values: Vec<f64>,
}

/// What may be said about a contender against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval lies below 1 by more than the margin.
    Faster,
    /// The whole interval lies above 1 by more than the margin.
    Slower,
    /// The whole interval lies within the margin around 1.
    Same,
    /// The interval allows more than one of these.
    CannotTell,
    /// The session or the cell is too disturbed for any statement.
    NotMeasurable,
}

impl Verdict {
    /// As it is printed.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::CannotTell => "cannot tell",
            Verdict::NotMeasurable => "not measurable",
        }
    }

    /// In one short word, where there is a legend.
    pub fn short(self) -> &'static str {
        match self {
            Verdict::CannotTell => "open",
            Verdict::NotMeasurable => "noisy",
            other => other.word(),
        }
    }
}

/// What one contender showed in one cell.
#[derive(Clone, Debug)]
pub struct Row {
    /// Index into the plan's arms.
    pub arm: usize,
    /// How it failed; then there are no times.
    pub fault: Option<EpochFault>,
    /// Time of a unit in ns: the median of the epochs' medians.
    pub unit_ns: Option<f64>,
    /// The interval of that, once there are enough epochs.
    pub unit_interval: Option<Interval>,
    /// All samples that count, ns per unit.
    pub samples: Vec<f64>,
    /// CPU time over wall time in the timed slots: how many CPUs it kept busy.
    pub cpus_used: Option<f64>,
    /// Latency percentiles in ns, medians over epochs, by name.
    pub latency_ns: BTreeMap<String, u64>,
    /// Counters it reported, per iteration, medians over epochs.
    pub counters: BTreeMap<String, f64>,
    /// Time divided by the reference's.
    pub ratio: Option<Ratio>,
    /// Baseline's time divided by this one's.
    pub speedup: Option<Ratio>,
    /// The statement and why; none for the reference itself and without a ratio.
    pub verdict: Option<(Verdict, String)>,
    /// What must be said beside the figures.
    pub states: Vec<String>,
}

/// What a cell showed.
#[derive(Clone, Debug)]
pub struct CellResult {
    /// In the order of the cell's entries.
    pub rows: Vec<Row>,
    /// Epochs that count.
    pub kept: usize,
    /// Epochs that do not, by reason.
    pub void: BTreeMap<String, usize>,
    /// Blocks measured in the epochs that count.
    pub blocks: usize,
    /// Blocks dropped from them, by reason.
    pub dropped: BTreeMap<String, usize>,
    /// False if more blocks were dropped than the rules allow: figures then come from all blocks.
    pub measurable: bool,
}

/// A cell's epochs that count, and their blocks that do.
struct Kept<'a> {
    epochs: Vec<Vec<&'a BlockRecord>>,
    void: BTreeMap<String, usize>,
    blocks: usize,
    dropped: BTreeMap<String, usize>,
    measurable: bool,
}

fn kept<'a>(plan: &Plan, epochs: &[&'a Epoch]) -> Kept<'a> {
    let mut out = Kept {
        epochs: Vec::new(),
        void: BTreeMap::new(),
        blocks: 0,
        dropped: BTreeMap::new(),
        measurable: true,
    };
    let mut counting = Vec::new();
    for epoch in epochs {
        match &epoch.drop {
            Some(why) => *out.void.entry(why.clone()).or_insert(0) += 1,
            None => counting.push(*epoch),
        }
    }
    for block in counting.iter().flat_map(|e| &e.blocks) {
        out.blocks += 1;
        if let Some(why) = &block.drop {
            *out.dropped.entry(why.clone()).or_insert(0) += 1;
        }
    }
    let gone: usize = out.dropped.values().sum();
    out.measurable = gone as f64 <= plan.drop.dropped * out.blocks as f64;
    let all = !out.measurable;
    for epoch in counting {
        let blocks: Vec<_> = epoch.blocks.iter().filter(|b| all || b.drop.is_none()).collect();
        if !blocks.is_empty() {
            out.epochs.push(blocks);
        }
    }
    out
}

/// The two times of `arm` in a block.
fn times(block: &BlockRecord, arm: usize) -> Option<[u64; 2]> {
    let mut at = block.order.iter().zip(&block.ns).filter(|(a, _)| **a == arm).map(|(_, ns)| *ns);
    Some([at.next()?, at.next()?])
}

/// Time of `x` over time of `r`, if there are enough epochs for an interval.
fn ratio(plan: &Plan, kept: &Kept<'_>, x: usize, r: usize) -> Option<Ratio> {
    let pair = |b: &&BlockRecord| Block::of(times(b, x)?, times(b, r)?);
    let value = |blocks: &Vec<&BlockRecord>| {
        epoch_value(&blocks.iter().filter_map(pair).collect::<Vec<_>>())
    };
    let logs: Vec<f64> = kept.epochs.iter().filter_map(value).collect();
    let i = median_interval(&logs, plan.confidence)?;
    let (estimate, lo, hi) = (i.estimate.exp(), i.lo.exp(), i.hi.exp());
    Some(Ratio {
        interval: Interval { estimate, lo, hi, confidence: i.confidence },
        secondary: hodges_lehmann(&logs)?.exp(),
        values: logs.iter().map(|v| v.exp()).collect(),
    })
}

/// Whether a cell needs more epochs, judged by `epochs`: by their number and by the width of the
/// intervals, never by where these lie.
pub fn needs_more(plan: &Plan, cell: usize, epochs: &[&Epoch]) -> bool {
    let kept = kept(plan, epochs);
    if (kept.epochs.len() as u32) < plan.effort.epochs_min {
        return true;
    }
    let Some(target) = plan.effort.target_half_width else { return false };
    let wide = |arm: usize| {
        ratio(plan, &kept, arm, plan.reference)
            .is_some_and(|r| (r.interval.hi / r.interval.lo).ln() / 2.0 > target)
    };
    plan.cells[cell].entries.iter().any(|e| e.arm != plan.reference && wide(e.arm))
}

/// All that `epochs` say about a cell. Verdicts come later, when the session's margin is known.
pub fn cell_result(plan: &Plan, cell: usize, epochs: &[&Epoch]) -> CellResult {
    let kept = kept(plan, epochs);
    let fault = |arm| epochs.iter().filter_map(|e| e.fault.as_ref()).find(|f| f.arm == arm);
    let rows = plan.cells[cell]
        .entries
        .iter()
        .map(|e| match fault(e.arm) {
            Some(fault) => Row::failed(e.arm, fault.clone()),
            None => row(plan, cell, e.arm, &kept).with_process_facts(epochs),
        })
        .collect();
    CellResult {
        rows,
        kept: kept.epochs.len(),
        void: kept.void,
        blocks: kept.blocks,
        dropped: kept.dropped,
        measurable: kept.measurable,
    }
}

impl Row {
    /// Adds what the processes of the epochs that count reported beside their times.
    fn with_process_facts(mut self, epochs: &[&Epoch]) -> Row {
        let (mut cpu, mut wall) = (0u64, 0u64);
        let mut latency: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut counters: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for epoch in epochs.iter().filter(|e| e.drop.is_none()) {
            let Some(p) = epoch.processes.iter().find(|p| p.arm == self.arm) else { continue };
            let mine = |b: &BlockRecord| {
                let slots = b.order.iter().zip(&b.outside_ns).filter(|(a, _)| **a == self.arm);
                slots.map(|(_, ns)| *ns).sum::<u64>()
            };
            let iters = epoch.blocks.iter().map(|b| 2 * b.iters).sum::<u64>().max(1) as f64;
            if let Some(ns) = p.cpu_ns {
                cpu += ns;
                wall += epoch.blocks.iter().map(mine).sum::<u64>();
            }
            for (name, ns) in &p.latency_ns {
                latency.entry(name.clone()).or_default().push(*ns as f64);
            }
            for (name, n) in &p.counters {
                counters.entry(name.clone()).or_default().push(*n as f64 / iters);
            }
        }
        let middle = |v: &Vec<f64>| median(v).unwrap_or(0.0);
        self.cpus_used = (wall > 0).then(|| cpu as f64 / wall as f64);
        self.latency_ns = latency.iter().map(|(k, v)| (k.clone(), middle(v) as u64)).collect();
        self.counters = counters.iter().map(|(k, v)| (k.clone(), middle(v))).collect();
        self
    }

    fn failed(arm: usize, fault: EpochFault) -> Row {
        Row {
            arm,
            fault: Some(fault),
            unit_ns: None,
            unit_interval: None,
            samples: Vec::new(),
            cpus_used: None,
            latency_ns: BTreeMap::new(),
            counters: BTreeMap::new(),
            ratio: None,
            speedup: None,
            verdict: None,
            states: Vec::new(),
        }
    }
}

fn row(plan: &Plan, cell: usize, arm: usize, kept: &Kept<'_>) -> Row {
    let per_unit = |block: &BlockRecord, ns: u64| {
        ns as f64 / (block.iters.max(1) as f64 * plan.cells[cell].units.max(1) as f64)
    };
    let series = |blocks: &Vec<&BlockRecord>| -> Vec<f64> {
        // In order of time: a block's two slots of an arm lie on either side of its middle.
        let both = |b: &&BlockRecord| times(b, arm).map(|t| t.map(|ns| per_unit(b, ns)));
        blocks.iter().filter_map(both).flatten().collect()
    };
    let epochs: Vec<Vec<f64>> = kept.epochs.iter().map(series).filter(|s| !s.is_empty()).collect();
    let middles: Vec<f64> = epochs.iter().filter_map(|s| median(s)).collect();
    let samples: Vec<f64> = epochs.concat();
    let speedup = plan.baseline.filter(|b| *b != arm && plan.cells[cell].has(*b));
    Row {
        arm,
        fault: None,
        unit_ns: median(&middles),
        unit_interval: median_interval(&middles, plan.confidence),
        ratio: (arm != plan.reference).then(|| ratio(plan, kept, arm, plan.reference)).flatten(),
        speedup: speedup.and_then(|b| ratio(plan, kept, b, arm)),
        verdict: None,
        states: states(plan, cell, &epochs, &samples),
        samples,
        cpus_used: None,
        latency_ns: BTreeMap::new(),
        counters: BTreeMap::new(),
    }
}

/// What must be said beside the figures of a contender.
fn states(plan: &Plan, cell: usize, epochs: &[Vec<f64>], samples: &[f64]) -> Vec<String> {
    let cell = &plan.cells[cell];
    let work = (cell.iters.max(1) * cell.units.max(1)) as f64;
    let mut out = Vec::new();
    match describe(samples, 1_000.0 / work) {
        Shape::TooFew { n } => out.push(format!("too few samples: {n}")),
        Shape::TwoGroups { low, high } => out.push(format!(
            "two groups: {:.0} % near {}, {:.0} % near {}",
            100.0 * low.1,
            crate::figure::time(low.0),
            100.0 * high.1,
            crate::figure::time(high.0),
        )),
        Shape::Outliers { count, n, farthest } => {
            let how = crate::figure::ratio(farthest);
            out.push(format!(
                "{count} of {n} samples far off, farthest {how} x the median; none removed"
            ));
        }
        Shape::Plain => {}
    }
    let moves = |s: &&Vec<f64>| s.len() >= 8 && spearman(s).abs() > 0.5;
    if epochs.iter().filter(moves).count() * 2 > epochs.len().max(1) {
        out.push("drifting within its epochs".to_string());
    }
    let floor = plan.effort.floor_ns as f64;
    if median(samples).is_some_and(|m| m * work < 0.5 * floor) {
        let length = crate::figure::time(median(samples).unwrap_or(0.0) * work);
        out.push(format!("short samples: {length}"));
    }
    out
}

/// The session's margin: what the plan asks, or as far as the null arm strays in nine cells of ten,
/// whichever is more.
pub fn session_margin(plan: &Plan, results: &[CellResult]) -> f64 {
    let stray: Vec<f64> =
        null_ratios(plan, results).map(|r| r.interval.estimate.ln().abs().exp_m1()).collect();
    quantile(&stray, 0.9).unwrap_or(0.0).max(plan.margin)
}

/// The null arm's ratio in every cell that has one.
pub fn null_ratios<'a>(
    plan: &'a Plan,
    results: &'a [CellResult],
) -> impl Iterator<Item = &'a Ratio> {
    let null = plan.null_arm();
    let rows = results.iter().flat_map(|r| &r.rows);
    rows.filter(move |row| Some(row.arm) == null).filter_map(|row| row.ratio.as_ref())
}

/// Fills in the verdicts of all cells with the session's `margin`.
pub fn decide(plan: &Plan, results: &mut [CellResult], margin: f64) {
    for result in results {
        let null = plan.null_arm();
        let off = |row: &&Row| {
            row.ratio.as_ref().is_some_and(|r| {
                r.interval.lo > 1.0 + margin || r.interval.hi < 1.0 / (1.0 + margin)
            })
        };
        let null_off = result.rows.iter().filter(|r| Some(r.arm) == null).any(|r| off(&r));
        let measurable = result.measurable;
        for row in &mut result.rows {
            row.verdict = row.ratio.as_ref().map(|ratio| {
                if !measurable {
                    let why = "too many blocks were disturbed".to_string();
                    (Verdict::NotMeasurable, why)
                } else if null_off {
                    let why = "the reference differs from itself here".to_string();
                    (Verdict::NotMeasurable, why)
                } else {
                    judge(&ratio.interval, margin)
                }
            });
        }
    }
}

fn judge(i: &Interval, margin: f64) -> (Verdict, String) {
    let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
    let verdict = if i.lo > high {
        Verdict::Slower
    } else if i.hi < low {
        Verdict::Faster
    } else if low <= i.lo && i.hi <= high {
        Verdict::Same
    } else {
        Verdict::CannotTell
    };
    let why = match verdict {
        Verdict::CannotTell => "the interval reaches into the margin around 1",
        Verdict::Same => "the interval lies within the margin around 1",
        _ => "the interval lies outside the margin around 1",
    };
    (verdict, why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(lo: f64, hi: f64) -> Interval {
        Interval { estimate: (lo * hi).sqrt(), lo, hi, confidence: 0.99 }
    }

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        let of = |lo, hi| judge(&interval(lo, hi), 0.01).0;
        assert_eq!(of(1.02, 1.10), Verdict::Slower);
        assert_eq!(of(0.80, 0.98), Verdict::Faster);
        assert_eq!(of(0.995, 1.005), Verdict::Same);
        assert_eq!(of(0.97, 1.02), Verdict::CannotTell);
        assert_eq!(of(1.005, 1.10), Verdict::CannotTell, "lo is inside the margin");
    }
}
