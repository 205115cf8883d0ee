//! Which nodes of a graph does an event reach over nodes and edges that accept it?
//!
//! Publishers and subscribers are connected through intermediaries, each with its own expression
//! (Broder et al. 2011). An event starts at a source and reaches a node if every node and edge of
//! some path accepts it; the source's own expression is not evaluated.
//!
//! ```
//! use tamis_graph::{Graph, Strategy};
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
//!
//! An internal part of Tamis without a stable interface, built on the crate `tamis`, which does not know it.
//!
//! | module | the question it answers |
//! |---|---|
//! | `change`, `draft`, `batch` | what can be changed about a graph? what is it before it is compiled? how is much added at once? |
//! | `order` | in which order are the nodes numbered? |
//! | `programs` | is an expression true on an event, if only a few of many expressions are needed? |
//! | `segment`, `validate`, `tail` | what is the compiled part of a graph, does a file contain one, and what has changed since? |
//! | `snapshot` | what is a graph at one moment? |
//! | `scratch`, `costs`, `cursor` | what does a search keep, and which valid node comes next? |
//! | `evaluate` | which nodes does an event reach? One file per strategy |
//! | `top`, `explain` | which of these nodes have the highest value, and on which path is a node reached? |
//! | `arrow`, `storage` | how are Arrow batches matched, and how is a graph stored on disk? |

#[cfg(feature = "arrow")]
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
mod scratch;
mod segment;
mod snapshot;
mod storage;
mod tail;
#[cfg(test)]
mod tests;
mod top;
mod validate;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

// The modules below this crate have the same paths here as in all crates of the engine.
#[cfg(feature = "arrow")]
use tamis::index;
use tamis::{event, matcher, rank};
use tamis_base::{column, csr, deadline, error, folder, id, ids, sections, strings, truth, value, versioned};
use tamis_language::{expression, limits};

#[cfg(feature = "arrow")]
pub use arrow::ArrowSources;
pub use batch::Batch;
pub use change::Change;
pub use evaluate::{Search, Strategy};
pub use explain::{GraphElement, Refusal, Route};
pub use scratch::{Counts, GraphScratch};
pub use snapshot::{GraphEdge, GraphSnapshot, GraphStats, NodeNumber};
pub use top::{Delivery, Ranking};

use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::expression::Expression;
use crate::id::Id;
use crate::limits::Limits;
use crate::matcher::extend::MatcherKind;
use crate::sections::Origin;
use crate::truth::Missing;
use crate::value::TimeZone;
use crate::versioned::{Background, Maintained, Versioned, Writing};
use segment::Segment;
use tail::{Ground, Tail};

/// A graph is compiled again when its tail has this many changes, and at least this part of its nodes.
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
    versions: Versioned<GraphSnapshot, Compiling>,
    /// The thread that compiles.
    background: Background,
}

/// How far a segment is that is being compiled.
#[derive(Debug, Default)]
struct Compiling {
    /// The changes since the compilation of a segment began; `None` if none is being compiled.
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
            versions: Versioned::new("graph", snapshot, Compiling::default()),
            background: Background::default(),
        };
        Graph { shared: Arc::new(shared) }
    }

    /// The same graph, in which the strategies of the papers skip through a matcher of this kind. Without
    /// one, they go through the matches of the compiled matcher. Fails as every change in a forked process.
    pub fn with_skipping(self, kind: &'static dyn MatcherKind) -> Result<Graph> {
        let writing = self.shared.versions.write()?;
        let next = GraphSnapshot { skipping: Some(kind), ..GraphSnapshot::clone(&writing.current) };
        writing.publish(next);
        Ok(self)
    }

    /// The zone of times that are written without an offset.
    pub fn time_zone(&self) -> TimeZone {
        self.shared.versions.current().attributes.time_zone().clone()
    }

    /// What predicates answer on attributes without a value.
    pub fn missing(&self) -> Missing {
        self.shared.missing
    }

    /// The bounds on expressions and events.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Adds a node, or replaces the expression of an existing one, which keeps its edges.
    pub fn add_node(&self, id: Id, expression: Option<Expression>) -> Result<()> {
        self.change(Change::AddNode { id, expression }).map(drop)
    }

    /// Adds an edge; there may be others between the same nodes. Missing ends are added.
    pub fn add_edge(&self, source: Id, target: Id, expression: Option<Expression>, cost: f64) -> Result<()> {
        self.change(Change::AddEdge { source, target, expression, cost }).map(drop)
    }

    /// Removes a node with all its edges; false if no node has this id.
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
            self.shared.versions.current().attributes.learn(expression)?;
        }
        let changed = self.shared.apply(vec![change])? > 0;
        self.shared.compile_long_tail();
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
            let writing = self.shared.versions.write()?;
            let current = Arc::clone(&writing.current);
            for expression in batch.expressions() {
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Cancelled);
                }
                current.attributes.learn(expression)?;
            }
            let few = batch.len() <= TAIL + current.numbers() / TAIL_PART;
            if few && current.numbers() > 0 {
                drop(writing);
                self.shared.apply(batch.into_changes())?;
            } else {
                let draft =
                    if current.numbers() == 0 { batch.into_draft() } else { batch.onto(current.draft()?) };
                draft.check()?;
                let segment = Segment::new(&draft, &current.attributes, self.shared.missing, stop)?;
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Cancelled);
                }
                replace(writing, segment, Tail::default());
            }
        }
        self.shared.compile_long_tail();
        Ok(())
    }

    /// The graph at this moment.
    pub fn snapshot(&self) -> Arc<GraphSnapshot> {
        let snapshot = self.shared.versions.current();
        if !snapshot.tail.is_empty() {
            self.shared.start(TAIL);
        }
        snapshot
    }

    /// Waits until everything is compiled, compiling here if no thread does.
    pub fn settle(&self) {
        self.shared.settle(0);
    }

    /// Waits until everything is compiled, but not much longer than this; whether it is.
    pub fn settle_within(&self, patience: Duration) -> bool {
        self.shared.settle_within(0, patience)
    }
}

