//! Counted work: the leaf code that every runtime runs, and its closed form.
//!
//! Work is counted in rounds, never in time: no task calibrates itself.

const MUL: u64 = 6364136223846793005;
const ADD: u64 = 1442695040888963407;

/// The work kernel W(x, R): `rounds` steps of a 64-bit linear congruence. Latency-bound, no memory.
/// Each step is opaque: without that the compiler folds eight of them into one.
#[inline(never)]
pub fn work(x: u64, rounds: u64) -> u64 {
    let mut x = x;
    for _ in 0..rounds {
        x = opaque(x.wrapping_mul(MUL).wrapping_add(ADD));
    }
    x
}

/// `x`, of which the compiler knows nothing, kept in its register. `black_box` goes through memory on
/// some targets, where a step then costs one cycle or several by the luck of the stack's address.
#[inline(always)]
fn opaque(x: u64) -> u64 {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    {
        let mut x = x;
        // SAFETY: no instruction at all, so it reads and writes nothing but the named register.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) x, options(nomem, nostack, preserves_flags));
        }
        x
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    std::hint::black_box(x)
}

/// (A, C) with `work(x, rounds) == A * x + C`, by repeated squaring: O(log rounds).
pub fn closed_form(rounds: u64) -> (u64, u64) {
    let (mut a, mut c) = (1u64, 0u64);
    let (mut step_a, mut step_c) = (MUL, ADD);
    let mut left = rounds;
    while left > 0 {
        if left & 1 == 1 {
            (a, c) = (step_a.wrapping_mul(a), step_a.wrapping_mul(c).wrapping_add(step_c));
        }
        (step_a, step_c) =
            (step_a.wrapping_mul(step_a), step_a.wrapping_mul(step_c).wrapping_add(step_c));
        left >>= 1;
    }
    (a, c)
}

/// The wrapping sum of `work(x, rounds)` over x = 0 to `tasks` - 1, without doing the work.
pub fn bag_answer(tasks: u64, rounds: u64) -> u64 {
    let (a, c) = closed_form(rounds);
    let pairs = (u128::from(tasks) * u128::from(tasks.saturating_sub(1)) / 2) as u64;
    a.wrapping_mul(pairs).wrapping_add(c.wrapping_mul(tasks))
}

/// Adds 1 to `value`, `times` times, each step opaque to the compiler. Returns the sum.
#[inline(never)]
pub fn opaque_increments(mut value: u64, times: u64) -> u64 {
    for _ in 0..times {
        value = opaque(value + 1);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that the catalogue gives, which were computed by another program.
    #[test]
    fn kernel_bag_answers_are_those_of_the_catalogue() {
        assert_eq!(bag_answer(1_000, 1_000), 18216179171214698988);
        assert_eq!(bag_answer(10_000, 1_000), 5980011238193205368);
        assert_eq!(bag_answer(100_000, 1_000), 2922423158046740912);
        assert_eq!(bag_answer(1_000_000, 100), 814749776273666528);
        assert_eq!(bag_answer(4_096, 100_000), 6867684757335832576);
    }

    /// The closed form against the loop, on sizes around the powers of two.
    #[test]
    fn kernel_closed_form_is_the_loop() {
        for rounds in [0, 1, 2, 3, 4, 7, 8, 9, 1_000] {
            let (a, c) = closed_form(rounds);
            for x in [0u64, 1, 2, u64::MAX] {
                assert_eq!(a.wrapping_mul(x).wrapping_add(c), work(x, rounds), "x {x}, {rounds}");
            }
        }
        let sum = (0..10).fold(0u64, |s, x| s.wrapping_add(work(x, 100)));
        assert_eq!(sum, bag_answer(10, 100));
    }

    #[test]
    fn kernel_increments_count() {
        assert_eq!(opaque_increments(5, 1_000), 1_005);
    }
}
