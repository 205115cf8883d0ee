"""What do `stats()` of an index, a graph and an XML filter return?

They are dicts at run time; these classes describe their keys and types.
"""

from typing import TypedDict


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
        nodes: Distinct predicates, conjunctions and disjunctions.
        edges: References from these to their operands.
        sharing: The average number of uses of a node; 1.0 if nothing is shared.
        unfiltered_patterns: Patterns without a literal part, which are tried on every text.
        unselective: Expressions and shared parts that are examined on every event, or on every
            event with a certain attribute, because they consist only of negations or unfiltered
            patterns.
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
