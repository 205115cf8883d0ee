"""The result of reading rules: subscriptions, and refused rules."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tamis._tamis import Expression
from tamis.errors import ExpressionError, TamisError


class RuleError(ExpressionError):
    """A rule that is invalid in its own language, or has no exact translation."""


class RuleSubscription(NamedTuple):
    """A rule in the format of `Index.add_many`."""

    id: str
    expression: Expression
    metadata: dict[str, Any] | None = None


class Refused(NamedTuple):
    """A rule that was not read.

    Attributes:
        id: The rule's id, or its title; None if it has neither.
        file: The file that contains it; None for text.
        line: The line where the rule begins, from 1.
        reason: Why it was refused.
    """

    id: str | None
    file: str | None
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{self.file or 'text'}:{self.line}"
        name = f" ({self.id})" if self.id else ""
        return f"{place}{name}: {self.reason}"


@dataclass
class ReadRules:
    """The rules of a file, folder or text.

    Attributes:
        subscriptions: The rules that were read; pass them to `Index.add_many`.
        refused: The refused rules, each with its reason. They do not affect other rules.
        progress: Called with the number of rules read or refused so far.
        examples: The example events of rules, by id: as written, with file and line.
    """

    subscriptions: list[RuleSubscription] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    examples: dict[str, tuple[Any, str | None, int]] = field(default_factory=dict, repr=False)
    progress: Callable[[int], None] | None = field(default=None, repr=False)
    _lines: dict[str, str] = field(default_factory=dict, repr=False)

    def take(
        self,
        identifier: str,
        convert: Callable[[], Expression],
        metadata: dict[str, Any] | None,
        *,
        file: str | None,
        line: int,
    ) -> None:
        """Add the rule that `convert` returns, or the reason why it cannot be converted."""
        place = f"{file or 'text'}:{line}"
        earlier = self._lines.setdefault(identifier, place)
        if earlier != place:
            self.refuse(identifier, f"the id is already used at {earlier}", file=file, line=line)
            return
        try:
            expression = convert()
        except TamisError as error:
            self.refuse(identifier, one_line(str(error)), file=file, line=line)
        else:
            self.subscriptions.append(RuleSubscription(identifier, expression, metadata))
            self._show()

    def refuse(self, identifier: str | None, reason: str, *, file: str | None, line: int) -> None:
        """Record a rule that was not read."""
        self.refused.append(Refused(identifier, file, line, reason))
        self._show()

    def _show(self) -> None:
        if self.progress is not None:
            self.progress(len(self.subscriptions) + len(self.refused))

    def reasons(self) -> list[tuple[str, int]]:
        """The number of refused rules by reason, most frequent first."""
        counts: dict[str, int] = {}
        for refused in self.refused:
            counts[refused.reason] = counts.get(refused.reason, 0) + 1
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def one_line(message: str) -> str:
    """The message without the excerpt that syntax errors draw below it."""
    return message.split("\n", 1)[0]
