"""The two sets of backends: ``offline`` runs without a network, on pulled weights; ``reference`` is the paper's."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from vaeval_tasks.errors import InputError, MissingDependencyError, MissingWeightsError, UnknownNameError
from vaeval_tasks.metrics.asr import WhisperRecogniser
from vaeval_tasks.metrics.backends import ContentJudge, EmotionRecogniser, Recogniser, SpeakerEncoder, SpeechQuality
from vaeval_tasks.metrics.common import Profile
from vaeval_tasks.metrics.content_judge import pick_content_judge
from vaeval_tasks.metrics.distillmos import DistillMos
from vaeval_tasks.metrics.emotion import NO_EMOTION_SIGNATURE, EmotionClassifier
from vaeval_tasks.metrics.emotion2vec import Emotion2Vec, is_emotion2vec
from vaeval_tasks.metrics.guest_scorers import open_scorer, refuse_beside
from vaeval_tasks.metrics.resemblyzer import Resemblyzer
from vaeval_tasks.metrics.utmos import Utmos
from vaeval_tasks.metrics.wespeaker import WeSpeaker

__all__ = ["PROFILES", "Scorers", "check_profile", "load_scorers", "speaker_encoder", "speech_quality"]

PROFILES = tuple(Profile)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorers:
    """The backends of one scoring run; None where the profile has none."""

    judge: ContentJudge | None
    speech: SpeechQuality | None
    recogniser: Recogniser | None
    speaker: SpeakerEncoder | None
    emotion: EmotionRecogniser | None

    def content_signature(self, task: str) -> str:
        """Return the judge's signature; of ``speaking_emotion`` with that of the emotions it was told."""
        if self.judge is None:
            return "judge|model:none"
        if task != "speaking_emotion":
            return self.judge.signature
        return f"{self.judge.signature}|{self.emotion.signature if self.emotion else NO_EMOTION_SIGNATURE}"


def check_profile(profile: str) -> None:
    """Raise UnknownNameError unless there is such a profile."""
    if profile not in PROFILES:
        raise UnknownNameError("profile", profile, PROFILES)


def speech_quality(profile: str, *, path: str | Path | None = None, device: str | None = None) -> DistillMos | Utmos:
    """Return the MOS predictor of a profile: Distill-MOS offline, UTMOS22 strong for the reference.

    Raises:
        UnknownNameError: there is no such profile.
        InputError: ``path`` was given for the offline backend.
    """
    check_profile(profile)
    if profile == Profile.reference:
        return Utmos(path=path, device=device)
    _no_path(path, "Distill-MOS")
    return DistillMos(device=device)


def speaker_encoder(
    profile: str, *, path: str | Path | None = None, device: str | None = None
) -> Resemblyzer | WeSpeaker:
    """Return the speaker encoder of a profile: Resemblyzer offline, WeSpeaker for the reference.

    Raises:
        UnknownNameError: there is no such profile.
        InputError: ``path`` was given for the offline backend.
    """
    check_profile(profile)
    if profile == Profile.reference:
        return WeSpeaker(path=path, device=device)
    _no_path(path, "Resemblyzer")
    return Resemblyzer(device=device)


def _no_path(path: str | Path | None, name: str) -> None:
    if path is not None:
        raise InputError(
            f"the offline backend {name} has pinned weights and takes no path ({path}); use the reference backend"
        )


