"""Which fields of a chat request an endpoint takes; learnt from its refusals, once for all further requests.

Error texts that were looked up: OpenAI and Azure ("Unsupported parameter: 'max_tokens' is not supported with this
model. Use 'max_completion_tokens' instead.", "Unsupported value: 'temperature' does not support 0 with this model. Only
the default (1) value is supported.", "Invalid parameter: 'response_format' of type 'json_schema' is not supported with
this model", "response_format value as json_schema is enabled only for api versions …", "Unrecognized request argument
supplied: reasoning_effort"), DashScope ("Json mode response is not supported when enable_thinking is true", "'messages'
must contain the word 'json' in some form"), Mistral and vLLM (``extra_forbidden`` with the field's name).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome

__all__ = ["Dialect", "not_taken"]

_UNSUPPORTED = (
    r"(?:unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra_forbidden"
    r"|may only be|only 1 is)"
)
_TOKENS = ("max_tokens", "max_completion_tokens", "")
"""The names of the limit of tokens, in the order they are tried; at last none is sent."""
_FORMS = ("json_schema", "json_object", "")
"""The forms of a structured answer, likewise."""
_NO_FORM = re.compile(
    r"response_format|json_schema|json_object|json mode|structured.?output|guided|the word 'json'", re.IGNORECASE
)


def not_taken(name: str, said: str) -> bool:
    """Whether an error says that a field is not known or supported; that it is too large is another matter."""
    field = rf"(?<!\w){re.escape(name)}(?!\w)"
    pattern = rf"{_UNSUPPORTED}[^.]{{0,60}}{field}|{field}[^.]{{0,60}}{_UNSUPPORTED}"
    return re.search(pattern, said, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What an endpoint takes, as far as is known."""

    tokens: str = _TOKENS[0]
    """What the limit of tokens is called; "" where none is taken."""
    temperature: bool = True
    form: str = _FORMS[0]
    """The strictest form of a structured answer; "" where none is taken."""

    def answer_form(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that ask for an answer of a JSON schema, as strictly as the endpoint can."""
        if not self.form:
            return {}
        if self.form == "json_object":
            return {"response_format": {"type": "json_object"}}
        named = {"name": "reply", "strict": True, "schema": dict(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    def after(self, outcome: HttpOutcome, sent: Collection[str]) -> Dialect:
        """Return the dialect that a refusal teaches; the same where it is about something else.

        Args:
            outcome: what came of a request.
            sent: the names of its fields.
        """
        if outcome.meaning is not HttpMeaning.bad_request:
            return self
        said, learnt = outcome.reason, self
        if self.tokens and self.tokens in sent and not_taken(self.tokens, said):
            learnt = replace(learnt, tokens=_TOKENS[_TOKENS.index(self.tokens) + 1])
        if self.temperature and "temperature" in sent and not_taken("temperature", said):
            learnt = replace(learnt, temperature=False)
        if self.form and "response_format" in sent and _NO_FORM.search(said):
            learnt = replace(learnt, form=_FORMS[_FORMS.index(self.form) + 1])
        return learnt
