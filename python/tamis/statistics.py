"""What do `stats()` of an index, a graph and an XML filter tell?

They are dicts at run time; these classes say which keys they have, and of which types.
"""

from typing import TypedDict


class IndexStats(TypedDict):
    """What `Index.stats()` gives.

    Attributes:
        subscriptions: How many subscriptions can match.
        removed: Removed subscriptions that segments still carry until they are merged.
        segments: Compiled parts; merging in the background keeps them few.
        attributes: Distinct attributes that subscriptions mention.
        terms: Distinct functions of attributes, such as `lower(name)`.
        predicates: Distinct predicates, summed over the segments.
        attribute_predicates: The same by attribute or term.
        nodes: Distinct predicates, conjunctions and disjunctions.
        edges: References from these to their operands.
        sharing: How many times a node is used on average; 1.0 where nothing is shared.
        unfiltered_patterns: Patterns without a literal to look for, which are tried on every text
            they are asked about.
        unselective: Expressions and shared parts that are checked on every event, or on every event
            with a certain attribute, because all they ask for is negated or an unfiltered pattern.
        matching_bytes: Bytes that matching reads, in memory or in mapped files.
        subscription_bytes: Bytes of ids, texts of expressions and metadata, likewise.
        matcher: The algorithm of the largest segment.
        matchers: Segments by algorithm.
    """

    subscriptions: int
    removed: int
    segments: int
    attributes: int
    terms: int
    predicates: int
    attribute_predicates: dict[str, int]
    nodes: int
    edges: int
    sharing: float
    unfiltered_patterns: int
    unselective: int
    matching_bytes: int
    subscription_bytes: int
    matcher: str
    matchers: dict[str, int]


class GraphStats(TypedDict):
    """What `Graph.stats()` gives.

    Attributes:
        nodes: How many nodes there are.
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
    """What `xml.Filter.stats()` gives.

    Attributes:
        subscriptions: How many filters there are.
        segments: Compiled parts.
        engine: The engine's name.
    """

    subscriptions: int
    segments: int
    engine: str