impl Shared {
    /// Makes changes visible together, and returns how many changed something.
    fn apply(&self, changes: Vec<Change>) -> Result<usize> {
        let mut writing = self.versions.write()?;
        let (ground, mut tail) = (writing.current.ground(), writing.current.tail.clone());
        let done = changes.iter().filter(|change| tail.apply(ground, change)).count();
        if done > 0 {
            if let Some(log) = &mut writing.state.log {
                log.extend(changes);
            }
            let next = GraphSnapshot { tail, ..GraphSnapshot::clone(&writing.current) };
            writing.publish(next);
        }
        Ok(done)
    }

    /// Compiles a tail in the background that is long even for a graph without readers.
    fn compile_long_tail(self: &Arc<Self>) {
        if self.versions.current().has_long_tail() {
            self.start(TAIL);
        }
    }

    /// Fails if the file that the graph was opened from is not as it was written.
    fn verify(&self) -> Result<()> {
        self.unverified.as_ref().map_or(Ok(()), Origin::verify)
    }

    /// Compiles the tail into the segment; what is changed meanwhile is the new tail.
    fn compile_once(&self) -> Result<()> {
        let (before, segments) = {
            let mut writing = self.versions.write()?;
            writing.state.log = Some(Vec::new());
            (Arc::clone(&writing.current), writing.state.segments)
        };
        // The content of a damaged file must not become a trusted graph.
        let checked = if before.segment.is_trusted() { Ok(()) } else { self.verify() };
        let compiled = checked.and_then(|()| before.draft()).and_then(|draft| {
            Segment::new(&draft, &before.attributes, self.missing, &AtomicBool::new(false))
        });
        let mut writing = self.versions.write()?;
        let log = writing.state.log.take().unwrap_or_default();
        let segment = compiled?;
        // A large batch may have replaced what this was compiled from.
        if writing.state.segments == segments {
            let mut tail = Tail::default();
            let ground = Ground { segment: &segment, ..writing.current.ground() };
            log.iter().for_each(|change| {
                tail.apply(ground, change);
            });
            replace(writing, segment, tail);
        }
        Ok(())
    }
}

impl Maintained for Shared {
    const THREAD: &'static str = "tamis-graph";
    /// How many changes may stay in the tail.
    type Rest = usize;

    fn background(&self) -> &Background {
        &self.background
    }

    /// Whether the tail is worth compiling for those who read.
    fn is_due(&self, rest: usize) -> bool {
        let snapshot = self.versions.current();
        let size = snapshot.tail.size;
        size > rest || size > 0 && !snapshot.is_ordered() || snapshot.has_long_tail()
    }

    fn maintain(&self) -> Result<()> {
        self.compile_once()
    }
}

/// Publishes a graph with another segment.
fn replace(mut writing: Writing<'_, GraphSnapshot, Compiling>, segment: Segment, tail: Tail) {
    writing.state.log = None;
    writing.state.segments += 1;
    let next = GraphSnapshot { segment: Arc::new(segment), tail, ..GraphSnapshot::clone(&writing.current) };
    writing.publish(next);
}
