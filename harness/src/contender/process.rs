//! harness/src/contender/process.rs: a child process that speaks in lines. Question: how does one talk to
//! a program that may die, hang or babble, without a thread that would disturb the measurement?
//!
//! # Invariants
//! - One thread: the reply and the error output are read by `poll`, so the error pipe can never fill up.
//! - Every wait has an end: an answer, end-of-file, the time limit, or the user's wish to stop.
//! - When a `Process` is dropped its child is gone and reaped.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Why no line came.
#[derive(Debug)]
pub enum Broken {
    /// It closed its output; the status, in words, if it ended.
    Ended(String),
    /// The time limit passed.
    TimedOut,
    /// The user wants to stop now.
    Stopped,
    /// More than a line may hold, without a line end.
    TooLong,
    /// The pipe failed.
    Io(io::Error),
}

/// A running child with pipes to all three of its streams.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    errors: Option<ChildStderr>,
    pending: Vec<u8>,
    tail: Vec<u8>,
}

/// The longest reply.
const LONGEST_LINE: usize = 64 << 10;
/// What is kept of the error output.
const TAIL_BYTES: usize = 4 << 10;
/// How often a wait looks whether the user wants to stop.
const SLICE: Duration = Duration::from_millis(50);

impl Process {
    /// Starts `program`. The child is in a process group of its own, so that the terminal's interrupt
    /// reaches only us, and gets a kill signal when the calling thread ends, however that happens.
    ///
    /// # Errors
    /// The system's reason for not starting it.
    pub fn start(program: &Path, args: &[String]) -> io::Result<Process> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        let parent = std::process::id();
        // SAFETY: between fork and exec the closure makes two system calls that are async-signal-safe
        // and allocates nothing.
        unsafe { command.pre_exec(move || die_with(parent)) };
        let mut child = command.spawn()?;
        let lost = || io::Error::other("a pipe is missing");
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(lost)?;
        let errors = child.stderr.take();
        Ok(Process { child, input, output, errors, pending: Vec::new(), tail: Vec::new() })
    }

    /// Sends one line. Blocks only if the child has stopped reading and the pipe is full.
    ///
    /// # Errors
    /// If the child has closed its input.
    pub fn send(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or_else(|| io::Error::other("input is closed"))?;
        input.write_all(format!("{line}\n").as_bytes())
    }

    /// The next line without its end. Waits at most `limit`, and looks at `stop` every 50 ms.
    ///
    /// # Errors
    /// Why there is none.
    pub fn receive(&mut self, limit: Duration, stop: &dyn Fn() -> bool) -> Result<String, Broken> {
        let until = Instant::now() + limit;
        loop {
            if let Some(end) = self.pending.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.pending.len() > LONGEST_LINE {
                return Err(Broken::TooLong);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Broken::TimedOut);
            }
            if stop() {
                return Err(Broken::Stopped);
            }
            if !self.pump(left.min(SLICE)).map_err(Broken::Io)? {
                return Err(Broken::Ended(self.ending()));
            }
        }
    }

    /// Waits for either pipe and reads what is there. False once the output is closed.
    fn pump(&mut self, wait: Duration) -> io::Result<bool> {
        let errors = self.errors.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let [output_ready, errors_ready] = ready([self.output.as_raw_fd(), errors], wait)?;
        let mut chunk = [0u8; 4096];
        if errors_ready && let Some(pipe) = &mut self.errors {
            match pipe.read(&mut chunk)? {
                0 => self.errors = None,
                n => self.keep_tail(&chunk[..n]),
            }
        }
        if output_ready {
            let n = self.output.read(&mut chunk)?;
            self.pending.extend_from_slice(&chunk[..n]);
            return Ok(n > 0);
        }
        Ok(true)
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        let over = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..over);
    }

    /// How it ended: waits a moment for it to do so after it closed its output.
    fn ending(&mut self) -> String {
        match self.wait(Duration::from_millis(500)) {
            Some(status) => in_words(status),
            None => "closed its output".to_string(),
        }
    }

    /// The exit status if it comes within `limit`. Keeps reading the error output meanwhile.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + limit;
        loop {
            let status = self.child.try_wait().ok().flatten();
            let errors = self.errors.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            let pause = if status.is_some() { Duration::ZERO } else { Duration::from_millis(1) };
            while let Ok([_, true]) = ready([-1, errors], pause) {
                let mut chunk = [0u8; 4096];
                match self.errors.as_mut().map(|pipe| pipe.read(&mut chunk)) {
                    Some(Ok(n)) if n > 0 => self.keep_tail(&chunk[..n]),
                    _ => {
                        self.errors = None;
                        break;
                    }
                }
            }
            if self.errors.is_none() && status.is_none() {
                std::thread::sleep(pause);
            }
            if status.is_some() || Instant::now() >= until {
                return status;
            }
        }
    }

    /// Asks it to end by closing its input and kills it if it does not within `limit`. The status in
    /// words if it was anything but success.
    pub fn finish(&mut self, limit: Duration) -> Option<String> {
        self.input = None;
        match self.wait(limit) {
            Some(status) if status.success() => None,
            Some(status) => Some(in_words(status)),
            None => Some("did not end when asked".to_string()),
        }
    }

    /// The end of its error output: the last three lines, joined, without control characters.
    pub fn error_tail(&self) -> String {
        let text = String::from_utf8_lossy(&self.tail);
        let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" | ");
        last.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }

    /// CPU time of all its threads so far, in ns. Two system calls, no file.
    pub fn cpu_ns(&self) -> Option<u64> {
        let mut clock: libc::clockid_t = 0;
        // SAFETY: the pointer is to a local; any process id is allowed.
        let found = unsafe { libc::clock_getcpuclockid(self.child.id() as i32, &mut clock) };
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: as above; an id that has gone bad is an error, not a fault.
        (found == 0 && unsafe { libc::clock_gettime(clock, &mut time) } == 0)
            .then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    /// Stops all its threads, or lets them go on.
    pub fn freeze(&self, stop: bool) {
        let signal = if stop { libc::SIGSTOP } else { libc::SIGCONT };
        // SAFETY: the child is not reaped before `self` is dropped, so the id is still its own.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In the child, before exec: be killed when the parent's thread ends.
fn die_with(parent: u32) -> io::Result<()> {
    // SAFETY: a system call without pointers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above. Has the parent gone before the signal was asked for?
    if unsafe { libc::getppid() } as u32 != parent {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// Which of two descriptors can be read without blocking (or are at their end), within `wait`.
/// A negative one never is.
fn ready(fds: [RawFd; 2], wait: Duration) -> io::Result<[bool; 2]> {
    let mut set = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // Rounded up: 0 would turn the wait into a busy loop for its last millisecond.
    let ms = i32::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
    // SAFETY: the pointer and the length are those of a local array.
    let n = unsafe { libc::poll(set.as_mut_ptr(), set.len() as libc::nfds_t, ms) };
    if n < 0 {
        let error = io::Error::last_os_error();
        let again = error.kind() == io::ErrorKind::Interrupted;
        return if again { Ok([false; 2]) } else { Err(error) };
    }
    Ok(set.map(|p| p.revents != 0))
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn shell(script: &str) -> Process {
        Process::start(Path::new("/bin/sh"), &["-c".into(), script.into()]).unwrap()
    }

    fn never() -> bool {
        false
    }

    #[test]
    fn lines_go_both_ways() {
        let mut p = shell("while read x; do echo got $x; done");
        for word in ["one", "two"] {
            p.send(word).unwrap();
            assert_eq!(p.receive(LIMIT, &never).unwrap(), format!("got {word}"));
        }
        assert_eq!(p.finish(LIMIT), None);
    }

    #[test]
    fn an_end_names_the_status_and_keeps_the_last_words() {
        let mut p = shell("echo first >&2; echo 'the reason' >&2; exit 7");
        match p.receive(LIMIT, &never) {
            Err(Broken::Ended(how)) => assert_eq!(how, "exit status 7"),
            other => panic!("{other:?}"),
        }
        assert_eq!(p.error_tail(), "first | the reason");
        let mut p = shell("kill -9 $$");
        assert!(
            matches!(p.receive(LIMIT, &never), Err(Broken::Ended(how)) if how.contains("signal 9"))
        );
    }

    #[test]
    fn silence_ends_at_the_limit_or_when_the_user_says_so() {
        let mut p = shell("read x");
        assert!(matches!(p.receive(Duration::from_millis(5), &never), Err(Broken::TimedOut)));
        assert!(matches!(p.receive(LIMIT, &|| true), Err(Broken::Stopped)));
    }

    #[test]
    fn a_flood_without_line_ends_is_cut_and_a_full_error_pipe_blocks_nobody() {
        let mut p = shell("head -c 1000000 /dev/zero");
        assert!(matches!(p.receive(LIMIT, &never), Err(Broken::TooLong)));
        let mut p = shell("head -c 1000000 /dev/zero >&2; echo done");
        assert_eq!(p.receive(LIMIT, &never).unwrap(), "done");
    }

    #[test]
    fn cpu_time_counts_and_a_dropped_process_is_gone() {
        let mut p = shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; read x");
        p.receive(LIMIT, &never).unwrap();
        assert!(p.cpu_ns().unwrap() > 1_000_000);
        let id = p.child.id();
        drop(p);
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }
}
