//! Work that Ctrl-C can stop. It runs in a separate thread, while this one checks for signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tamis::index::Progress;

/// The number of subscriptions, filters, nodes and edges that are added at once without checking
/// for signals.
pub const STOPPABLE: usize = 2_000;

/// How often long work and waiting calls check for interrupts.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// Runs `work` without the interpreter's lock. After an interrupt, waits until the work has
/// stopped.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    watched(py, |state| work(&state.stop), |_| Ok(()))
}

/// Like [`interruptible`], but also calls `look` regularly to report progress. If that fails, the
/// work is stopped.
pub fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Progress) -> T + Send,
    mut look: impl FnMut(&Progress) -> PyResult<()>,
) -> PyResult<T> {
    let state = Progress::default();
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().spawn_scoped(scope, || work(&state)).map_err(not_started)?;
        let interrupted = wait(py, || worker.is_finished(), || look(&state));
        if interrupted.is_err() {
            state.stop.store(true, Ordering::Relaxed);
        }
        let result = py.detach(|| worker.join());
        interrupted?;
        result.map_err(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `work` without the interpreter's lock. After an interrupt it is abandoned and ends when it
/// notices the request to stop. It must not change anything after that.
pub fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let worker = std::thread::Builder::new().spawn(move || work(&stopped)).map_err(not_started)?;
    if let Err(interrupt) = wait(py, || worker.is_finished(), || Ok(())) {
        stop.store(true, Ordering::Relaxed);
        return Err(interrupt);
    }
    py.detach(|| worker.join()).map_err(|panic| std::panic::resume_unwind(panic))
}

/// Waits until a thread has finished. Fails if an interrupt comes first, or if `look` fails.
fn wait(
    py: Python<'_>,
    is_finished: impl Fn() -> bool + Sync,
    mut look: impl FnMut() -> PyResult<()>,
) -> PyResult<()> {
    while !py.detach(|| {
        let started = Instant::now();
        while !is_finished() && started.elapsed() < PATIENCE {
            std::thread::park_timeout(Duration::from_micros(200));
        }
        is_finished()
    }) {
        py.check_signals()?;
        look()?;
    }
    Ok(())
}

fn not_started(error: std::io::Error) -> PyErr {
    PyRuntimeError::new_err(format!("long work needs a thread, which could not be started: {error}"))
}
