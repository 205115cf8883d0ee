"""The OpenAPI document."""

from typing import Any

_ID = {"oneOf": [{"type": "string"}, {"type": "integer", "format": "int64"}]}
_IDS = {"type": "array", "items": _ID}
_EVENT = {"type": "object", "additionalProperties": True, "example": {"age": 21, "state": "CA"}}
_WEIGHTS = {
    "type": "object",
    "additionalProperties": {
        "oneOf": [
            {"type": "number", "minimum": 0},
            {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
        ]
    },
}
_ERROR = {
    "type": "object",
    "required": ["kind", "message"],
    "properties": {
        "kind": {"type": "string", "description": "The name of the error."},
        "message": {"type": "string"},
        "line": {"type": "integer"},
        "column": {"type": "integer"},
    },
    "additionalProperties": True,
}
_SUBSCRIPTION = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": _ID,
        "expression": {"type": "string", "example": "age between 18 and 25"},
        "metadata": {"description": "Anything JSON can hold."},
        "weights": _WEIGHTS,
        "boost": {"type": "number", "minimum": 0},
        "priority": {"type": "integer"},
        "active_from": {"type": "string", "example": "2026-01-02T05:00Z"},
        "active_until": {"type": "string"},
        "deleted": {"type": "boolean", "description": "Of a bulk change: remove it."},
        "version": {"description": "Of the answer that a client sends back; ignored."},
    },
    "additionalProperties": False,
}
_VERSION = {"type": "string", "description": "What was served when this was answered."}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _parameter(
    name: str, description: str, schema: dict[str, Any] | None = None, *, place: str = "query"
) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": description,
        "schema": schema or {"type": "string"},
    }


_NOW = _parameter("now", "The moment that `now()` is, such as `2026-01-02T05:00Z`.")
_DOCUMENT = _parameter("document", "The attribute of events that holds their XML document.")
_WHERE = _parameter("where", "An expression over the metadata of subscriptions.")
_SOURCE = _parameter("source", "Of a graph: the node that events start from.")
_SINKS = _parameter("sinks_only", "Of a graph: only nodes without edges.", {"type": "boolean"})
_TYPE = _parameter(
    "type",
    "The type of the id; by default a string or, where there is none, an integer.",
    {"type": "string", "enum": ["string", "integer"]},
)
_NAME = _parameter("id", "The id.", {"type": "string", "minLength": 1}, place="path")

_FAILURES = {
    "400": "The request cannot be understood.",
    "401": "A token is needed.",
    "403": "The token, or the page, may not do this.",
    "404": "There is no such thing.",
    "405": "The path takes other methods, or changes are not accepted.",
    "409": "What is served cannot answer that.",
    "413": "The request is larger than allowed.",
    "415": "The content type is not known.",
    "421": "The request names another host.",
    "422": "An event or expression is invalid.",
    "503": "The server is busy: come back after `Retry-After` seconds.",
    "504": "Matching took too long.",
}


