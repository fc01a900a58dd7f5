"""The 13 tasks of VoiceAssistant-Eval and their three families, as names.

Source: arXiv 2509.22651v1 and the Hub card of ``MathLLMs/VoiceAssistant-Eval``. A task is named as its
config of the data set is; lm-eval 0.4.13 ships no task or group of these names.
"""

from __future__ import annotations

from vaeval_tasks.errors import UnknownNameError

__all__ = ["DIALOGUE_TASK", "EMOTION_TASK", "FAMILIES", "GROUP", "HUB_DATASET", "ROLEPLAY_TASK", "TASKS", "family"]

HUB_DATASET = "MathLLMs/VoiceAssistant-Eval"
GROUP = "voiceassistant_eval"
EMOTION_TASK, ROLEPLAY_TASK, DIALOGUE_TASK = "speaking_emotion", "speaking_roleplay", "speaking_multi_round"
"""Tasks that are scored in a way of their own."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "listening": ("listening_general", "listening_music", "listening_sound", "listening_speech"),
    "speaking": (
        "speaking_assistant",
        "speaking_emotion",
        "speaking_instruction_following",
        "speaking_multi_round",
        "speaking_reasoning",
        "speaking_robustness",
        "speaking_roleplay",
        "speaking_safety",
    ),
    "viewing": ("viewing_multi_discipline",),
}
TASKS: tuple[str, ...] = tuple(task for tasks in FAMILIES.values() for task in tasks)


def family(task: str) -> str:
    """Return the family a task belongs to.

    Raises:
        UnknownNameError: there is no such task.
    """
    if task not in TASKS:
        raise UnknownNameError("task", task, TASKS)
    return task.partition("_")[0]
