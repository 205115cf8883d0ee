"""Tamis on Spark: subscriptions and events that outgrow one machine.

    from tamis import spark

    spark.compile(subscriptions, "s3://bucket/campaigns")
    matches = spark.match(events, "s3://bucket/campaigns")

Plain functions on DataFrames, for any session, including Spark Connect. Needs the extra
`tamis[spark]`, on the driver and on the workers.
"""

try:
    from tamis.spark.building import Compiled
    from tamis.spark.compiling import compile, update
    from tamis.spark.explaining import explain
    from tamis.spark.following import Follower, follow
    from tamis.spark.functions import error_column, match_column, register
    from tamis.spark.generating import generate_events, generate_subscriptions
    from tamis.spark.health import slowest, subscriptions, unmatched
    from tamis.spark.matching import count, first, match, match_xml, top
    from tamis.spark.metrics import Metrics
    from tamis.spark.searching import match_graph, save_graph
    from tamis.spark.versions import vacuum, versions
except ImportError as error:
    from tamis.spark.requirements import explain_import_error

    if (explained := explain_import_error(error)) is error:
        raise
    raise explained from error

__all__ = [
    "Compiled",
    "Follower",
    "Metrics",
    "compile",
    "count",
    "error_column",
    "explain",
    "first",
    "follow",
    "generate_events",
    "generate_subscriptions",
    "match",
    "match_column",
    "match_graph",
    "match_xml",
    "register",
    "save_graph",
    "slowest",
    "subscriptions",
    "top",
    "unmatched",
    "update",
    "vacuum",
    "versions",
]
