//! The worker side of the line protocol.
//!
//! # The fault knob
//! So that the harness's tests can prove that a bad contender is refused, the environment variable
//! `STEALBENCH_FAULT`, read here and nowhere else, spoils this worker on purpose:
//! `answer` (every answer is one too high), `die` (the process ends with status 3 in the middle of
//! `run`), `hang` (`run` never answers), `garbage` (the reply to `run` is no reply), `panic` (the
//! workload panics inside the runtime, in `check` and in `run`). `KIND@RUNTIME` spoils only the worker
//! of that runtime; `KIND#N` and `KIND@RUNTIME#N` only from its `N`th `run` on (`panic`: always).
//!
//! # Not here
//! Nothing but replies is written to the output: it belongs to the protocol.
use std::io::{self, BufRead, Write};

use crate::drive::{Body, Outcome};
use crate::protocol::{Checked, Fields, Greeting, PROTO, Reply, Request};
use crate::session::{Refusal, Session};

const FAULT_VARIABLE: &str = "STEALBENCH_FAULT";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Answer,
    Die,
    Hang,
    Garbage,
    Panic,
}

impl Fault {
    /// The fault of the worker for `runtime`, and the number of the `run` from which it shows.
    fn from_env(runtime: &str) -> io::Result<(Fault, u64)> {
        let text = std::env::var(FAULT_VARIABLE).unwrap_or_default();
        Fault::parse(&text, runtime)
            .ok_or_else(|| {
                let want = "answer, die, hang, garbage or panic, then @RUNTIME, #N or both";
                format!("{FAULT_VARIABLE}={text}: want {want}")
            })
            .map_err(|message| io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    fn parse(text: &str, runtime: &str) -> Option<(Fault, u64)> {
        let (text, from) = text.split_once('#').unwrap_or((text, "0"));
        let (kind, whom) = text.split_once('@').unwrap_or((text, runtime));
        let kind = match kind {
            "" => Fault::None,
            "answer" => Fault::Answer,
            "die" => Fault::Die,
            "hang" => Fault::Hang,
            "garbage" => Fault::Garbage,
            "panic" => Fault::Panic,
            _ => return None,
        };
        Some((if whom == runtime { kind } else { Fault::None }, from.parse().ok()?))
    }
}

/// Serves one contender until `quit` or end of input. `runtime` is a name from the registry.
///
/// # Errors
/// Of reading and writing the two streams, an unknown `runtime`, an unknown value of the fault knob;
/// a fault of a workload is an `error` line and the worker goes on.
pub fn serve(runtime: &str, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let (knob, from) = Fault::from_env(runtime)?;
    let mut runs = 0;
    let invalid = |message| io::Error::new(io::ErrorKind::InvalidInput, message);
    let mut session = Session::new(runtime).map_err(invalid)?;
    for line in input.lines() {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        let request = Request::parse(&line);
        runs += u64::from(matches!(request, Ok(Request::Run { .. })));
        let fault = if runs >= from || knob == Fault::Panic { knob } else { Fault::None };
        let quit = request == Ok(Request::Quit);
        let reply = match request {
            Ok(request) => answer(&mut session, &request, fault),
            Err(reason) => Reply::Error(reason),
        };
        let garbled = fault == Fault::Garbage && line.starts_with("run");
        let text = if garbled { "%%% no reply %%%".into() } else { reply.encode() };
        writeln!(output, "{text}")?;
        output.flush()?;
        if quit {
            break;
        }
    }
    Ok(())
}

fn answer(session: &mut Session, request: &Request, fault: Fault) -> Reply {
    let spoil = |checked: &mut Checked| {
        checked.answer = checked.answer.wrapping_add(u64::from(fault == Fault::Answer));
    };
    let result = match request {
        Request::Hello => Ok(greeting(session).to_fields()),
        Request::Quit => Ok(Fields::default()),
        Request::Park => Ok(session.park().to_fields()),
        Request::Setup(setup) => match session.setup(setup) {
            Ok(facts) => {
                if fault == Fault::Panic {
                    session.replace_body(Body::call(panicking));
                }
                Ok(facts.to_fields())
            }
            Err(Refusal::Unsupported(reason)) => return Reply::Unsupported(reason),
            Err(Refusal::Error(reason)) => Err(reason),
        },
        Request::Check => session.check().map(|mut checked| {
            spoil(&mut checked);
            checked.to_fields()
        }),
        Request::Run { iters } => {
            misbehave(fault);
            session.run(*iters).map(|mut sample| {
                spoil(&mut sample.checked);
                sample.to_fields()
            })
        }
    };
    result.map_or_else(Reply::Error, Reply::Ok)
}

fn greeting(session: &Session) -> Greeting {
    let info = session.runtime();
    Greeting {
        proto: PROTO,
        runtime: info.name.into(),
        version: info.version.into(),
        lang: "rust".into(),
        pid: u64::from(std::process::id()),
    }
}

fn panicking() -> Outcome {
    panic!("injected by {FAULT_VARIABLE}")
}

/// The faults that never come back.
fn misbehave(fault: Fault) {
    match fault {
        Fault::Die => std::process::exit(3),
        Fault::Hang => loop {
            std::thread::park();
        },
        _ => {}
    }
}

/// The worker as a program: `<program> worker --runtime NAME`, on stdin and stdout. Returns the exit
/// code: 0 after `quit` or end of input, 1 if a stream failed, 2 for bad arguments.
pub fn main(arguments: impl Iterator<Item = String>) -> i32 {
    let arguments: Vec<String> = arguments.collect();
    let [verb, flag, runtime] = arguments.as_slice() else {
        eprintln!("want: worker --runtime NAME");
        return 2;
    };
    if verb != "worker" || flag != "--runtime" {
        eprintln!("{verb} {flag}: want worker --runtime NAME");
        return 2;
    }
    match serve(runtime, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("worker: {e}");
            if e.kind() == io::ErrorKind::InvalidInput { 2 } else { 1 }
        }
    }
}
