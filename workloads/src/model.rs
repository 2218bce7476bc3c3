//! What the best scheduler could reach, from counted work alone.

/// The makespan of a greedy list schedule: each task, in order, to the worker that is free first.
/// In the unit of `costs`. O(tasks * workers).
pub fn list_schedule(costs: &[u64], workers: usize) -> u64 {
    let mut free_at = vec![0u64; workers.max(1)];
    for cost in costs {
        let first = free_at.iter_mut().min().expect("at least one worker");
        *first += cost;
    }
    free_at.into_iter().max().unwrap_or(0)
}

/// Speed-up over serial of the list schedule of `costs` in their order.
pub fn list_ceiling(costs: &[u64], workers: usize) -> f64 {
    ratio(costs.iter().sum(), list_schedule(costs, workers))
}

/// Speed-up that no order can beat: total work over the larger of its share and the longest task.
pub fn any_order_ceiling(costs: &[u64], workers: usize) -> f64 {
    let total: u64 = costs.iter().sum();
    let longest = costs.iter().copied().max().unwrap_or(0);
    (total as f64) / (total as f64 / workers.max(1) as f64).max(longest as f64)
}

fn ratio(total: u64, makespan: u64) -> f64 {
    if makespan == 0 { 1.0 } else { total as f64 / makespan as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_list_schedule_by_hand() {
        assert_eq!(list_schedule(&[3, 1, 1, 1], 2), 3);
        assert_eq!(list_schedule(&[1, 1, 1, 3], 2), 4, "the long one last");
        assert_eq!(list_schedule(&[5], 4), 5);
        assert_eq!(list_ceiling(&[2, 2], 2), 2.0);
    }

    #[test]
    fn model_no_order_beats_the_any_order_ceiling() {
        for costs in [&[3, 1, 1, 1][..], &[1, 1, 1, 3], &[9, 1, 1], &[4, 4, 4]] {
            for workers in 1..5 {
                assert!(
                    list_ceiling(costs, workers) <= any_order_ceiling(costs, workers) + 1e-9,
                    "{costs:?} on {workers}"
                );
            }
        }
    }
}
