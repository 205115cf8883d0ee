"""A client of `tamis serve`.

    from tamis.client import Client

    with Client("http://localhost:8080") as tamis:
        tamis.match({"age": 21, "state": "CA"}).matches

`AsyncClient` has the same methods as coroutines. Needs the extra `tamis[client]`.
"""

try:
    from tamis.client.asynchronous import AsyncClient
    from tamis.client.synchronous import Client
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("tamis"):
        raise
    message = f"tamis.client needs {error.name}: pip install 'tamis[client]'"
    raise ModuleNotFoundError(message, name=error.name) from error

from tamis.client.answers import (
    Answer,
    Changed,
    Checked,
    Explained,
    Failed,
    Page,
    Ranked,
    ServerError,
)

__all__ = [
    "Answer",
    "AsyncClient",
    "Changed",
    "Checked",
    "Client",
    "Explained",
    "Failed",
    "Page",
    "Ranked",
    "ServerError",
]
