"""The pySigma backend: each rule becomes one expression."""

from abc import update_abstractmethods
from typing import Any, ClassVar, Never

from sigma.conversion.base import Backend
from sigma.exceptions import SigmaFeatureNotSupportedByBackendError
from sigma.rule import SigmaRule

from tamis._tamis import Expression
from tamis.errors import TamisError
from tamis.rules.sigma.conditions import condition_text, rule_text


class TamisBackend(Backend):
    """Writes rules as expressions of Tamis, for indexes with `missing="false"`."""

    name: ClassVar[str] = "Tamis expressions"
    identifier: ClassVar[str] = "tamis"
    formats: ClassVar[dict[str, str]] = {"default": "one expression per rule"}
    requires_pipeline: ClassVar[bool] = False

    def convert_rule(
        self, rule: SigmaRule, output_format: str | None = None, callback: Any = None
    ) -> list[Any]:
        """The expression of a rule, after the pipelines have been applied."""
        if not hasattr(self, "last_processing_pipeline"):
            self.init_processing_pipeline(output_format)
        try:
            self.last_processing_pipeline.apply(rule)
            result: Any = str(Expression.parse(rule_text(rule)))
        except TamisError as error:
            refused = SigmaFeatureNotSupportedByBackendError(str(error), source=rule.source)
            if not self.collect_errors:
                raise refused from error
            self.errors.append((rule, refused))
            return []
        if callback is not None:
            result = callback(rule, output_format, 0, rule.detection.parsed_condition[0], result)
        return [] if result is None else [result]

    def finalize(self, queries: list[Any], output_format: str) -> Any:  # noqa: ARG002
        """The expressions, unchanged."""
        return queries

    def _convert(self, condition: Any, *_: Any) -> str:
        return condition_text(condition)

    def _refuse(self, *_: Any) -> Never:
        raise SigmaFeatureNotSupportedByBackendError("a correlation rule needs several events")


# pySigma requires a method per kind of condition; one function converts all of them here.
for _name in TamisBackend.__abstractmethods__:
    _correlation = "correlation" in _name
    setattr(TamisBackend, _name, TamisBackend._refuse if _correlation else TamisBackend._convert)
update_abstractmethods(TamisBackend)