def load_scorers(
    profile: str,
    *,
    judge_url: str | None = None,
    judge_model: str | None = None,
    judge_prompts: str | Path | None = None,
    utmos_path: str | Path | None = None,
    asr_model: str | None = None,
    speaker_path: str | Path | None = None,
    emotion_path: str | Path | None = None,
    device: str | None = None,
    judge: str | None = None,
    speech: str | None = None,
    recogniser: str | None = None,
    speaker: str | None = None,
    emotion: str | None = None,
    **judge_request: object,
) -> Scorers:
    """Return the backends of a profile. None of ours loads anything before it is used.

    Args:
        profile: ``offline`` or ``reference``.
        judge_url: base of an OpenAI-compatible endpoint; the reference needs it, offline it replaces the rules.
        judge_model: the judge's name there, by default gpt-oss-20b.
        judge_prompts: a folder with other prompts.
        utmos_path: a local UTMOS22 strong checkpoint (reference).
        asr_model: ``whisper-base`` (offline), ``whisper-tiny.en``, ``large-v3`` (reference) or a folder.
        speaker_path: a local WeSpeaker ONNX file (reference).
        emotion_path: a folder of emotion2vec, or an audio classifier; ``none`` judges without emotions. By default the
            reference has emotion2vec+ large where it can be used, and is told in one line where not.
        device: a torch device; by default CUDA where there is one.
        judge: ``local``, the small model on this machine (:mod:`vaeval_tasks.metrics.content_judge_local`), or
            somebody else's in the place of the profile's: an entry point, or ``package.module:Class``; see
            :mod:`vaeval_tasks.metrics.guest_scorers`.
        speech: likewise.
        recogniser: likewise.
        speaker: likewise.
        emotion: likewise.
        judge_request: how the judge at ``judge_url`` is asked: ``judge_max_tokens`` and the others of
            :data:`~vaeval_tasks.services.http.request_options.JUDGE_OPTIONS`; None is not given.

    Raises:
        UnknownNameError: there is no such profile or entry point.
        PluginError: somebody else's class cannot be used.
        InputError: an option does not go with the profile or with somebody else's scorer, or the prompts are wrong.
        MissingWeightsError: the judge ``local`` was asked for, and its weights were not pulled.
        MissingDependencyError: or it lacks the ``offline`` extra.
    """
    check_profile(profile)
    refuse_beside(
        "judge", judge, judge_url=judge_url, judge_model=judge_model, judge_prompts=judge_prompts, **judge_request
    )
    refuse_beside("speech", speech, utmos_path=utmos_path)
    refuse_beside("recogniser", recogniser, asr_model=asr_model)
    refuse_beside("speaker", speaker, speaker_path=speaker_path)
    refuse_beside("emotion", emotion, emotion_path=emotion_path)
    reference = profile == Profile.reference
    guests = {"judge": judge, "speech": speech, "recogniser": recogniser, "speaker": speaker, "emotion": emotion}
    own = {role: open_scorer(role, name) for role, name in guests.items() if name}
    return Scorers(
        judge=own.get("judge")
        or pick_content_judge(profile, url=judge_url, model=judge_model, prompts=judge_prompts, request=judge_request),
        speech=own.get("speech") or speech_quality(profile, path=utmos_path, device=device),
        recogniser=own.get("recogniser")
        or WhisperRecogniser(
            asr_model or ("large-v3" if reference else "whisper-base"),
            language=None if reference else "en",
            device=device,
        ),
        speaker=own.get("speaker") or speaker_encoder(profile, path=speaker_path, device=device),
        emotion=own.get("emotion") or _emotion(emotion_path, wanted=reference and not emotion, device=device),
    )


def _emotion(path: str | Path | None, *, wanted: bool, device: str | None) -> EmotionRecogniser | None:
    """Return what hears emotions; what was asked for and cannot be used is refused here, before anything is asked."""
    if path == "none" or (path is None and not wanted):
        return None
    if path is None:
        found = Emotion2Vec(device=device)
        try:
            found.check()
        except (MissingDependencyError, MissingWeightsError) as error:
            logging.getLogger(__name__).warning(
                "emotions are not measured (speaking_emotion is judged without them, %s): %s",
                NO_EMOTION_SIGNATURE,
                error,
            )
            return None
        return found
    local = Path(path)
    if is_emotion2vec(local):
        found = Emotion2Vec(local, device=device)
        found.check()
        return found
    if not local.is_dir() and (local.is_absolute() or str(path).startswith(".") or str(path).count("/") != 1):
        raise MissingWeightsError(f"{path}: no such folder (emotion recogniser)")
    return EmotionClassifier(path, device=device)
