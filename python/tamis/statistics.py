"""What do `stats()` of an index, a graph and an XML filter return?

They are dicts at run time; these classes describe their keys and types.
"""

from typing import Literal, TypedDict


class EventProfile(TypedDict):
    """The result of `Index.profile(event)`. Most counts are of the compiled matcher.

    Attributes:
        read_us: Microseconds to read the event: decoding it, computing terms, matching the
            elements of lists for `any`, `all` and `none`, evaluating XPaths and `where`.
        match_us: Microseconds to match it, without making Python objects of the ids.
        matches: Subscriptions that it matches.
        segments: Segments of the index.
        lists: Entry lists that were read: one for each trigger that the event makes true and that
            some expression is indexed under.
        entries: Entries that were read: expressions that are indexed under such a trigger.
        candidates: Entries that passed their first tests and were examined further.
        nodes: Subexpressions, shared by several expressions, that are true.
        patterns: `like` patterns and regular expressions that were tried on a text.
    """

    read_us: float
    match_us: float
    matches: int
    segments: int
    lists: int
    entries: int
    candidates: int
    nodes: int
    patterns: int


class BatchTimes(TypedDict):
    """How the largest segment matches the events of a batch: `stats()["batches"]` of an index.

    It measures both ways on blocks of 64 to 512 events, takes the faster one, and tries the other
    one now and then. Before anything was measured, it estimates.

    Attributes:
        evaluation: The faster way so far: `"events"` for one by one, `"blocks"` for many events
            together. `None` if no batch of 64 events was matched yet.
        events_us: Microseconds per event one by one; `None` if not tried yet.
        blocks_us: Microseconds per event in blocks; `None` if not tried yet.
    """

    evaluation: Literal["events", "blocks"] | None
    events_us: float | None
    blocks_us: float | None


class IndexStats(TypedDict):
    """The result of `Index.stats()`.

    Attributes:
        subscriptions: Live subscriptions.
        removed: Removed subscriptions that segments still contain until they are merged.
        segments: Segments; background merging keeps their number small.
        attributes: Distinct attributes that subscriptions mention.
        terms: Distinct functions of attributes, such as `lower(name)`.
        predicates: Distinct predicates, summed over the segments.
        attribute_predicates: The same by attribute or term.
        subexpressions: Distinct predicates, conjunctions and disjunctions.
        edges: References from these to their children.
        sharing: The average number of uses of a subexpression; 1.0 if nothing is shared.
        unfiltered_patterns: Patterns without a literal, which are tried wherever they are used.
        unselective: Expressions and shared subexpressions that are examined on every event, or on
            every event with a certain attribute: negations, `exists`, unfiltered patterns and
            `true` without anything more selective beside them.
        matching_bytes: Bytes that matching reads, in memory or in mapped files.
        subscription_bytes: Bytes of ids, stored expressions and metadata, likewise.
        matcher: The algorithm of the largest segment.
        matchers: Segments by algorithm.
        sampled_events: Events by which the largest segment estimated how often predicates are true,
            and chose what it indexes expressions under; 0 if it knew only the expressions.
        batches: How the largest segment matches the events of a batch, and why.
    """

    subscriptions: int
    removed: int
    segments: int
    attributes: int
    terms: int
    predicates: int
    attribute_predicates: dict[str, int]
    subexpressions: int
    edges: int
    sharing: float
    unfiltered_patterns: int
    unselective: int
    matching_bytes: int
    subscription_bytes: int
    matcher: str
    matchers: dict[str, int]
    sampled_events: int
    batches: BatchTimes


class GraphStats(TypedDict):
    """The result of `Graph.stats()`.

    Attributes:
        nodes: Nodes.
        edges: Edges at the last compilation; equal ones between two nodes count once.
        expressions: Distinct expressions then.
        components: Strongly connected components then.
        largest_component: Nodes of the largest one.
        changes: Changes since the last compilation.
        bytes: Bytes of the compiled graph.
    """

    nodes: int
    edges: int
    expressions: int
    components: int
    largest_component: int
    changes: int
    bytes: int


class FilterStats(TypedDict):
    """The result of `xml.Filter.stats()`.

    Attributes:
        subscriptions: Filters.
        segments: Segments.
        engine: The engine's name.
    """

    subscriptions: int
    segments: int
    engine: str
