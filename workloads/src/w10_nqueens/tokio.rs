//! tokio: a task for each placement, awaited in order (tokio.rs/tokio/tutorial/spawning).
use super::Board;
use crate::drive::BoxFuture;
use crate::tally::Tally;

pub(super) fn place(board: Board) -> BoxFuture<Tally> {
    Box::pin(async move {
        if let Some(full) = board.full() {
            return full;
        }
        let placed: Vec<_> = board.placements().map(|next| tokio::spawn(place(next))).collect();
        let mut sum = Tally::default();
        for task in placed {
            sum = sum + task.await.expect("a placement panicked").one_more();
        }
        sum
    })
}
