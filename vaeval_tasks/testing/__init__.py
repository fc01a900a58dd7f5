"""For the tests of whoever writes a system: a conformance check, made recordings, and fakes of every public protocol.

:func:`check_system` and the recordings need nothing more than the package; the fakes need the extra ``testing``. Each
fake is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from vaeval_tasks.errors import MissingDependencyError

if TYPE_CHECKING:
    from vaeval_tasks.testing.bedrock import ACCESS_KEY, BedrockFake
    from vaeval_tasks.testing.chat import ChatFake
    from vaeval_tasks.testing.conformance import SystemReport, check_system
    from vaeval_tasks.testing.eleven import CascadeFake
    from vaeval_tasks.testing.gemini import GeminiFake
    from vaeval_tasks.testing.realtime import RealtimeFake
    from vaeval_tasks.testing.recordings import sample_image, sample_recording, write_recording
    from vaeval_tasks.testing.server import KEY, Authority, Fake, answer_pcm
    from vaeval_tasks.testing.xai import XaiFake

__all__ = [
    "ACCESS_KEY",
    "KEY",
    "Authority",
    "BedrockFake",
    "CascadeFake",
    "ChatFake",
    "Fake",
    "GeminiFake",
    "RealtimeFake",
    "SystemReport",
    "XaiFake",
    "answer_pcm",
    "check_system",
    "sample_image",
    "sample_recording",
    "write_recording",
]

_HOMES = {
    "bedrock": ("ACCESS_KEY", "BedrockFake"),
    "chat": ("ChatFake",),
    "conformance": ("SystemReport", "check_system"),
    "eleven": ("CascadeFake",),
    "gemini": ("GeminiFake",),
    "realtime": ("RealtimeFake",),
    "server": ("KEY", "Authority", "Fake", "answer_pcm"),
    "recordings": ("sample_image", "sample_recording", "write_recording"),
    "xai": ("XaiFake",),
}
_EXTRA = ("aiohttp", "h2", "trustme")


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{home}")
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise MissingDependencyError("vaeval_tasks.testing", error.name, extra="testing") from None
    return getattr(module, name)
