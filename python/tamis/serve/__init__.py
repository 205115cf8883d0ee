"""The server: answers HTTP requests from a compiled or saved index.

    from tamis.serve import Settings, run

    run("campaigns.tamis", Settings(port=8080))

A request passes `protocol` (connections and their limits), `app` (routing, authorisation, logs) and
`routes` (what each path does). What is served is a `Held`, one version of an index, graph or XML
filter, kept current by a source: `follow` reads what others commit, `own` takes changes and writes
them to a `log`. Needs the extra `tamis[serve]`.
"""

try:
    from tamis.serve.app import Service, create
    from tamis.serve.running import run
    from tamis.serve.settings import Settings
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("tamis"):
        raise
    message = f"tamis.serve needs {error.name}: pip install 'tamis[serve]'"
    raise ModuleNotFoundError(message, name=error.name) from error

__all__ = ["Service", "Settings", "create", "run"]
