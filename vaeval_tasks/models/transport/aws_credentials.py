"""AWS keys as AWS's own tools find them: variables, a profile, single sign-on, a role, the machine's own."""

from __future__ import annotations

from functools import lru_cache
from os import environ
from typing import Any

from vaeval_tasks.errors import InputError, MissingDependencyError
from vaeval_tasks.models.transport.sigv4 import Credentials
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["aws_credentials"]

_REGION = "us-east-1"


def aws_credentials(config: ModelConfig) -> Credentials:
    """Return what requests of a configuration are signed with; keys that expire are renewed.

    ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY`` (``AWS_SESSION_TOKEN``) come first, unless ``connection`` names
    a ``profile``; everything else is botocore's chain. It may ask the network, so call it outside an event loop.

    Raises:
        InputError: there are no keys, no such profile, or a login has ended.
        MissingDependencyError: a profile is named, and botocore is not installed.
    """
    profile = str(config.connection.get("profile") or "")
    named = config.connection.get("region")
    region = str(named or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "")
    access, key = environ.get("AWS_ACCESS_KEY_ID", "").strip(), environ.get("AWS_SECRET_ACCESS_KEY", "").strip()
    if access and key and not profile:
        return Credentials(access, key, environ.get("AWS_SESSION_TOKEN", ""), region or _REGION)
    session, found = _chain(config, profile or environ.get("AWS_PROFILE", ""))
    frozen = _frozen(config, found)
    region = region or session.get_config_variable("region") or _REGION
    return Credentials(frozen.access_key, frozen.secret_key, frozen.token or "", region)


def _chain(config: ModelConfig, profile: str) -> tuple[Any, Any]:
    try:
        from botocore.exceptions import BotoCoreError
    except ImportError:
        if profile:
            raise MissingDependencyError(f"the AWS profile {profile!r}", "botocore", extra="aws") from None
        raise InputError(
            f"{config.config_id}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; profiles, single sign-on and roles "
            "need: pip install 'vaeval[aws]'"
        ) from None
    try:
        session, found = _looked_up(profile, environ.get("AWS_CONFIG_FILE", ""), environ.get("HOME", ""))
    except BotoCoreError as error:
        raise InputError(f"{config.config_id}: AWS: {_line(error)}") from None
    if found is None:
        raise InputError(
            f"{config.config_id}: no AWS keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile "
            "(connection: {profile: NAME}, or AWS_PROFILE)"
        )
    return session, found


@lru_cache(maxsize=8)
def _looked_up(profile: str, _config_file: str, _home: str) -> tuple[Any, Any]:
    """Look once: what is found renews itself."""
    import botocore.session

    session = botocore.session.Session(profile=profile or None)
    return session, session.get_credentials()


def _frozen(config: ModelConfig, found: Any) -> Any:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return found.get_frozen_credentials()
    except (BotoCoreError, ClientError) as error:
        raise InputError(f"{config.config_id}: AWS: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
