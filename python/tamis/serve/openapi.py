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
        "metadata": {"description": "Any JSON value."},
        "weights": _WEIGHTS,
        "boost": {"type": "number", "minimum": 0},
        "priority": {"type": "integer"},
        "active_from": {"type": "string", "example": "2026-01-02T05:00Z"},
        "active_until": {"type": "string"},
        "deleted": {"type": "boolean", "description": "In a bulk change: remove it."},
        "version": {"description": "Part of a response that a client sends back; ignored."},
    },
    "additionalProperties": False,
}
_VERSION = {"type": "string", "description": "The version that answered."}


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


_NOW = _parameter("now", "The value of `now()`, such as `2026-01-02T05:00Z`.")
_DOCUMENT = _parameter("document", "The attribute of events that holds their XML document.")
_WHERE = _parameter("where", "An expression over the metadata of subscriptions.")
_SOURCE = _parameter("source", "For a graph: the node that events start from.")
_SINKS = _parameter(
    "sinks_only", "For a graph: only nodes without outgoing edges.", {"type": "boolean"}
)
_TYPE = _parameter(
    "type",
    "The type of the id; by default a string or, if there is no such string, an integer.",
    {"type": "string", "enum": ["string", "integer"]},
)
_NAME = _parameter("id", "The id.", {"type": "string", "minLength": 1}, place="path")

_FAILURES = {
    "400": "The request cannot be understood.",
    "401": "A token is needed.",
    "403": "The token, or the page, may not do this.",
    "404": "There is no such path or id.",
    "405": "The path has other methods, or changes are not accepted.",
    "409": "The served folder does not support this request.",
    "413": "The request is larger than allowed.",
    "415": "The content type is not supported.",
    "421": "The request names another host.",
    "422": "An event or expression is invalid.",
    "503": "The server is busy: try again after `Retry-After` seconds.",
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
        next={"type": ["string", "null"], "description": "The start of the next page."},
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
            "description": "Finds which of many Boolean expressions each event satisfies.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/match": {
                "post": _about_events("Match each event.", _SOURCE, _SINKS, _WHERE, matches=_IDS)
            },
            "/top": {
                "post": _about_events(
                    "Rank the matches of each event.",
                    _WHERE,
                    _SOURCE,
                    _SINKS,
                    _parameter("n", "The maximum number of results.", limit),
                    _parameter("weights", "The event's weights, as a JSON object."),
                    top={"type": "array", "items": ranked},
                )
            },
            "/first": {
                "post": _about_events(
                    "Find the matches of the highest priority for each event.",
                    _WHERE,
                    _parameter("n", "The maximum number of results.", limit),
                    first=_IDS,
                )
            },
            "/explain": {
                "post": _about_events(
                    "Explain why an event matches, or why not.",
                    _SOURCE,
                    _parameter("target", "For a graph: the node to explain."),
                    _parameter(
                        "id",
                        "The ids to explain; by default those that match.",
                        {"type": "array", "items": text},
                    ),
                    _parameter("limit", "How many.", {**limit, "maximum": 100}),
                    explanations=explained,
                )
            },
            "/check": {
                "post": _operation(
                    "Check an expression, and return its canonical form.",
                    checked,
                    body=_json({**_object(expression=text), "required": ["expression"]}),
                )
            },
            "/subscriptions": {
                "get": _operation(
                    "List subscriptions.",
                    page,
                    parameters=[
                        _parameter("limit", "The maximum number of results.", limit),
                        _parameter("after", "`next` of the previous page."),
                        _parameter("where", "An expression over their metadata."),
                        _parameter("text", "Text that their ids or expressions contain."),
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
                            "`raise`: all or nothing; `collect`: all valid ones.",
                            {"type": "string", "enum": ["raise", "collect"]},
                        )
                    ],
                    body=bulk,
                ),
            },
            "/subscriptions/{id}": {
                "get": _operation(
                    "Get a subscription.", {"type": "object"}, parameters=[_NAME, _TYPE]
                ),
                "put": put,
                "delete": _operation("Remove a subscription.", changed, parameters=[_NAME, _TYPE]),
            },
            "/stream": {
                "get": _operation(
                    "Stream matches as they happen.",
                    text,
                    parameters=[
                        _parameter("where", "An expression over events and their matches.")
                    ],
                    type="text/event-stream",
                )
            },
            "/stats": {"get": _operation("Get statistics.", {"type": "object"})},
            "/findings": {
                "get": _operation(
                    "Find likely mistakes.",
                    _object(
                        findings={"type": "array", "items": {"type": "object"}},
                        examined={"type": "integer"},
                        total={"type": "integer"},
                        version=_VERSION,
                    ),
                )
            },
            "/metrics": {"get": _operation("Get metrics for Prometheus.", text, type="text/plain")},
            "/healthz": {
                "get": _operation(
                    "Check that the process is alive.",
                    _object(alive={"type": "boolean"}),
                    secured=False,
                )
            },
            "/readyz": {
                "get": _operation(
                    "Check whether the server accepts requests.",
                    _object(ready={"type": "boolean"}, version=_VERSION),
                    secured=False,
                )
            },
        },
    }
