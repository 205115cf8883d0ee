//! How does a structure change while others read it?
//!
//! Readers take the current version and never wait. Writers take turns; each publishes the next version by swapping
//! one pointer. Work that need not be done at once, such as merging segments, is left to one background thread: see
//! [`Maintained`]. [`next_run`] says which segments are worth merging.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use crate::error::Result;
use crate::fork::{ForkGuard, ForkLock, Inside};

/// How many neighbouring segments of one size class are merged, which is also the ratio between classes.
pub const MERGE: usize = 8;

/// How long a thread that waits for the background thread sleeps at a time.
const NAP: Duration = Duration::from_millis(1);

/// The current version, and the lock for publishing the next; `W` is the state that only writers need.
#[derive(Debug)]
pub struct Versioned<S, W = ()> {
    writer: ForkLock<W>,
    current: ArcSwap<S>,
}

/// The current writer.
pub struct Writing<'v, S, W> {
    /// What only writers see.
    pub state: ForkGuard<'v, W>,
    /// The version that the next one follows.
    pub current: Arc<S>,
    versions: &'v ArcSwap<S>,
}

impl<S, W> Versioned<S, W> {
    /// `what` names the structure in messages.
    pub fn new(what: &'static str, first: S, state: W) -> Versioned<S, W> {
        Versioned { writer: ForkLock::new(what, state), current: ArcSwap::from_pointee(first) }
    }

    /// The current version.
    pub fn current(&self) -> Arc<S> {
        self.current.load_full()
    }

    /// Waits for the write lock. Fails in a forked process if another thread held it at the fork.
    pub fn write(&self) -> Result<Writing<'_, S, W>> {
        let state = self.writer.lock()?;
        Ok(Writing { state, current: self.current(), versions: &self.current })
    }

    /// Starts to prepare a change without the write lock; fails like [`Versioned::write`].
    pub fn enter(&self) -> Result<Inside<'_>> {
        self.writer.enter()
    }
}

impl<S, W> Writing<'_, S, W> {
    /// Publishes the next version, and releases the lock.
    pub fn publish(self, next: S) {
        self.versions.store(Arc::new(next));
    }
}

/// The background thread: which process has one, and whether it may continue.
#[derive(Debug, Default)]
pub struct Background {
    /// The process whose thread holds the lease, or 0: a forked process has no such thread.
    holder: AtomicU32,
    /// Whether the work met a damaged file, after which no more is done.
    damaged: AtomicBool,
}

impl Background {
    /// Whether the background thread has found damaged files.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Acquire)
    }
}

/// A structure that a background thread maintains. Without that thread it only gets slower.
pub trait Maintained: Send + Sync + Sized + 'static {
    /// The name of the thread.
    const THREAD: &'static str;

    /// How much work may be left undone.
    type Rest: Copy + Send + 'static;

    /// The lease of the one background thread.
    fn background(&self) -> &Background;

    /// Whether more than this is left to do.
    fn is_due(&self, rest: Self::Rest) -> bool;

    /// Does a part of the work. Fails if a file is damaged: the file then stays as it is, and readers get the error.
    fn maintain(&self) -> Result<()>;

    /// Starts the thread, unless it is running or there is nothing to do. False only if it cannot be started.
    fn start(self: &Arc<Self>, rest: Self::Rest) -> bool {
        if !has_work(&**self, rest) {
            return true;
        }
        let Some(lease) = BackgroundLease::take(self) else { return true };
        // If the thread cannot be started, dropping the closure returns the lease.
        thread::Builder::new().name(Self::THREAD.into()).spawn(move || lease.work(rest)).is_ok()
    }

    /// Waits until everything is done, and works on this thread if no other does.
    fn settle(self: &Arc<Self>, rest: Self::Rest) {
        while has_work(&**self, rest) {
            match BackgroundLease::take(self) {
                None => thread::sleep(NAP),
                Some(lease) => lease.work(rest),
            }
        }
    }

    /// Waits until everything is done, but not much longer than this; returns whether it is.
    fn settle_within(self: &Arc<Self>, rest: Self::Rest, patience: Duration) -> bool {
        let started = Instant::now();
        while has_work(&**self, rest) {
            if started.elapsed() > patience {
                return false;
            }
            if !self.start(rest) {
                self.settle(rest);
            }
            thread::sleep(NAP);
        }
        true
    }
}

fn has_work<T: Maintained>(shared: &T, rest: T::Rest) -> bool {
    !shared.background().is_damaged() && shared.is_due(rest)
}

/// The right of one thread to work in the background; returned on drop, in whatever way that happens.
struct BackgroundLease<T: Maintained>(Arc<T>);

