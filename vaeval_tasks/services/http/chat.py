"""One client of OpenAI-compatible ``/chat/completions``: sync, thread-safe, patient, and it never shows a key."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.services.http.breaker import Breaker
from vaeval_tasks.services.http.dialect import Dialect, not_taken
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome, json_body, of_response
from vaeval_tasks.services.http.retry import SAY_FROM_S, RetryRule, Stop, Wait, decide
from vaeval_tasks.services.http.secrets import env_key, keys_of, one_line, scrub, shown_url, trust
from vaeval_tasks.services.http.waits import in_words
from vaeval_tasks.services.verdicts import final_text

if TYPE_CHECKING:
    import httpx

__all__ = ["KEYS", "ChatAnswer", "ChatClient", "ChatOptions"]

KEYS = ("VAEVAL_JUDGE_API_KEY", "OPENAI_API_KEY")
"""Where a judge's key is read from; the first that is set."""
_PROBE_TIMEOUT_S = 30.0
_PROBE_TOKENS = 16
_REPEATED_CHARS = 4000
"""So much of an answer is repeated to the model when it is reminded."""
_PROBE = ({"role": "user", "content": "Say OK."},)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """What every request of a client says, and how it is sent."""

    model: str = ""
    """The model's name at the endpoint; none is sent where it is empty."""
    max_tokens: int | None = None
    """For thinking and answer together; sent under the name that the endpoint takes."""
    temperature: float | None = 0.0
    """None sends none; an endpoint that takes none gets none."""
    reasoning_effort: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the body; they go before all others."""
    structured: bool = False
    """Whether a schema of the answer, where a request has one, is sent; an endpoint that takes none gets none."""
    timeout_s: float = 180.0
    """Seconds for one request."""
    concurrency: int = 4
    """Connections at a time."""
    retry: RetryRule = field(default_factory=RetryRule)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """What came back: the text, or the reason there is none."""

    text: str = ""
    outcome: HttpOutcome
    attempts: int = 1
    stop: str = ""
    """Why nothing more is to be asked of this endpoint; "" where other requests may be."""
    first_token: Mapping[str, float] = field(default_factory=dict)
    """The likeliest first tokens and their log probabilities, where ``logprobs`` was asked for."""

    @property
    def ok(self) -> bool:
        """Whether there is a whole answer."""
        return self.outcome.meaning is HttpMeaning.ok

    @property
    def reason(self) -> str:
        """Why there is no whole answer."""
        return self.stop or self.outcome.reason

    @property
    def later(self) -> bool:
        """Whether another time is better whatever else is known: a limit of requests, a quota, nobody there."""
        return bool(self.stop) or self.outcome.meaning in (HttpMeaning.busy, HttpMeaning.unreachable)

    @property
    def reached(self) -> bool:
        """Whether the endpoint dealt with this request; if not, it is to be asked another time."""
        return not self.stop and not self.outcome.meaning.silent


class ChatClient:
    """A connection to a chat model. Thread-safe; after :meth:`close` the next request opens it again.

    Args:
        url: the endpoint's base, such as ``http://localhost:8000/v1``, with a query where it needs one.
        options: what every request says, and how it is sent.
        who: what the endpoint is called in messages.
        keys: the environment variables that may hold its key; none are read where this is empty.
        sleep: waits between attempts, in seconds; by default until :meth:`stop` at the latest.
        say: told of waits that somebody who watches would wonder about; by default they are logged.

    Raises:
        InputError: the address is not HTTP, or the key cannot be sent.
    """

    def __init__(
        self,
        url: str,
        options: ChatOptions,
        *,
        who: str = "the judge",
        keys: Sequence[str] = KEYS,
        sleep: Callable[[float], object] | None = None,
        say: Callable[[str], object] | None = None,
    ) -> None:
        self._endpoint = _endpoint(url, who)
        self.url = shown_url(self._endpoint)
        self.options, self.who = options, who
        self._keys = keys
        self._stopped = threading.Event()
        self._sleep = sleep
        self._say = say or logging.getLogger(__name__).warning
        self._said_until = 0.0
        self._dialect = Dialect()
        self._lock = threading.Lock()
        self._first = threading.Lock()
        self._spoken = False
        self._http: httpx.Client | None = None
        self._secrets: tuple[str, ...] = ()

    def ask(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None, **fields: Any
    ) -> ChatAnswer:
        """Ask, again where that can help.

        Args:
            messages: as the protocol has them.
            schema: the JSON schema of the answer, sent where the options say so and the endpoint takes one.
            fields: further fields of this request.

        Raises:
            InputError: the key cannot be sent.
        """
        attempt, stopped = 0, self._stopped
        while True:
            attempt += 1
            answer = self._once(messages, fields, self.options, schema)
            step = decide(attempt, answer.outcome, self.options.retry, now=time.time())
            if not isinstance(step, Wait) or stopped.is_set():
                return replace(answer, attempts=attempt, stop=step.reason if isinstance(step, Stop) else "")
            self._pause(step.seconds, answer.outcome, stopped)

    def probe(self) -> HttpOutcome:
        """Send one small request, once, and return what came of it: is the endpoint there?"""
        options = self.options
        few = None if options.max_tokens is None else min(_PROBE_TOKENS, options.max_tokens)
        small = replace(options, max_tokens=few, timeout_s=min(options.timeout_s, _PROBE_TIMEOUT_S))
        return self._once(_PROBE, {}, small).outcome

    def breaker(self) -> Breaker:
        """Return a breaker for one batch of requests."""
        return Breaker(self.probe)

    def refusal(self, answer: ChatAnswer) -> ServiceError:
        """Return the error of an answer after which nothing more is to be asked."""
        meaning = answer.outcome.meaning
        verb = " refused" if meaning.for_all else ""
        advice = "; leave that option out, or give another value" if meaning is HttpMeaning.setting else ""
        return ServiceError(f"{self.who} at {self.url}{verb}: {answer.stop}{advice}")

    def stop(self) -> None:
        """Let requests under way end without another attempt."""
        self._stopped.set()

    def close(self) -> None:
        """Close the connections, and let requests under way end without another attempt."""
        with self._lock:
            if self._http is not None:
                self._http.close()
            self._http = None
            self._stopped.set()
            self._stopped = threading.Event()  # what is still under way keeps the old one

    def _client(self) -> httpx.Client:
        with self._lock:
            if self._http is None:
                import httpx

                key = env_key(self._keys)
                url = httpx.URL(self._endpoint)
                self._secrets = tuple(filter(None, (key, url.password, *keys_of(dict(url.params)))))
                self._http = httpx.Client(
                    headers={"Authorization": f"Bearer {key}"} if key else {},
                    limits=httpx.Limits(max_connections=self.options.concurrency),
                    verify=trust(),
                )
            return self._http

    def _pause(self, seconds: float, outcome: HttpOutcome, stopped: threading.Event) -> None:
        until = time.monotonic() + seconds
        if seconds >= SAY_FROM_S and until > self._said_until + 1.0:  # many threads wait for the same
            self._said_until = until
            self._say(f"{self.who}: waiting {in_words(seconds)} before asking again ({outcome.reason})")
        (self._sleep or stopped.wait)(seconds)

    def ask_reminding(
        self,
        messages: Sequence[Mapping[str, Any]],
        wrong: Callable[[str], str],
        reminder: str,
        *,
        schema: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> ChatAnswer:
        """Ask, and once more where the answer cannot be used: with that answer before it, and a reminder.

        Args:
            messages: as the protocol has them.
            wrong: says what is wrong with a text; "" where nothing is.
            reminder: what the user says next; ``{reason}`` in it is filled in.
            schema: as in :meth:`ask`.
            fields: further fields of both requests.

        Returns:
            The second answer where there is one that can be used, else the first.
        """
        first = self.ask(messages, schema=schema, **fields)
        if not first.ok or not (reason := wrong(first.text)) or self._stopped.is_set():
            return first
        said = {"role": "assistant", "content": final_text(first.text)[-_REPEATED_CHARS:] or "(no answer)"}
        again = {"role": "user", "content": reminder.replace("{reason}", reason)}
        second = self.ask([*messages, said, again], schema=schema, **fields)
        attempts = first.attempts + second.attempts
        if second.stop:  # the next request would meet the same
            return replace(second, attempts=attempts)
        return replace(second if second.ok and not wrong(second.text) else first, attempts=attempts)

    def _once(
        self,
        messages: Sequence[Mapping[str, Any]],
        fields: Mapping[str, Any],
        options: ChatOptions,
        schema: Mapping[str, Any] | None = None,
    ) -> ChatAnswer:
        """Send a request, and once more for each field that the endpoint turns out not to take.

        The first request goes alone: what it learns of the endpoint, all others know.
        """
        if self._spoken:
            return self._learning(messages, fields, options, schema)
        with self._first:
            if not self._spoken:
                try:
                    return self._learning(messages, fields, options, schema)
                finally:
                    self._spoken = True
        return self._learning(messages, fields, options, schema)

    def _learning(
        self,
        messages: Sequence[Mapping[str, Any]],
        fields: Mapping[str, Any],
        options: ChatOptions,
        schema: Mapping[str, Any] | None,
    ) -> ChatAnswer:
        while True:
            dialect = self._dialect
            form = dialect.answer_form(schema) if schema is not None and options.structured else {}
            body = _body(options, dialect, messages, {**fields, **form})
            answer = self._post(body, options.timeout_s)
            if dialect.after(answer.outcome, body) == dialect:
                return self._of_a_setting(answer)
            with self._lock:
                self._dialect = self._dialect.after(answer.outcome, body)  # another thread may have learnt more

    def _of_a_setting(self, answer: ChatAnswer) -> ChatAnswer:
        """Return an answer; one that refuses an option of the user is every request's, and not this one's only."""
        named = {**({"reasoning_effort": 1} if self.options.reasoning_effort else {}), **self.options.extra}
        found = answer.outcome
        if found.meaning is HttpMeaning.bad_request and any(not_taken(name, found.reason) for name in named):
            return replace(answer, outcome=replace(found, meaning=HttpMeaning.setting))
        return answer

    def _post(self, body: dict[str, Any], timeout_s: float) -> ChatAnswer:
        import httpx

        client = self._client()
        try:
            got = client.post(self._endpoint, json=body, timeout=httpx.Timeout(timeout_s, pool=None))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return self._failed(HttpMeaning.unreachable, f"no connection ({error})")
        except httpx.TimeoutException as error:
            return self._failed(HttpMeaning.slow, f"no answer within {timeout_s:g} s ({type(error).__name__})")
        except httpx.DecodingError as error:
            return self._failed(HttpMeaning.unreadable, f"an answer that cannot be unpacked ({error})")
        except httpx.RequestError as error:
            return self._failed(HttpMeaning.broken, f"the connection broke off ({type(error).__name__}: {error})")
        keys = (*self._secrets, *keys_of(got.request.headers))
        found = of_response(got.status_code, got.headers, got.text, keys=keys, now=time.time())
        return _read(got.text, keys) if found.meaning is HttpMeaning.ok else ChatAnswer(outcome=found)

    def _failed(self, meaning: HttpMeaning, reason: str) -> ChatAnswer:
        return ChatAnswer(outcome=HttpOutcome(meaning=meaning, reason=one_line(reason, *self._secrets)))


def _body(
    options: ChatOptions, dialect: Dialect, messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]
) -> dict[str, Any]:
    body: dict[str, Any] = {"model": options.model} if options.model else {}
    body["messages"] = list(messages)
    if options.temperature is not None and dialect.temperature:
        body["temperature"] = options.temperature
    if options.max_tokens is not None and dialect.tokens:
        body[dialect.tokens] = options.max_tokens
    if options.reasoning_effort:
        body["reasoning_effort"] = options.reasoning_effort
    return {**body, **fields, **options.extra}


def _endpoint(url: str, who: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise InputError(f"the address of {who} must start with http:// or https://, got {shown_url(url)!r}")
    import httpx

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InputError(f"the address of {who}, {url!r}, is no URL ({error})") from None
    path = parsed.path.rstrip("/")
    return str(parsed if path.endswith("/chat/completions") else parsed.copy_with(path=f"{path}/chat/completions"))


def _read(said: str, secrets: tuple[str, ...]) -> ChatAnswer:
    """Take the answer out of a body that holds no error."""

    def no(meaning: HttpMeaning, reason: str, text: str = "", first: Mapping[str, float] | None = None) -> ChatAnswer:
        outcome = HttpOutcome(meaning=meaning, reason=one_line(reason, *secrets))
        return ChatAnswer(text=text, outcome=outcome, first_token=first or {})

    try:
        choice = json_body(said)["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content, refusal = message.get("content"), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        return no(HttpMeaning.unreadable, f"not a chat completion: {said}")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    text = scrub(content, *secrets) if isinstance(content, str) else ""
    if refusal:
        return no(HttpMeaning.filtered, f"the model refused: {refusal}")
    if finish == "content_filter":
        return no(HttpMeaning.filtered, "the answer was filtered")
    if finish == "length":
        cut = "the answer was cut off at the token limit (max_tokens)"
        return no(HttpMeaning.cut, cut, text, _first_token(choice))
    if not text.strip():
        return no(HttpMeaning.empty, f"an empty answer (finish_reason {finish})")
    return ChatAnswer(text=text, outcome=HttpOutcome(meaning=HttpMeaning.ok), first_token=_first_token(choice))


def _first_token(choice: Mapping[str, Any]) -> dict[str, float]:
    """Return the candidates of ``logprobs.content[0].top_logprobs``; none where the choice holds no such thing."""
    try:
        candidates = choice["logprobs"]["content"][0]["top_logprobs"]
        return {str(one["token"]): float(one["logprob"]) for one in candidates}
    except (KeyError, IndexError, TypeError, ValueError):
        return {}
