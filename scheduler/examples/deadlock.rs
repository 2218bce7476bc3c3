//! Everybody waits: Go's report and exit status 2. `cargo run -p gosteal --example deadlock`
fn main() -> std::io::Result<()> {
    // SAFETY: no reference into thread-local storage is held across a runtime entry.
    let rt = unsafe { gosteal::Runtime::builder().procs(2).build()? };
    rt.block_on(|| {
        let (_tx, rx) = gosteal::chan::<()>(0);
        gosteal::go(|| gosteal::select! {});
        rx.recv();
    });
    Ok(())
}