impl<T: Maintained> BackgroundLease<T> {
    fn take(shared: &Arc<T>) -> Option<BackgroundLease<T>> {
        let holder = &shared.background().holder;
        let (mine, found) = (std::process::id(), holder.load(Ordering::Acquire));
        let taken = found != mine
            && holder.compare_exchange(found, mine, Ordering::AcqRel, Ordering::Acquire).is_ok();
        taken.then(|| BackgroundLease(Arc::clone(shared)))
    }

    /// Works until everything is done.
    fn work(self, rest: T::Rest) {
        let shared = Arc::clone(&self.0);
        let mut lease = Some(self);
        while let Some(held) = lease {
            while has_work(&*shared, rest) {
                if shared.maintain().is_err() {
                    shared.background().damaged.store(true, Ordering::Release);
                }
            }
            drop(held);
            // A writer may have come in between, seen a working thread, and left its work to it.
            lease = if has_work(&*shared, rest) { BackgroundLease::take(&shared) } else { None };
        }
    }
}

impl<T: Maintained> Drop for BackgroundLease<T> {
    fn drop(&mut self) {
        self.0.background().holder.store(0, Ordering::Release);
    }
}

/// The last run of at least [`MERGE`] neighbours of at most one size class. Segments without a size are not merged.
pub fn next_run<T>(segments: &[T], size: impl Fn(&T) -> Option<usize>) -> Option<Range<usize>> {
    let class = |segment: &T| size(segment).map(|size| size.max(1).ilog(MERGE));
    let mut end = segments.len();
    while let Some(last) = end.checked_sub(1) {
        let highest = class(&segments[last]);
        let fits = |segment: &&T| class(segment).is_some_and(|class| Some(class) <= highest);
        let run = segments[..end].iter().rev().take_while(fits).count();
        if run >= MERGE {
            return Some(end - run..end);
        }
        end -= run.max(1);
    }
    None
}

/// Whether segments with this many slots are worth rebuilding without the removed ones.
pub fn is_mostly_removed(slots: usize, removed: usize) -> bool {
    2 * removed > slots + 1024
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::error::Error;

    #[derive(Default)]
    struct Chores {
        left: AtomicUsize,
        background: Background,
        fails: bool,
    }

    impl Maintained for Chores {
        const THREAD: &'static str = "test";
        type Rest = usize;

        fn background(&self) -> &Background {
            &self.background
        }

        fn is_due(&self, rest: usize) -> bool {
            self.left.load(Ordering::Acquire) > rest
        }

        fn maintain(&self) -> Result<()> {
            self.left.fetch_sub(1, Ordering::AcqRel);
            if self.fails { Err(Error::Cancelled) } else { Ok(()) }
        }
    }

    fn chores(left: usize) -> Arc<Chores> {
        Arc::new(Chores { left: left.into(), ..Chores::default() })
    }

    #[test]
    fn a_version_stays_for_those_who_read_it() {
        let versions = Versioned::new("number", 1, "state");
        let before = versions.current();
        let mut writing = versions.write().unwrap();
        *writing.state = "next";
        let next = *writing.current + 1;
        writing.publish(next);
        assert_eq!((*before, *versions.current(), *versions.write().unwrap().state), (1, 2, "next"));
    }

    #[test]
    fn work_is_done_here_or_behind() {
        let shared = chores(5);
        assert!(shared.start(2) && shared.settle_within(2, Duration::from_secs(60)));
        shared.settle(0);
        assert_eq!(shared.left.load(Ordering::Acquire), 0);
    }

    #[test]
    fn one_thread_of_a_process_has_the_lease() {
        let shared = chores(1);
        let lease = BackgroundLease::take(&shared).unwrap();
        assert!(BackgroundLease::take(&shared).is_none());
        assert!(shared.start(0), "another thread is at work");
        assert!(!shared.settle_within(0, Duration::ZERO));
        drop(lease);
        // A thread of the parent process does not exist here.
        shared.background.holder.store(std::process::id() + 1, Ordering::Release);
        drop(BackgroundLease::take(&shared).unwrap());
        shared.settle(0);
    }

    #[test]
    fn damage_ends_the_work() {
        let shared = Arc::new(Chores { left: 9.into(), fails: true, ..Chores::default() });
        shared.settle(0);
        assert!(shared.background.is_damaged());
        assert_eq!(shared.left.load(Ordering::Acquire), 8);
    }

    #[test]
    fn runs_of_one_size_class() {
        let run = |sizes: &[usize]| next_run(sizes, |size| (*size < 1000).then_some(*size));
        assert_eq!(run(&[1; 7]), None);
        assert_eq!(run(&[1; 9]), Some(0..9));
        assert_eq!(run(&[70, 1, 1, 1, 1, 1, 1, 1, 9]), Some(1..9));
        assert_eq!(run(&[1, 1, 1, 1, 1, 1, 1, 1, 2000, 1]), Some(0..8));
        assert_eq!(run(&[2000; 9]), None);
        assert!(is_mostly_removed(1025, 1025) && !is_mostly_removed(2024, 1524));
    }
}
