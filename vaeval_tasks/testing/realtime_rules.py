"""What the realtime service takes from a client, and refuses."""

from __future__ import annotations

from typing import Any

CLIENT_EVENTS: dict[str, set[str]] = {
    "session.update": {"session"},
    "input_audio_buffer.append": {"audio"},
    "input_audio_buffer.commit": set(),
    "input_audio_buffer.clear": set(),
    "conversation.item.create": {"item", "previous_item_id"},
    "response.create": {"response"},
    "response.cancel": {"response_id"},
}
"""What a client may send, and the fields of each."""
PARTS = {
    "system": ("input_text",),
    "user": ("input_text", "input_audio", "input_image"),
    "assistant": ("output_text", "output_audio"),
}
"""The parts that a message of each role may hold."""


class RealtimeRefusal(Exception):
    """An error event to the client."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code, self.param = code, param


def check_event(kind: str, event: dict[str, Any]) -> None:
    """Refuse an event that the service does not know, and fields that the event does not have."""
    if kind not in CLIENT_EVENTS:
        raise RealtimeRefusal("invalid_value", f"Invalid value: '{kind}'", "type")
    if unknown := event.keys() - CLIENT_EVENTS[kind] - {"type", "event_id"}:
        name = sorted(unknown)[0]
        raise RealtimeRefusal("unknown_parameter", f"Unknown parameter: '{name}'.", name)
    if kind == "conversation.item.create":
        item = event["item"]
        if item.get("type") != "message":
            raise RealtimeRefusal("missing_required_parameter", "Missing required parameter: 'item.type'.", "item")
        for number, part in enumerate(item["content"]):
            if part["type"] not in PARTS.get(item["role"], ()):
                raise RealtimeRefusal("invalid_value", f"Invalid value: '{part['type']}'", f"content[{number}]")
