//! May a forked process change what was made before the fork?
//!
//! A fork copies all memory, but only the thread that forks. If another thread was in the middle of a change, the
//! copy holds a half-finished state and a lock that is never released. Otherwise the copy is consistent, and the
//! child may change it like its parent.
//!
//! So a [`ForkLock`] counts the threads that hold it, together with their process id. A process that
//! finds holders of another process knows that those threads do not exist here.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// A lock that a forked process either finds free or fails to take; it never waits for a thread that does not exist.
#[derive(Debug)]
pub struct ForkLock<T> {
    /// What it guards, for messages.
    what: &'static str,
    /// The process id in the upper half, and how many of its threads are inside in the lower half.
    inside: AtomicU64,
    value: Mutex<T>,
}

/// A thread that is inside, and may hold the lock or others.
#[derive(Debug)]
pub struct Inside<'l>(&'l AtomicU64);

/// A thread that holds the lock.
#[derive(Debug)]
pub struct ForkGuard<'l, T> {
    value: MutexGuard<'l, T>,
    _inside: Inside<'l>,
}

impl<T> ForkLock<T> {
    /// A lock around a value; errors in a forked process say `what` it is.
    pub fn new(what: &'static str, value: T) -> ForkLock<T> {
        ForkLock { what, inside: AtomicU64::new(0), value: Mutex::new(value) }
    }

    /// Enters without taking the lock. Fails if other threads were inside when the process was forked.
    pub fn enter(&self) -> Result<Inside<'_>> {
        self.enter_as(std::process::id())
    }

    fn enter_as(&self, process: u32) -> Result<Inside<'_>> {
        let entered = self.inside.fetch_update(Ordering::AcqRel, Ordering::Acquire, |inside| {
            let (holder, threads) = ((inside >> 32) as u32, inside as u32);
            let mine = u64::from(process) << 32;
            match threads {
                0 => Some(mine | 1),
                _ => (holder == process).then_some(inside + 1),
            }
        });
        match entered {
            Ok(_) => Ok(Inside(&self.inside)),
            Err(_) => Err(Error::Forked { what: self.what }),
        }
    }

    /// Takes the lock.
    pub fn lock(&self) -> Result<ForkGuard<'_, T>> {
        let inside = self.enter()?;
        // No holder panics, and changes are published completely or not at all.
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(ForkGuard { value, _inside: inside })
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<T> Deref for ForkGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for ForkGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_another_process_are_not_waited_for() {
        let lock = ForkLock::new("index", 7);
        drop(lock.enter_as(1).unwrap());
        let (first, second) = (lock.enter_as(2).unwrap(), lock.enter_as(2).unwrap());
        let error = lock.enter_as(3).unwrap_err().to_string();
        assert!(error.contains("forked"), "{error}");
        drop(first);
        assert!(lock.enter_as(3).is_err());
        drop(second);
        drop(lock.enter_as(3).unwrap());
        assert_eq!(*lock.lock().unwrap(), 7);
        assert_eq!(lock.inside.load(Ordering::Acquire) as u32, 0);
    }
}
