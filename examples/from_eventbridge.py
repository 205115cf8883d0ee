"""Moving from EventBridge: the same patterns, matched in your process.

Patterns are read as they are. The script prints each as an expression, matches events, says why
one does not match, and writes the patterns' index to a folder that other processes share.
"""

import tempfile
from pathlib import Path

import tamis
from tamis import rules

PATTERNS = """
{
  "stopped": {
    "source": ["aws.ec2"],
    "detail": {"state": ["stopped", {"prefix": "terminat"}]}
  },
  "large-upload": {
    "source": ["aws.s3"],
    "detail": {"object": {"size": [{"numeric": [">", 1000000]}]},
               "bucket": {"name": [{"anything-but": {"prefix": "tmp-"}}]}}
  },
  "outside": {
    "detail": {"sourceIPAddress": [{"cidr": "203.0.113.0/24"}], "userAgent": [{"exists": true}]}
  },
  "wrong": {"detail": {"state": [{"starts-with": "x"}]}}
}
"""

EVENTS = [
    {"source": "aws.ec2", "detail": {"state": "terminating", "sourceIPAddress": "203.0.113.9"}},
    {"source": "aws.s3", "detail": {"bucket": {"name": "photos"}, "object": {"size": 5_000_000}}},
    {"source": "aws.s3", "detail": {"bucket": {"name": "tmp-1"}, "object": {"size": 5_000_000}}},
]


def main() -> None:
    read = rules.eventbridge.read(PATTERNS)
    for refused in read.refused:
        print(f"refused {refused.id}: {refused.reason}")
    index = tamis.Index()
    index.add_many(read.subscriptions)
    for id in index:
        print(f"{id}: {index[id].expression}")
    for event, ids in zip(EVENTS, index.match_batch(EVENTS), strict=True):
        print(event["source"], "->", ids)
    print(index.explain("large-upload", EVENTS[2]))

    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder, "patterns.tamis"))
        shared = tamis.open(Path(folder, "patterns.tamis"))
        assert shared.match_batch(EVENTS) == index.match_batch(EVENTS)


if __name__ == "__main__":
    main()
