//! harness/src/measure/order.rs: every order of a session, from one recorded seed. Question: in which
//! order are processes started, warmed and timed, so that no contender profits from its place?
//!
//! # Invariants
//! - An order depends on (seed, purpose, cell, epoch, block) alone: a resumed session draws the same ones.
//! - A block is a palindrome: a linear drift of the machine cancels for every pair at once.
//! - The algorithms are written out here (PCG 64 and Fisher-Yates with rejection), so that no update of
//!   a library changes what a seed means.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng as _;

/// What an order is for; part of what it is drawn from.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// Start of the processes of an epoch.
    Start = 1,
    /// Turns of warming up.
    Warm = 2,
    /// Slots of a block.
    Block = 3,
    /// Epochs of all cells in a round.
    Round = 4,
}

/// Draws orders.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    seed: u64,
}

impl Orders {
    /// From the seed in the plan.
    pub fn new(seed: u64) -> Orders {
        Orders { seed }
    }

    /// `items` shuffled for one purpose and place. The same arguments give the same order.
    pub fn shuffle<T: Clone>(&self, items: &[T], purpose: Purpose, place: [u64; 3]) -> Vec<T> {
        // The stream is any number; PCG makes it odd. Mixing spreads neighbouring places apart.
        let stream = place.iter().fold(purpose as u64, |h, p| mix(h ^ p.wrapping_add(1)));
        let mut random = Pcg64::new(u128::from(mix(self.seed)), u128::from(stream));
        let mut out = items.to_vec();
        for i in (1..out.len()).rev() {
            out.swap(i, below(&mut random, i as u64 + 1) as usize);
        }
        out
    }

    /// The slots of a block: a shuffled order and then the same reversed.
    pub fn palindrome(&self, arms: &[usize], place: [u64; 3]) -> Vec<usize> {
        let mut out = self.shuffle(arms, Purpose::Block, place);
        out.extend(out.clone().iter().rev());
        out
    }
}

/// The finishing steps of splitmix64: every input bit reaches every output bit.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Uniform in 0..n, without bias: numbers from the incomplete last bucket are thrown away.
fn below(random: &mut Pcg64, n: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % n;
    loop {
        let draw = random.next_u64();
        if draw < limit {
            return draw % n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_depends_on_its_place_alone() {
        let arms: Vec<usize> = (0..8).collect();
        let draw = |seed, place| Orders::new(seed).palindrome(&arms, place);
        assert_eq!(draw(7, [1, 2, 3]), draw(7, [1, 2, 3]));
        assert_ne!(draw(7, [1, 2, 3]), draw(7, [1, 2, 4]));
        assert_ne!(draw(7, [1, 2, 3]), draw(7, [2, 1, 3]));
        assert_ne!(draw(7, [1, 2, 3]), draw(8, [1, 2, 3]));
    }

    #[test]
    fn a_block_is_a_palindrome_with_every_arm_twice() {
        let block = Orders::new(1).palindrome(&[4, 5, 6], [0, 0, 0]);
        assert_eq!(block, block.iter().rev().copied().collect::<Vec<_>>());
        assert_eq!(block.iter().filter(|a| **a == 5).count(), 2);
    }

    /// Goal: no arm profits from its place. Method: count who comes first, over many places.
    #[test]
    fn fc37_every_arm_is_first_about_equally_often() {
        let orders = Orders::new(2026);
        let mut first = [0u32; 4];
        for epoch in 0..4000 {
            first[orders.shuffle(&[0usize, 1, 2, 3], Purpose::Start, [0, epoch, 0])[0]] += 1;
        }
        // Binomial, mean 1000, standard deviation 27: six of them.
        assert!(first.iter().all(|n| (835..=1165).contains(n)), "{first:?}");
    }

    /// A change here would silently change what recorded seeds mean.
    #[test]
    fn the_orders_of_a_known_seed_stay_what_they_were() {
        let got = Orders::new(1).shuffle(&[0, 1, 2, 3, 4, 5, 6, 7], Purpose::Start, [0, 0, 0]);
        assert_eq!(got, [6, 2, 5, 7, 3, 1, 0, 4]);
    }
}
