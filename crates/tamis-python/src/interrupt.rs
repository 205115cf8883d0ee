//! Work that Ctrl-C ends: it runs in a thread of its own, beside one that looks for signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often long work looks whether it was interrupted.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runs `work` without the interpreter's lock. After an interrupt, waits for it to see that it should stop.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().spawn_scoped(scope, || work(&stop)).map_err(not_started)?;
        let interrupted = wait(py, || worker.is_finished());
        if interrupted.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let result = py.detach(|| worker.join());
        interrupted?;
        result.map_err(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `work` without the interpreter's lock. After an interrupt it is left alone, and ends when it sees
/// that it should stop; it must not change anything after that.
pub fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let worker = std::thread::Builder::new().spawn(move || work(&stopped)).map_err(not_started)?;
    if let Err(interrupt) = wait(py, || worker.is_finished()) {
        stop.store(true, Ordering::Relaxed);
        return Err(interrupt);
    }
    py.detach(|| worker.join()).map_err(|panic| std::panic::resume_unwind(panic))
}

/// Waits until a thread has finished, or fails with the interrupt that came before.
fn wait(py: Python<'_>, is_finished: impl Fn() -> bool + Sync) -> PyResult<()> {
    while !py.detach(|| {
        let started = Instant::now();
        while !is_finished() && started.elapsed() < PATIENCE {
            std::thread::park_timeout(Duration::from_micros(200));
        }
        is_finished()
    }) {
        py.check_signals()?;
    }
    Ok(())
}

fn not_started(error: std::io::Error) -> PyErr {
    PyRuntimeError::new_err(format!("long work needs a thread, which could not be started: {error}"))
}
