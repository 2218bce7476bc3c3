//! The worker side of the line protocol.
use std::io::{self, BufRead, Write};

/// Serves one contender until `quit` or end of input. `runtime` is a name from the registry.
///
/// # Errors
/// Only of reading and writing the two streams; a fault of a workload is an `error` line.
pub fn serve(runtime: &str, input: impl BufRead, output: impl Write) -> io::Result<()> {
    let _ = (runtime, input, output);
    Ok(())
}
