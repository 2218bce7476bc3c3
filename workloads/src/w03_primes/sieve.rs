//! Primes and loop iterations of each chunk, from a segmented sieve of smallest factors.
//!
//! The leaf code looks at i = 5, 11, 17, ... and stops at the first i with i or i + 2 dividing n, or
//! at i * i > n. Which i that is follows from the smallest prime factor of n, without the loop. A
//! number costs its iterations and one for itself.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Input;

const SEGMENT: usize = 1 << 16;

/// What the sieve knows of one input.
pub(super) struct Costs {
    /// Primes in 1..=m.
    pub(super) primes: u64,
    /// Numbers and loop iterations of the leaf code, by chunk.
    pub(super) steps: Vec<u64>,
}

/// By M and number of chunks.
type Cache = HashMap<(u64, u64), Arc<Costs>>;

/// The costs of `input`: O(m log log m) the first time, then from a cache.
pub(super) fn costs(input: Input) -> Arc<Costs> {
    static CACHE: Mutex<Option<Cache>> = Mutex::new(None);
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let known = cache.get_or_insert_default().entry((input.m, input.chunks));
    Arc::clone(known.or_insert_with(|| Arc::new(count(input))))
}

fn count(input: Input) -> Costs {
    let small = small_primes(input.m.isqrt());
    let mut costs = Costs { primes: 0, steps: vec![0; input.chunks as usize] };
    let mut factors = vec![0u32; SEGMENT];
    let size = input.m / input.chunks;
    for base in (1..=input.m).step_by(SEGMENT) {
        let len = SEGMENT.min((input.m - base + 1) as usize);
        mark(&mut factors[..len], base, &small);
        for (n, factor) in (base..).zip(&factors[..len]) {
            let factor = u64::from(*factor);
            let chunk = ((n - 1) / size).min(input.chunks - 1) as usize;
            costs.primes += u64::from(factor == 0 && n > 1);
            costs.steps[chunk] += 1 + iterations(n, factor);
        }
    }
    costs
}

/// Loop iterations for `n` with smallest prime factor `factor`, 0 if it has none up to its root.
fn iterations(n: u64, factor: u64) -> u64 {
    match factor {
        2 | 3 => 0,
        0 => {
            let root = n.isqrt();
            if root < 5 { 0 } else { (root - 5) / 6 + 1 }
        }
        p => (p - 5) / 6 + 1,
    }
}

/// For each n from `base`, its smallest prime factor up to its root, or 0.
fn mark(factors: &mut [u32], base: u64, small: &[u64]) {
    factors.fill(0);
    let end = base + factors.len() as u64;
    for &p in small.iter().take_while(|&&p| p * p < end) {
        let first = (p * p).max(base.div_ceil(p) * p);
        for n in (first..end).step_by(p as usize) {
            let slot = &mut factors[(n - base) as usize];
            if *slot == 0 {
                *slot = p as u32;
            }
        }
    }
}

fn small_primes(limit: u64) -> Vec<u64> {
    let mut composite = vec![false; limit as usize + 1];
    let mut primes = Vec::new();
    for n in 2..=limit as usize {
        if !composite[n] {
            primes.push(n as u64);
            (n * n..=limit as usize).step_by(n).for_each(|m| composite[m] = true);
        }
    }
    primes
}
