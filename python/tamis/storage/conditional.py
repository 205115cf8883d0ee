"""How does a file appear in an object store only if none of its name is there?

S3, Google Cloud Storage and Azure create an object on condition that there is none, which decides
between two jobs that commit at once. Arrow's filesystems cannot ask for that; `obstore` can. It is
optional: `pip install 'tamis[cloud]'`.
"""

import functools
import importlib.util
import os
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit


def create(uri: str, files: Any, name: str, content: bytes) -> bool | None:
    """Create a file unless the name exists.

    Args:
        uri: The folder, as Arrow spells it.
        files: The filesystem that Arrow opens for it.
        name: The file.
        content: What it says.

    Returns:
        Whether it was created; None if that cannot be guaranteed, and nothing was done.

    Raises:
        OSError: The store cannot be reached, or refuses.
    """
    if importlib.util.find_spec("obstore") is None:
        return None
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError

    try:
        store = _store(uri, getattr(files, "region", None))
        if store is None:
            return None
        try:
            obstore.put(store, name, content, mode="create")
        except AlreadyExistsError:
            # An answer may be lost on the way: the file may be the one that was just created.
            return bytes(obstore.get(store, name).bytes()) == content
    except BaseError as error:
        reason = str(error).partition("\n\nDebug source")[0]
        raise OSError(f"cannot create it: {reason}") from error
    return True


@functools.lru_cache(maxsize=64)
def _store(uri: str, region: str | None) -> Any:
    """The folder as a store of `obstore`, set up as Arrow is by the URI and the environment."""
    parts = urlsplit(uri)
    options = dict(parse_qsl(parts.query))
    if parts.scheme == "s3":
        return _s3(parts, options, region)
    from obstore.store import from_url

    if parts.scheme in ("gs", "gcs") and not options:
        return from_url(f"gs://{parts.hostname}{parts.path}")
    if parts.scheme in ("abfs", "abfss") and not options and parts.password is None:
        return from_url(uri)
    return None


def _s3(parts: SplitResult, options: dict[str, str], region: str | None) -> Any:
    from obstore.store import S3Store

    named = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    endpoint = options.get("endpoint_override") or next(filter(None, map(os.getenv, named)), None)
    settings: dict[str, Any] = {"prefix": unquote(parts.path).strip("/") or None}
    if region:
        settings["region"] = region
    if endpoint:
        scheme = options.get("scheme", "https")
        settings["endpoint"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        settings["client_options"] = {"allow_http": settings["endpoint"].startswith("http://")}
    if parts.username is not None:
        settings["access_key_id"] = unquote(parts.username)
        settings["secret_access_key"] = unquote(parts.password or "")
    elif importlib.util.find_spec("boto3") is not None:
        import boto3

        session = boto3.Session()  # knows profiles and single sign-on, as Arrow does
        if session.get_credentials() is not None:
            from obstore.auth.boto3 import Boto3CredentialProvider

            settings["credential_provider"] = Boto3CredentialProvider(session)
    return S3Store(parts.hostname, **settings)