def _operation(
    summary: str,
    answer: dict[str, Any],
    *,
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
    status: str = "200",
    type: str = "application/json",
    secured: bool = True,
) -> dict[str, Any]:
    failure = _json(_object(error=_ERROR, request={"type": "string"}))
    operation: dict[str, Any] = {
        "summary": summary,
        "parameters": parameters or [],
        "responses": {
            status: {"description": "The answer.", "content": {type: {"schema": answer}}},
            **{code: {"description": text, "content": failure} for code, text in _FAILURES.items()},
        },
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    operation["security"] = [{"token": []}, {}] if secured else []
    return operation


def _about_events(summary: str, *parameters: dict[str, Any], **answer: Any) -> dict[str, Any]:
    each = _object(**answer, error=_ERROR)
    lines = {"schema": {"type": "string", "description": "One event per line."}}
    body = {
        **_json({"oneOf": [_EVENT, {"type": "array", "items": _EVENT}]}),
        "application/x-ndjson": lines,
        "application/xml": {"schema": {"type": "string"}},
    }
    one = _object(**answer, version=_VERSION)
    many = _object(results={"type": "array", "items": each}, version=_VERSION)
    operation = _operation(
        summary, {"anyOf": [one, many]}, parameters=[_NOW, _DOCUMENT, *parameters], body=body
    )
    streamed = {"schema": {"type": "string", "description": "One answer per line, with `line`."}}
    operation["responses"]["200"]["content"]["application/x-ndjson"] = streamed
    return operation


def document(version: str) -> dict[str, Any]:
    """The OpenAPI document.

    Args:
        version: The version of Tamis.
    """
    ranked = _object(id=_ID, score={"type": "number"})
    explained = {"type": "array", "items": _object(id=_ID, matched={"type": "boolean"})}
    text = {"type": "string"}
    changed = _object(id=_ID, version=_VERSION)
    put = _operation(
        "Add a subscription, or replace it.",
        changed,
        parameters=[_NAME, _TYPE],
        body=_json({**_SUBSCRIPTION, "required": ["expression"]}),
    )
    put["responses"]["201"] = put["responses"]["200"]
    bulk = {
        **_json({"type": "array", "items": _SUBSCRIPTION}),
        "application/x-ndjson": {"schema": text},
    }
    page = _object(
        subscriptions={"type": "array", "items": {"type": "object"}},
        next={"type": ["string", "null"], "description": "Where the next page begins."},
        total={"type": "integer"},
        version=_VERSION,
    )
    checked = _object(valid={"type": "boolean"}, expression=text, error=_ERROR)
    limit = {"type": "integer", "minimum": 1, "maximum": 1000}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tamis",
            "version": version,
            "description": "For every event, which of many standing expressions hold.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/match": {
                "post": _about_events(
                    "What does each event match?", _SOURCE, _SINKS, _WHERE, matches=_IDS
                )
            },
            "/top": {
                "post": _about_events(
                    "What does each event match best?",
                    _WHERE,
                    _SOURCE,
                    _SINKS,
                    _parameter("n", "How many.", limit),
                    _parameter("weights", "The event's weights, as a JSON object."),
                    top={"type": "array", "items": ranked},
                )
            },
            "/first": {
                "post": _about_events(
                    "Which of the highest priority does each event match?",
                    _WHERE,
                    _parameter("n", "How many.", limit),
                    first=_IDS,
                )
            },
            "/explain": {
                "post": _about_events(
                    "Why does it match, or not?",
                    _SOURCE,
                    _parameter("target", "Of a graph: the node to explain."),
                    _parameter(
                        "id",
                        "What to explain; by default what matches.",
                        {"type": "array", "items": text},
                    ),
                    _parameter("limit", "How many.", {**limit, "maximum": 100}),
                    explanations=explained,
                )
            },
            "/check": {
                "post": _operation(
                    "Is an expression valid, and what is its canonical form?",
                    checked,
                    body=_json({**_object(expression=text), "required": ["expression"]}),
                )
            },
            "/subscriptions": {
                "get": _operation(
                    "Which subscriptions are there?",
                    page,
                    parameters=[
                        _parameter("limit", "How many at most.", limit),
                        _parameter("after", "What the page before called `next`."),
                        _parameter("where", "An expression over their metadata."),
                        _parameter("text", "What their ids or expressions contain."),
                    ],
                ),
                "post": _operation(
                    "Add, replace and remove many at once.",
                    _object(
                        put={"type": "integer"},
                        removed={"type": "integer"},
                        refused={"type": "array", "items": {"type": "object"}},
                        version=_VERSION,
                    ),
                    parameters=[
                        _parameter(
                            "on_error",
                            "`raise`: all or nothing; `collect`: those that are valid.",
                            {"type": "string", "enum": ["raise", "collect"]},
                        )
                    ],
                    body=bulk,
                ),
            },
            "/subscriptions/{id}": {
                "get": _operation(
                    "What is a subscription?", {"type": "object"}, parameters=[_NAME, _TYPE]
                ),
                "put": put,
                "delete": _operation("Remove a subscription.", changed, parameters=[_NAME, _TYPE]),
            },
            "/stream": {
                "get": _operation(
                    "Which matches are happening?",
                    text,
                    parameters=[_parameter("where", "An expression over happenings.")],
                    type="text/event-stream",
                )
            },
            "/stats": {"get": _operation("How busy is it?", {"type": "object"})},
            "/findings": {
                "get": _operation(
                    "What may be a mistake?",
                    _object(
                        findings={"type": "array", "items": {"type": "object"}},
                        examined={"type": "integer"},
                        total={"type": "integer"},
                        version=_VERSION,
                    ),
                )
            },
            "/metrics": {"get": _operation("Figures for Prometheus.", text, type="text/plain")},
            "/healthz": {
                "get": _operation("Is it alive?", _object(alive={"type": "boolean"}), secured=False)
            },
            "/readyz": {
                "get": _operation(
                    "Should requests come here?",
                    _object(ready={"type": "boolean"}, version=_VERSION),
                    secured=False,
                )
            },
        },
    }
