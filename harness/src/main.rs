//! harness/src/main.rs: parse, call, print, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match stealbench::cli::main(std::env::args_os()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            anstream::eprintln!("stealbench: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
