//! W10 n-queens: a task for each safe placement, most of them tiny, none the same.
//!
//! A task places a queen in the next row of a copied board and starts a task for each safe column.
//! The answer is the number of full boards, the units the number of safe placements. Both are checked
//! by another algorithm: bit masks, one thread.
use crate::cell::{Params, Size};
use crate::drive::Body;
use crate::fields::{Field, Want, each, fill};
use crate::registry::{Support, Workload};
use crate::tally::Tally;

mod async_std;
mod gosteal;
mod rayon;
mod serial;
mod smol;
mod threads;
mod tokio;

const MAX: usize = 16;

/// The registry's entry.
pub(crate) struct Nqueens;

/// A board with queens in its first `rows` rows.
#[derive(Clone, Copy)]
struct Board {
    n: u8,
    rows: u8,
    columns: [u8; MAX],
}

impl Board {
    fn empty(p: &Params) -> Board {
        Board { n: p.num("n") as u8, rows: 0, columns: [0; MAX] }
    }
    /// The leaf code: one answer, if the board is full.
    fn full(&self) -> Option<Tally> {
        (self.rows == self.n).then(|| Tally::leaf(1))
    }
    /// The leaf code: the boards with one queen more, each safe.
    fn placements(self) -> impl Iterator<Item = Board> {
        (0..self.n).filter(move |column| self.is_safe(*column)).map(move |column| {
            let mut next = self;
            next.columns[usize::from(self.rows)] = column;
            next.rows += 1;
            next
        })
    }
    fn is_safe(&self, column: u8) -> bool {
        let placed = self.columns[..usize::from(self.rows)].iter();
        placed
            .zip((1..=self.rows).rev())
            .all(|(other, distance)| *other != column && other.abs_diff(column) != distance)
    }
}

/// Full boards and safe placements, by bit masks.
fn count(n: u64) -> (u64, u64) {
    fn place(all: u32, columns: u32, left: u32, right: u32) -> (u64, u64) {
        let mut free = all & !(columns | left | right);
        let mut sum = (u64::from(columns == all), 0);
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            let (full, placed) = place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
            sum = (sum.0 + full, sum.1 + placed + 1);
        }
        sum
    }
    place((1 << n) - 1, 0, 0, 0)
}

impl Workload for Nqueens {
    fn id(&self) -> &'static str {
        "W10"
    }
    fn name(&self) -> &'static str {
        "nqueens"
    }
    fn group(&self) -> &'static str {
        "tree"
    }
    fn about(&self) -> &'static str {
        "n queens, a task for each safe placement: irregular trees of tiny tasks"
    }
    fn unit(&self) -> &'static str {
        "placement"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let n: &[&str] = match size {
            Size::Smoke => &["8", "10"],
            Size::Std => &["12", "13"],
            Size::Large => &["14"],
        };
        each("n", n, &[])
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        fill(given, &[Field("n", "8", Want::Number(1, MAX as u64))])
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        count(p.num("n"))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "rayon" | "smol" | "async-std" | "serial" => Support::Idiomatic,
            "threads" => Support::Literal,
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, workers: usize) -> Option<Body> {
        let board = Board::empty(p);
        Some(match runtime {
            "gosteal" => Body::call(move || gosteal::place(board).created()),
            "tokio" => Body::future(move || async move { tokio::place(board).await.created() }),
            "rayon" => Body::call(move || rayon::place(board).created()),
            "smol" => Body::future(move || async move { smol::place(board).await.created() }),
            "async-std" => {
                Body::future(move || async move { async_std::place(board).await.created() })
            }
            "serial" => Body::call(move || serial::place(board).inline()),
            "threads" => Body::call(move || threads::run(board, workers)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers and placements of the catalogue (14 is left to runs of that size).
    #[test]
    fn w10_answers_and_placements_are_those_of_the_catalogue() {
        assert_eq!(count(8), (92, 2_056));
        assert_eq!(count(12), (14_200, 856_188));
    }

    /// The leaf code against the bit masks.
    #[test]
    fn w10_the_leaf_code_agrees_with_the_bit_masks() {
        for n in 1..=9u64 {
            let p = Nqueens.check(&Params::of(&[("n", &n.to_string())])).unwrap();
            let tally = serial::place(Board::empty(&p));
            assert_eq!((tally.answer, tally.units), count(n), "n {n}");
        }
    }
}
