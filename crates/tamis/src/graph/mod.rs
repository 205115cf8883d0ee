//! Which nodes of a graph does an event reach over nodes and edges that accept it?
//!
//! Publishers and subscribers are connected through intermediaries, each with its own expression
//! (Broder et al. 2011). An event starts at a source and reaches a node if every node and edge of
//! some path accepts it; the source's own expression is not evaluated.
//!
//! ```
//! use tamis::graph::{Graph, Strategy};
//! use tamis::{Event, Limits, Missing, parse};
//!
//! let graph = Graph::new(Missing::Unknown, Limits::default());
//! graph.add_node("net1".into(), Some(parse("topic = 'sports' and age > 30", graph.limits())?))?;
//! graph.add_edge("pub1".into(), "net1".into(), None, 1.0)?;
//! graph.add_edge("net1".into(), "adv7".into(), None, 1.0)?;
//!
//! let snapshot = graph.snapshot();
//! let mut event = Event::default();
//! event.decode_json(br#"{"topic": "sports", "age": 35}"#, snapshot.attributes(), graph.limits())?;
//! let source = snapshot.find(&"pub1".into()).expect("it was added");
//! let mut search = snapshot.search(event, source, Strategy::Auto, false)?;
//! assert_eq!(search.next_id()?, Some("net1".into()).as_ref().map(tamis::Id::as_ref));
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! A graph is an immutable `segment` with a small `tail` of changes. Readers take a
//! [`GraphSnapshot`] and never wait. Writers take turns; each publishes the next snapshot at once. When
//! the tail has grown, or an edge in it leads backwards, a background thread compiles a new
//! segment, and changes made in the meantime become the new tail.

mod arrow;
mod batch;
mod change;
mod costs;
mod cursor;
mod draft;
mod evaluate;
mod explain;
mod order;
mod programs;
mod segment;
mod snapshot;
mod storage;
mod tail;
#[cfg(test)]
mod tests;
mod top;
mod validate;
mod working;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use arc_swap::ArcSwap;

pub use arrow::ArrowSources;
pub use batch::Batch;
pub use change::Change;
pub use evaluate::{Search, Strategy};
pub use explain::{Place, Refusal, Route};
pub use snapshot::{GraphEdge, GraphSnapshot, GraphStats, NodeNumber};
pub use top::{Delivery, Ranking};
pub use working::{Counts, Working};

use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::expression::Expression;
use crate::fork::ForkLock;
use crate::id::Id;
use crate::limits::Limits;
use crate::matcher::extend::MatcherKind;
use crate::sections::Origin;
use crate::truth::Missing;
use crate::value::TimeZone;
use segment::Segment;
use tail::{Ground, Tail};

/// A graph is compiled again when its tail has so many changes, and a part of its nodes.
const TAIL: usize = 256;
const TAIL_PART: usize = 4;

/// A graph that can be searched while it changes.
#[derive(Debug)]
pub struct Graph {
    shared: Arc<Shared>,
}

/// What a graph shares with its background thread.
#[derive(Debug)]
struct Shared {
    missing: Missing,
    limits: Limits,
    /// The file that the graph was opened from, if it was not verified.
    unverified: Option<Origin>,
    /// Held by the thread that changes the graph.
    writer: ForkLock<Writer>,
    /// The process of the thread that is compiling, or 0: a forked process has no such thread.
    compiling: AtomicU32,
    /// Whether compiling met a damaged file; there is none after that.
    damaged: AtomicBool,
    snapshot: ArcSwap<GraphSnapshot>,
}

#[derive(Debug, Default)]
struct Writer {
    /// The changes since the segment being compiled was begun; none if none is.
    log: Option<Vec<Change>>,
    /// How many segments there were.
    segments: u64,
}

impl Graph {
    /// An empty graph.
    pub fn new(missing: Missing, limits: Limits) -> Graph {
        Graph::in_zone(missing, limits, TimeZone::default())
    }

    /// An empty graph, with the zone of times that are written without an offset.
    pub fn in_zone(missing: Missing, limits: Limits, zone: TimeZone) -> Graph {
        let attributes = Arc::new(Attributes::new(missing, &limits, zone));
        let segment = Segment::empty(&attributes, missing);
        Graph::from_segment(segment, attributes, missing, limits, None)
    }

    fn from_segment(
        segment: Segment,
        attributes: Arc<Attributes>,
        missing: Missing,
        limits: Limits,
        unverified: Option<Origin>,
    ) -> Graph {
        let (segment, tail, pool) = (Arc::new(segment), Tail::default(), Arc::default());
        let snapshot = GraphSnapshot { segment, tail, attributes, missing, pool, skipping: None };
        let shared = Shared {
            missing,
            limits,
            unverified,
            writer: ForkLock::new("graph", Writer::default()),
            compiling: AtomicU32::new(0),
            damaged: AtomicBool::new(false),
            snapshot: ArcSwap::from_pointee(snapshot),
        };
        Graph { shared: Arc::new(shared) }
    }

