//! Where do compiled regular expressions live, and for how long?
//!
//! Every distinct regular expression of the process has one [`Cell`], found by its text for as long as a regular
//! expression of that text lives. The first search that needs its automaton compiles it, on its own thread and without
//! a lock. The bytes of compiled regular expressions and of their search memory are counted. If they exceed [`MOST`],
//! regular expressions that were not used since the last round are dropped, and compiled again when they are needed. A
//! running search keeps its regular expression alive.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, TryLockError, Weak};

use arc_swap::ArcSwapOption;
use regex_automata::meta;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::{Input, MatchKind};

use super::trim::trim;

/// The maximum number of bytes of all compiled regular expressions.
const MOST: usize = 512 << 20;
/// How many threads can search for one regular expression at a time without allocating.
const SEARCHES: usize = 8;

static CACHE: LazyLock<Cache> = LazyLock::new(|| Cache::new(MOST));

/// The live regular expressions, and the size of their compiled forms.
#[derive(Debug)]
struct Cache {
    cells: papaya::HashMap<Arc<str>, Weak<Cell>, ahash::RandomState>,
    bytes: AtomicUsize,
    most: usize,
}

/// One regular expression, compiled or not.
#[derive(Debug)]
pub(super) struct Cell {
    cache: &'static Cache,
    text: Arc<str>,
    size: usize,
    compiled: ArcSwapOption<CompiledRegex>,
    /// Whether it has been used since the last round.
    used: AtomicBool,
}

#[derive(Debug)]
struct CompiledRegex {
    cache: &'static Cache,
    regex: meta::Regex,
    /// The memory of searches, which grows as automata are made deterministic along the way.
    searches: [Mutex<Search>; SEARCHES],
    /// The part of its memory that is counted.
    bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Search {
    cache: Option<Box<meta::Cache>>,
    bytes: usize,
}

/// The live regular expression with this text, if there is one.
pub(super) fn find(text: &str) -> Option<Arc<Cell>> {
    CACHE.find(text)
}

/// The regular expression with this text, which has this size when compiled.
pub(super) fn intern(text: Arc<str>, size: usize) -> Arc<Cell> {
    let cache: &'static Cache = &CACHE;
    cache.intern(text, size)
}

impl Cache {
    fn new(most: usize) -> Cache {
        Cache { cells: papaya::HashMap::default(), bytes: AtomicUsize::new(0), most }
    }

    fn find(&self, text: &str) -> Option<Arc<Cell>> {
        self.cells.pin().get(text).and_then(Weak::upgrade)
    }

    fn intern(&'static self, text: Arc<str>, size: usize) -> Arc<Cell> {
        let cell = Arc::new(Cell {
            cache: self,
            text: Arc::clone(&text),
            size,
            compiled: ArcSwapOption::empty(),
            used: AtomicBool::new(false),
        });
        // If two threads come at once, one may keep an unlisted cell, which only costs memory.
        self.cells.pin().insert(text, Arc::downgrade(&cell));
        cell
    }

    /// Drops compiled forms until a quarter of the limit is free, the recently used ones last.
    fn evict(&self) {
        for _round in 0..2 {
            for cell in self.cells.pin().values().filter_map(Weak::upgrade) {
                if self.bytes.load(Ordering::Relaxed) <= self.most / 4 * 3 {
                    return;
                }
                if !cell.used.swap(false, Ordering::Relaxed) {
                    cell.compiled.store(None);
                }
            }
        }
    }
}

impl Cell {
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn is_match(&self, text: &str) -> bool {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        let found = match &*self.compiled.load() {
            Some(compiled) => compiled.is_match(text),
            None => {
                let compiled = Arc::new(CompiledRegex::new(&self.text, self.cache));
                self.compiled.store(Some(Arc::clone(&compiled)));
                compiled.is_match(text)
            }
        };
        if self.cache.bytes.load(Ordering::Relaxed) > self.cache.most {
            self.cache.evict();
        }
        found
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // A newer cell of the same text may have replaced it.
        let _ = self.cache.cells.pin().remove_if(&*self.text, |_, cell| cell.strong_count() == 0);
    }
}

impl CompiledRegex {
    fn new(text: &str, cache: &'static Cache) -> CompiledRegex {
        let config = meta::Config::new()
            .match_kind(MatchKind::LeftmostFirst)
            .which_captures(WhichCaptures::Implicit)
            .nfa_size_limit(None)
            .onepass(false);
        // The text is a valid regular expression, so only its size, which the caller limits, could make this fail.
        let hir = match regex_syntax::parse(text) {
            Ok(hir) => trim(hir),
            Err(error) => unreachable!("the regex was validated: {error}"),
        };
        let regex = match meta::Builder::new().configure(config).build_from_hir(&hir) {
            Ok(regex) => regex,
            Err(error) => unreachable!("the regex was validated: {error}"),
        };
        let bytes = regex.memory_usage() + size_of::<CompiledRegex>();
        cache.bytes.fetch_add(bytes, Ordering::Relaxed);
        CompiledRegex { cache, regex, searches: Default::default(), bytes: AtomicUsize::new(bytes) }
    }

