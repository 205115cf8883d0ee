"""Reads the Sigma rules in the YAML documents of a text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaError
from sigma.filters import SigmaFilter
from sigma.plugins import InstalledSigmaPlugins
from sigma.processing.pipeline import ProcessingPipeline
from sigma.rule import SigmaRule

from tamis._tamis import Expression
from tamis.rules import files, yaml_input
from tamis.rules.result import ReadRules, RuleError, one_line
from tamis.rules.sigma.conditions import rule_text

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def find_pipeline(pipeline: str | Path | ProcessingPipeline | None) -> ProcessingPipeline | None:
    """The pipeline itself, the installed one of this name, or the one in this file.

    Raises:
        RuleError: There is no such pipeline.
    """
    if pipeline is None or isinstance(pipeline, ProcessingPipeline):
        return pipeline
    try:
        if isinstance(pipeline, Path) or Path(pipeline).is_file():
            return ProcessingPipeline.from_yaml(files.read_file(Path(pipeline)))
        plugins = InstalledSigmaPlugins.autodiscover(
            include_backends=False, include_validators=False
        )
        return plugins.get_pipeline_resolver().resolve([pipeline])
    except SigmaError as error:
        raise RuleError(f"the pipeline {str(pipeline)!r}: {one_line(str(error))}") from error


def read_text(
    text: str, file: str | None, pipeline: ProcessingPipeline | None, read: ReadRules
) -> None:
    """Add the rules of a text to the result; refused ones with their reasons."""
    documents: list[tuple[int, Any]] = []
    try:
        documents.extend(_documents(text))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or one_line(str(error))
        line = mark.line + 1 if mark else 1
        read.refuse(None, f"not valid YAML: {reason}", file=file, line=line)
        return
    for line, rules in _grouped(documents):
        try:
            collection = SigmaCollection.from_dicts(
                rules, collect_errors=True, collect_filters=True, resolve_references=False
            )
        except (SigmaError, TypeError, AttributeError, ValueError, RecursionError) as error:
            # pySigma raises plain Python errors for some documents of the wrong shape.
            read.refuse(None, f"not a Sigma rule: {one_line(str(error))}", file=file, line=line)
            continue
        for rule in [*collection.rules, *collection.filters]:
            _take(rule, file, line, pipeline, read)
        if not collection.rules and not collection.filters:
            for problem in collection.errors:
                read.refuse(None, one_line(str(problem)), file=file, line=line)


def _documents(text: str) -> Iterator[tuple[int, Any]]:
    """The documents of a text, with the lines at which they begin."""
    yaml_input.check_depth(text)
    loader = _LOADER(text)
    try:
        while loader.check_node():
            node: Any = loader.get_node()
            yield node.start_mark.line + 1, loader.construct_document(node)
    finally:
        loader.dispose()


def _grouped(documents: list[tuple[int, Any]]) -> Iterator[tuple[int, list[Any]]]:
    """Group documents that pySigma must read together: `action: global` and `repeat`."""
    if any(isinstance(rule, dict) and "action" in rule for _, rule in documents):
        yield documents[0][0], [rule for _, rule in documents]
        return
    for line, rule in documents:
        if rule is not None:
            yield line, [rule]


def _take(
    rule: Any, file: str | None, line: int, pipeline: ProcessingPipeline | None, read: ReadRules
) -> None:
    identifier = _identifier(rule)
    if isinstance(rule, SigmaCorrelationRule):
        reason = "a correlation rule needs several events"
        read.refuse(identifier, reason, file=file, line=line)
        return
    if isinstance(rule, SigmaFilter):
        reason = "a filter changes other rules; apply it with pySigma before reading them"
        read.refuse(identifier, reason, file=file, line=line)
        return
    if rule.errors:
        read.refuse(identifier, one_line(str(rule.errors[0])), file=file, line=line)
        return
    if identifier is None:
        read.refuse(None, "the rule has neither an id nor a title", file=file, line=line)
        return

    def expression() -> Expression:
        try:
            if pipeline is not None:
                pipeline.apply(rule)
            return Expression.parse(rule_text(rule))
        except RecursionError as error:
            raise RuleError("the rule is nested too deeply") from error
        except (SigmaError, TypeError, AttributeError, KeyError) as error:
            raise RuleError(one_line(str(error)) or type(error).__name__) from error

    read.take(identifier, expression, _metadata(rule, file), file=file, line=line)
    tests = (rule.custom_attributes or {}).get("tests")
    if tests is not None:
        read.examples.setdefault(identifier, (tests, file, line))


def _identifier(rule: Any) -> str | None:
    for value in (rule.id, rule.name, rule.title):
        if value:
            return str(value)
    return None


def _metadata(rule: SigmaRule, file: str | None) -> dict[str, Any]:
    source = rule.logsource
    logsource = {
        key: value
        for key, value in (
            ("category", source.category),
            ("product", source.product),
            ("service", source.service),
        )
        if value
    }
    found = {
        "title": rule.title,
        "level": rule.level.name.lower() if rule.level else None,
        "status": rule.status.name.lower() if rule.status else None,
        "tags": [str(tag) for tag in rule.tags],
        "logsource": logsource,
        "file": file,
    }
    return {key: value for key, value in found.items() if value}