    /// The same graph, in which the strategies of the papers skip through a matcher of this kind. Without
    /// one, they go through the matches of the compiled matcher.
    pub fn with_skipping(self, kind: &'static dyn MatcherKind) -> Graph {
        let current = self.shared.load();
        let GraphSnapshot { segment, tail, attributes, missing, pool, .. } = &*current;
        let (segment, tail) = (Arc::clone(segment), tail.clone());
        let (attributes, pool) = (Arc::clone(attributes), Arc::clone(pool));
        let next = GraphSnapshot { segment, tail, attributes, missing: *missing, pool, skipping: Some(kind) };
        self.shared.snapshot.store(Arc::new(next));
        self
    }

    /// The zone of times that are written without an offset.
    pub fn time_zone(&self) -> TimeZone {
        self.shared.load().attributes.time_zone().clone()
    }

    /// What predicates answer on attributes without a value.
    pub fn missing(&self) -> Missing {
        self.shared.missing
    }

    /// The bounds on expressions and events.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Adds a node, or replaces the expression of one that is there, which keeps its edges.
    pub fn add_node(&self, id: Id, expression: Option<Expression>) -> Result<()> {
        self.change(Change::AddNode { id, expression }).map(drop)
    }

    /// Adds an edge; there may be others between the same nodes. Missing ends are added.
    pub fn add_edge(&self, source: Id, target: Id, expression: Option<Expression>, cost: f64) -> Result<()> {
        self.change(Change::AddEdge { source, target, expression, cost }).map(drop)
    }

    /// Removes a node with all its edges; false if there is none of that id.
    pub fn remove_node(&self, id: &Id) -> bool {
        self.change(Change::RemoveNode { id: id.clone() }) == Ok(true)
    }

    /// Removes all edges from one node to another; false if there is none.
    pub fn remove_edge(&self, source: &Id, target: &Id) -> bool {
        self.change(Change::RemoveEdge { source: source.clone(), target: target.clone() }) == Ok(true)
    }

    /// Makes a change; false if it changes nothing.
    pub fn change(&self, change: Change) -> Result<bool> {
        change.check(&self.shared.limits)?;
        if let Some(expression) = change.expression() {
            self.shared.load().attributes.learn(expression)?;
        }
        let changed = self.shared.apply(vec![change])? > 0;
        self.compile_in_background(false);
        Ok(changed)
    }

    /// Adds all nodes and edges of a batch at once.
    pub fn add_batch(&self, batch: Batch) -> Result<()> {
        self.add_batch_until(batch, &AtomicBool::new(false))
    }