    fn is_match(&self, text: &str) -> bool {
        let input = Input::new(text).earliest(true);
        let first = this_thread();
        for position in 0..SEARCHES {
            let mut search = match self.searches[(first + position) % SEARCHES].try_lock() {
                Ok(search) => search,
                // Whatever ended that search, its memory is replaced.
                Err(TryLockError::Poisoned(poisoned)) => {
                    let mut search = poisoned.into_inner();
                    search.cache = None;
                    search
                }
                Err(TryLockError::WouldBlock) => continue,
            };
            let cache = search.cache.get_or_insert_with(|| Box::new(self.regex.create_cache()));
            let found = self.regex.search_half_with(cache, &input).is_some();
            let bytes = cache.memory_usage();
            if bytes > search.bytes {
                let more = bytes - std::mem::replace(&mut search.bytes, bytes);
                self.bytes.fetch_add(more, Ordering::Relaxed);
                self.cache.bytes.fetch_add(more, Ordering::Relaxed);
            }
            return found;
        }
        self.regex.search_half_with(&mut self.regex.create_cache(), &input).is_some()
    }
}

impl Drop for CompiledRegex {
    fn drop(&mut self) {
        self.cache.bytes.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

/// A number of the thread, so that threads start with different searches.
fn this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: OnceLock<usize> = const { OnceLock::new() });
    NUMBER.with(|number| *number.get_or_init(|| NEXT.fetch_add(1, Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache with this many bytes.
    fn cache(most: usize) -> &'static Cache {
        Box::leak(Box::new(Cache::new(most)))
    }

    #[test]
    fn nothing_is_compiled_before_it_is_needed() {
        let cache = cache(MOST);
        let cell = cache.intern(r"^\w{14}N".into(), 1);
        assert_eq!(cache.bytes.load(Ordering::Relaxed), 0);
        assert!(cell.is_match("aaaaaaaaaaaaaaN") && !cell.is_match("aaaaaN"));
        assert!(cache.bytes.load(Ordering::Relaxed) > 100_000);
        drop(cell);
        assert_eq!(cache.bytes.load(Ordering::Relaxed), 0);
        assert_eq!(cache.cells.pin().len(), 0);
    }

    #[test]
    fn what_is_compiled_is_bounded_and_stays_right() {
        let cache = cache(2 << 20);
        let cells: Vec<_> =
            (0..30).map(|number| cache.intern(format!(r"^\w{{4}}{number}$").into(), 1)).collect();
        for _ in 0..2 {
            for (number, cell) in cells.iter().enumerate() {
                assert!(cell.is_match(&format!("aüaa{number}")));
                assert!(!cell.is_match(&format!("aüaa{}", number + 1)));
                assert!(cache.bytes.load(Ordering::Relaxed) <= 2 << 20);
            }
        }
        let compiled = cells.iter().filter(|cell| cell.compiled.load().is_some()).count();
        assert!((1..30).contains(&compiled), "{compiled}");
    }

    #[test]
    fn the_memory_of_searches_is_counted() {
        // Its deterministic form has a state per combination of the last characters.
        let cache = cache(MOST);
        let cell = cache.intern(r"[ab]*a[ab]{12}\d".into(), 1);
        cell.is_match("");
        let before = cache.bytes.load(Ordering::Relaxed);
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 31 == 0 { 'a' } else { 'b' }
        };
        let text: String = (0..20_000).map(|_| next()).collect();
        cell.is_match(&text);
        assert!(cache.bytes.load(Ordering::Relaxed) > before + 100_000);
    }

    #[test]
    fn threads_search_at_once() {
        let cache = cache(1 << 16);
        let cell = cache.intern(r"\w+@\w+".into(), 1);
        std::thread::scope(|scope| {
            for _ in 0..2 * SEARCHES {
                scope.spawn(|| {
                    for number in 0..200 {
                        assert!(cell.is_match(&format!("x{number}@y")));
                        assert!(!cell.is_match(&format!("x{number}y")));
                    }
                });
            }
        });
    }
}
