//! Matching chunks of events in other threads, while this one, which holds the interpreter's lock,
//! decodes the next chunk and writes the results of the last.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tamis::event::OnError;
use tamis::index::MatchScratch;
use tamis::{Event, Limits};

use crate::batch::{Asked, Row};
use crate::interrupt::PATIENCE;
use crate::working::{next_event, with_working};

/// The maximum number of threads. More would be idle, because a single thread decodes and writes.
const MOST_THREADS: usize = 8;

/// Events that are matched together.
pub struct Chunk<'t> {
    /// The number of its first event in the batch.
    pub first: usize,
    /// The number of its events, including those that cannot be read.
    pub count: usize,
    /// JSON to be decoded, with line numbers.
    pub lines: Vec<(&'t [u8], usize)>,
    pub events: Vec<Event>,
    /// The decoded rows, which use the first elements of `events`.
    pub rows: Vec<Row>,
    /// Lines that cannot be read: position, line number and error.
    pub failures: Vec<(usize, usize, tamis::Error)>,
    /// Holds the matches.
    pub scratch: MatchScratch,
    /// The number of `rows` that were matched.
    pub matched: tamis::Result<usize>,
}

impl Chunk<'_> {
    /// Decodes the lines, if there are any, and matches everything. The memory that this takes is the
    /// thread's, so that it stays in the caches of a core.
    fn work(&mut self, asked: &Matching<'_>, working: &mut MatchScratch, stop: &AtomicBool) {
        let Matching { snapshot, selection, on_error, now, deadline, limits } = *asked;
        for (position, (json, line)) in self.lines.drain(..).enumerate() {
            let event = next_event(&mut self.events, self.rows.len(), now, deadline);
            match event.decode_json(json, snapshot.attributes(), limits) {
                Ok(()) => self.rows.push(Row { position, line: Some(line), document: None }),
                Err(error) => self.failures.push((position, line, error)),
            }
            let late = matches!(self.failures.last(), Some((_, _, tamis::Error::Timeout { .. })));
            if late || (!self.failures.is_empty() && on_error == OnError::Raise) {
                return;
            }
        }
        let stopped = || stop.load(Ordering::Relaxed);
        let events = &self.events[..self.rows.len()];
        working.swap_matches(&mut self.scratch);
        self.matched = snapshot.match_many(events, selection, working, &stopped);
        working.swap_matches(&mut self.scratch);
    }
}

/// The settings of a batch that the threads need.
#[derive(Clone, Copy)]
struct Matching<'a> {
    snapshot: &'a tamis::index::Snapshot,
    selection: Option<&'a tamis::index::Selection>,
    on_error: OnError,
    now: tamis::value::Timestamp,
    /// The time at which the batch fails.
    deadline: Option<tamis::Deadline>,
    limits: &'a Limits,
}

/// The chunks in progress.
pub struct Pipeline<'s, 't> {
    asked: Matching<'s>,
    stop: &'s AtomicBool,
    threads: usize,
    /// The memory for matching in this thread, if there are no others.
    working: MatchScratch,
    queue: Sender<(Chunk<'t>, SyncSender<Chunk<'t>>)>,
    /// The results of submitted chunks, in order.
    pending: VecDeque<Receiver<Chunk<'t>>>,
    /// Kept to reuse their memory.
    spare: Vec<Chunk<'t>>,
}

impl<'t> Pipeline<'_, 't> {
    /// An empty chunk whose first event has this number.
    pub fn chunk(&mut self, first: usize) -> Chunk<'t> {
        let mut chunk = self.spare.pop().unwrap_or_else(|| Chunk {
            first,
            count: 0,
            lines: Vec::new(),
            events: Vec::new(),
            rows: Vec::new(),
            failures: Vec::new(),
            scratch: MatchScratch::default(),
            matched: Ok(0),
        });
        (chunk.first, chunk.count, chunk.matched) = (first, 0, Ok(0));
        chunk.lines.clear();
        chunk.rows.clear();
        chunk.failures.clear();
        chunk
    }

    /// Submits a chunk to be matched.
    pub fn push(&mut self, py: Python<'_>, mut chunk: Chunk<'t>) {
        let (done, pending) = sync_channel(1);
        self.pending.push_back(pending);
        if self.threads == 0 {
            let working = &mut self.working;
            py.detach(|| chunk.work(&self.asked, working, self.stop));
            // The channel has room for it.
            let _ = done.send(chunk);
        } else {
            // The threads receive until the pipeline is dropped.
            let _ = self.queue.send((chunk, done));
        }
    }

    /// Whether all threads have enough to do.
    pub fn is_full(&self) -> bool {
        self.pending.len() > self.threads
    }

    /// The oldest submitted chunk, once it is matched; `None` if there is none.
    pub fn pop(&mut self, py: Python<'_>) -> PyResult<Option<Chunk<'t>>> {
        let Some(mut pending) = self.pending.pop_front() else { return Ok(None) };
        loop {
            let (back, received) = py.detach(move || {
                let received = pending.recv_timeout(PATIENCE);
                (pending, received)
            });
            py.check_signals()?;
            match received {
                Ok(chunk) => return Ok(Some(chunk)),
                Err(RecvTimeoutError::Timeout) => pending = back,
                // A thread panicked, which ends the scope of all threads.
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Returns a chunk whose results were written, for reuse.
    pub fn recycle(&mut self, chunk: Chunk<'t>) {
        self.spare.push(chunk);
    }
}

/// The number of additional threads to use, if any.
pub fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores > 1 { cores.min(MOST_THREADS) } else { 0 }
}

/// Runs `feed` with a pipeline. The threads have ended afterwards.
pub fn run<'t, T>(
    asked: &Asked<'_>,
    limits: &Limits,
    feed: impl FnOnce(&mut Pipeline<'_, 't>) -> PyResult<T>,
) -> PyResult<T> {
    let Asked { snapshot, selection, on_error, now, deadline, .. } = *asked;
    let asked = Matching { snapshot, selection, on_error, now, deadline, limits };
    let stop = AtomicBool::new(false);
    let (queue, chunks) = channel::<(Chunk<'t>, SyncSender<Chunk<'t>>)>();
    let chunks = Mutex::new(chunks);
    // One thread uses this thread's memory, which has the right size already.
    let memory = Mutex::new(vec![with_working(|working| std::mem::take(&mut working.scratch))]);
    let work = || {
        let mut working = lock(&memory).pop().unwrap_or_default();
        loop {
            let next = lock(&chunks).recv();
            let Ok((mut chunk, done)) = next else {
                lock(&memory).push(working);
                return;
            };
            chunk.work(&asked, &mut working, &stop);
            // After a failure there is no receiver.
            let _ = done.send(chunk);
        }
    };
    let fed = std::thread::scope(|scope| {
        // If a thread cannot be started, the others or this one do its work.
        let started = (0..threads()).map(|_| std::thread::Builder::new().spawn_scoped(scope, work));
        let threads = started.filter(Result::is_ok).count();
        let (pending, spare) = (VecDeque::new(), Vec::new());
        let working = MatchScratch::default();
        let fed = feed(&mut Pipeline { asked, stop: &stop, threads, working, queue, pending, spare });
        stop.store(fed.is_err(), Ordering::Relaxed);
        fed
    });
    let scratch = lock(&memory).pop().unwrap_or_default();
    with_working(|working| working.scratch = scratch);
    fed
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
