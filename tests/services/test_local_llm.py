"""The local language model answers over the OpenAI protocol, the same for the same question."""

from __future__ import annotations

from vaeval_tasks.services import weights
from vaeval_tasks.services.local_llm import LocalLLM


def test_a_greedy_chat_is_deterministic_and_knows_paris() -> None:
    llm = LocalLLM(weights.offline("smollm2-135m"), threads=1)
    try:
        system = {"role": "system", "content": "You are a helpful voice assistant. Answer in one short sentence."}
        messages = [system, {"role": "user", "content": "What is the capital of France?"}]
        first = llm.chat(messages, max_tokens=12)
        assert "Paris" in first
        llm.chat([{"role": "user", "content": "Say hello."}], max_tokens=4)
        assert llm.chat(messages, max_tokens=12) == first
    finally:
        llm.close()