    /// [`add_batch`](Graph::add_batch), which fails with [`Error::Cancelled`] and
    /// adds nothing once `stop` is set, unless all is done by then.
    pub fn add_batch_until(&self, batch: Batch, stop: &AtomicBool) -> Result<()> {
        {
            let mut writer = self.shared.writer.lock()?;
            let current = self.shared.load();
            for expression in batch.expressions() {
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Cancelled);
                }
                current.attributes.learn(expression)?;
            }
            let few = batch.len() <= TAIL + current.numbers() / TAIL_PART;
            if few && current.numbers() > 0 {
                drop(writer);
                self.shared.apply(batch.into_changes())?;
            } else {
                let draft =
                    if current.numbers() == 0 { batch.into_draft() } else { batch.onto(current.draft()?) };
                draft.check()?;
                let segment = Segment::new(&draft, &current.attributes, self.shared.missing, stop)?;
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Cancelled);
                }
                writer.replace(&self.shared, &current, segment, Tail::default());
            }
        }
        self.compile_in_background(false);
        Ok(())
    }

    /// The graph at this moment.
    pub fn snapshot(&self) -> Arc<GraphSnapshot> {
        let snapshot = self.shared.load();
        if !snapshot.tail.is_empty() {
            self.compile_in_background(true);
        }
        snapshot
    }

    /// Waits until everything is compiled, compiling here if no thread does.
    pub fn settle(&self) {
        while self.shared.is_stale(true, 0) {
            match Turn::take(&self.shared) {
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
                Some(turn) => turn.compile(0),
            }
        }
    }

    /// Waits until everything is compiled, but not much longer than this; whether it is.
    pub fn settle_within(&self, patience: std::time::Duration) -> bool {
        let started = std::time::Instant::now();
        while self.shared.is_stale(true, 0) {
            if started.elapsed() > patience {
                return false;
            }
            if !self.compile_behind(true, 0) {
                self.settle();
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        true
    }

    /// Starts the thread that compiles, unless it runs or there is nothing to do. If it cannot be
    /// started, the tail stays, and answers right.
    fn compile_in_background(&self, read: bool) {
        self.compile_behind(read, TAIL);
    }

    /// Starts the thread that compiles a tail longer than this; false only if it cannot be started.
    fn compile_behind(&self, read: bool, tail: usize) -> bool {
        if !self.shared.is_stale(read, tail) {
            return true;
        }
        let Some(turn) = Turn::take(&self.shared) else { return true };
        // Where the thread cannot be started, the turn is given back as the closure is dropped.
        std::thread::Builder::new().name("tamis-graph".into()).spawn(move || turn.compile(tail)).is_ok()
    }
}

impl Shared {
    fn load(&self) -> Arc<GraphSnapshot> {
        self.snapshot.load_full()
    }

    /// Makes changes visible together, and returns how many changed something.
    fn apply(&self, changes: Vec<Change>) -> Result<usize> {
        let mut writer = self.writer.lock()?;
        let current = self.load();
        let mut tail = current.tail.clone();
        let done = changes.iter().filter(|change| tail.apply(current.ground(), change)).count();
        if done > 0 {
            self.publish(&current, Arc::clone(&current.segment), tail);
            if let Some(log) = &mut writer.log {
                log.extend(changes);
            }
        }
        Ok(done)
    }

    fn publish(&self, current: &GraphSnapshot, segment: Arc<Segment>, tail: Tail) {
        let GraphSnapshot { attributes, missing, pool, skipping, .. } = current;
        let (attributes, pool) = (Arc::clone(attributes), Arc::clone(pool));
        let next = GraphSnapshot { segment, tail, attributes, missing: *missing, pool, skipping: *skipping };
        self.snapshot.store(Arc::new(next));
    }

    /// Whether the tail is worth compiling: because it is long, or has more than `least` changes and is
    /// in the way of those who read.
    fn is_stale(&self, read: bool, least: usize) -> bool {
        if self.damaged.load(Ordering::Acquire) {
            return false;
        }
        let snapshot = self.load();
        let size = snapshot.tail.size;
        size > TAIL + snapshot.segment.len() / TAIL_PART
            || read && (size > least || size > 0 && !snapshot.is_ordered())
    }

    /// Fails if the file that the graph was opened from is not as it was written.
    fn verify(&self) -> Result<()> {
        self.unverified.as_ref().map_or(Ok(()), Origin::verify)
    }

    fn compile_once(&self) -> Result<()> {
        let (before, segments) = {
            let mut writer = self.writer.lock()?;
            writer.log = Some(Vec::new());
            (self.load(), writer.segments)
        };
        // What a damaged file says must not become a graph that is trusted.
        let checked = if before.segment.is_trusted() { Ok(()) } else { self.verify() };
        let compiled = checked.and_then(|()| before.draft()).and_then(|draft| {
            Segment::new(&draft, &before.attributes, self.missing, &AtomicBool::new(false))
        });
        let mut writer = self.writer.lock()?;
        let log = writer.log.take().unwrap_or_default();
        let segment = compiled?;
        // A large batch may have replaced what this was compiled from.
        if writer.segments == segments {
            let current = self.load();
            let mut tail = Tail::default();
            let ground = Ground { segment: &segment, ..current.ground() };
            log.iter().for_each(|change| {
                tail.apply(ground, change);
            });
            writer.replace(self, &current, segment, tail);
        }
        Ok(())
    }
}

impl Writer {
    fn replace(&mut self, shared: &Shared, current: &GraphSnapshot, segment: Segment, tail: Tail) {
        self.log = None;
        self.segments += 1;
        shared.publish(current, Arc::new(segment), tail);
    }
}

/// The turn of the one thread that compiles; given back when dropped, however that comes.
struct Turn {
    shared: Arc<Shared>,
}

impl Turn {
    fn take(shared: &Arc<Shared>) -> Option<Turn> {
        let (mine, holder) = (std::process::id(), shared.compiling.load(Ordering::Acquire));
        let taken = holder != mine
            && shared.compiling.compare_exchange(holder, mine, Ordering::AcqRel, Ordering::Acquire).is_ok();
        taken.then(|| Turn { shared: Arc::clone(shared) })
    }

    /// Compiles until the tail is short.
    fn compile(self, least: usize) {
        while self.shared.is_stale(true, least) {
            if self.shared.compile_once().is_err() {
                // A damaged file stays as it is; readers get the error.
                self.shared.damaged.store(true, Ordering::Release);
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.compiling.store(0, Ordering::Release);
    }
}
