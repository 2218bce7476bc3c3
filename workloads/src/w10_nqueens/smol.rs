//! smol: a task for each placement, awaited in order (docs.rs/smol, `Executor::spawn`).
use super::Board;
use crate::drive::BoxFuture;
use crate::runtimes::smol::EXECUTOR;
use crate::tally::Tally;

pub(super) fn place(board: Board) -> BoxFuture<Tally> {
    Box::pin(async move {
        if let Some(full) = board.full() {
            return full;
        }
        let placed: Vec<_> = board.placements().map(|next| EXECUTOR.spawn(place(next))).collect();
        let mut sum = Tally::default();
        for task in placed {
            sum = sum + task.await.one_more();
        }
        sum
    })
}
