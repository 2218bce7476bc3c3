//! harness/src/plan/fit.rs: samples and sessions of the right length. Question: how many iterations
//! make a sample, how long will the plan take, and what must go if that is too long?
//!
//! # Invariants
//! - The iteration count of a cell is one number, the same for every arm, chosen once from the slowest.
//! - Cells are left out from the end of the plan, and each is listed with the reason.

use super::{Cell, Effort, Plan};

/// What starting a process, setting it up and ending it costs, in ns; measured on two-core guests.
const START_NS: u64 = 5_000_000;
/// The check pass lets each contender rest once a worker count, for so long.
const REST_NS: u64 = 25_000_000;
/// A sample's length in units of the aim when nothing is known yet: most contenders are faster than
/// the slowest, which the aim is for, but some iterations alone are longer.
const UNKNOWN_SHARE: f64 = 1.0;

/// Iterations of each sample from the price of one iteration for each arm: the slowest arm's sample
/// takes `aim`; more, up to `cap`, where the fastest would stay below `floor`. At least 1.
pub fn choose_iters(trial_ns: &[u64], effort: &Effort) -> u64 {
    let slowest = trial_ns.iter().copied().max().unwrap_or(1).max(1);
    let fastest = trial_ns.iter().copied().min().unwrap_or(1).max(1);
    let want = effort.aim_ns.div_ceil(slowest).max(effort.floor_ns.div_ceil(fastest));
    want.min(effort.cap_ns / slowest).max(1)
}

/// Wall time of `epochs` epochs of `cell`, in seconds. `trial_ns`: price of one iteration for each
/// arm, if known.
fn cell_seconds(cell: &Cell, effort: &Effort, trial_ns: Option<&[u64]>) -> f64 {
    let warm = effort.warm_window.max(effort.warm_samples / 2) as f64;
    let slots = warm + 4.0 * f64::from(effort.blocks);
    let sample = match trial_ns {
        Some(all) => all.iter().map(|t| (t * cell.iters) as f64).sum::<f64>(),
        None => UNKNOWN_SHARE * effort.aim_ns as f64 * cell.entries.len() as f64,
    };
    let start = (START_NS * cell.entries.len() as u64) as f64;
    f64::from(effort.epochs_min) * (start + slots * sample) * 1e-9
}

/// Wall time of the check pass and the fewest epochs of every cell, in seconds.
pub fn expected_seconds(plan: &Plan, trials: Option<&[Vec<u64>]>) -> f64 {
    let price = |(i, cell): (usize, &Cell)| {
        let trial = trials.map(|t| t[i].as_slice());
        cell_seconds(cell, &plan.effort, trial) + check_seconds(cell, &plan.effort)
    };
    plan.cells.iter().enumerate().map(price).sum()
}

fn check_seconds(cell: &Cell, effort: &Effort) -> f64 {
    cell.entries.len() as f64 * (START_NS + REST_NS + effort.aim_ns) as f64 * 1e-9
}

/// Leaves out, from the end of the plan, what does not fit into `seconds`; the first cell always
/// stays. `trials` (one entry a cell) keeps step with the cells. Returns how many went.
pub fn fit_budget(plan: &mut Plan, seconds: f64, trials: &mut Option<Vec<Vec<u64>>>) -> usize {
    let mut spent = 0.0;
    let mut keep = Vec::new();
    for (i, cell) in plan.cells.iter().enumerate() {
        let trial = trials.as_ref().map(|t| t[i].as_slice());
        let price = cell_seconds(cell, &plan.effort, trial);
        let price = price + trials.as_ref().map_or(check_seconds(cell, &plan.effort), |_| 0.0);
        let fits = i == 0 || spent + price <= seconds;
        if fits {
            spent += price;
        } else {
            let why = format!("does not fit the time budget: about {:.0} s", price.ceil());
            plan.left_out.insert(cell.key(), why);
        }
        keep.push(fits);
    }
    let gone = keep.iter().filter(|k| !**k).count();
    let mut flags = keep.iter();
    plan.cells.retain(|_| *flags.next().unwrap_or(&true));
    if let Some(trials) = trials {
        let mut flags = keep.iter();
        trials.retain(|_| *flags.next().unwrap_or(&true));
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORT: Effort = Effort {
        epochs_min: 8,
        epochs_max: 30,
        target_half_width: None,
        blocks: 5,
        warm_window: 8,
        warm_samples: 40,
        warm_ns: 0,
        aim_ns: 20_000_000,
        floor_ns: 5_000_000,
        cap_ns: 250_000_000,
    };

    #[test]
    fn the_slowest_arm_sets_the_count_and_the_fastest_may_raise_it_to_the_cap() {
        assert_eq!(choose_iters(&[1_000_000, 2_000_000], &EFFORT), 10);
        assert_eq!(choose_iters(&[100_000, 2_000_000], &EFFORT), 50, "floor for the fastest");
        assert_eq!(choose_iters(&[1_000, 2_000_000], &EFFORT), 125, "never above the cap");
        assert_eq!(choose_iters(&[900_000_000], &EFFORT), 1, "one iteration is the least");
        assert_eq!(choose_iters(&[0], &EFFORT), 20_000_000, "a clock that does not tick");
    }
}
