"""Converts rules from other languages to subscriptions.

Each module reads one rule language and returns ordinary expressions:

- `tamis.rules.sigma`: Sigma detections, through pySigma (`pip install tamis[sigma]`)
- `tamis.rules.eventbridge`: AWS EventBridge event patterns
- `tamis.rules.mongo`: MongoDB-style conditions, with the operators that feature-flag libraries add
- `tamis.rules.sql`: WHERE clauses of other SQL dialects, through sqlglot (`pip install tamis[sql]`)

>>> import tamis
>>> from tamis import rules
>>> pattern = '{"source": ["aws.ec2"], "detail": {"state": ["stopped"]}}'
>>> index = tamis.Index()
>>> index.add("stopped", rules.eventbridge.parse(pattern))
>>> index.match({"source": "aws.ec2", "detail": {"state": "stopped"}})
['stopped']

`tamis.rules.examples` runs the example events of rules: events that must match, and events that
must not.

Rules without an exact translation are refused with the reason, never approximated. `read` functions
take many rules and collect the refused ones in `ReadRules.refused`; `parse` functions
take one condition and raise `RuleError`.
"""

from tamis.rules import eventbridge, examples, mongo, sigma, sql
from tamis.rules.result import ReadRules, Refused, RuleError, RuleSubscription

__all__ = [
    "ReadRules",
    "Refused",
    "RuleError",
    "RuleSubscription",
    "eventbridge",
    "examples",
    "mongo",
    "sigma",
    "sql",
]
