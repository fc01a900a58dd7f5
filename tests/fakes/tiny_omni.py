"""Tiny Qwen2.5-Omni and Qwen3-Omni-MoE checkpoints with random weights: half a million parameters, audible speech.

Everything is made here, from the configuration classes of transformers: tokenizer, features, weights, voices.
"""

# ruff: noqa: C408, N806 - keyword calls keep the nested configurations readable
from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import Qwen2Tokenizer, WhisperFeatureExtractor

# ------------------------------------------------------------------ tokenizer (made locally)
CORPUS = ["system", "user", "assistant"] * 50 + [
    "You are a helpful voice assistant.",
    "hello there, how can I help you today?",
    "The quick brown fox jumps over the lazy dog 0123456789.",
] * 5

Q3_SPECIALS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|audio_start|>",
    "<|audio_end|>",
    "<|audio_pad|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
]
Q25_SPECIALS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_bos|>",
    "<|vision_eos|>",
    "<|IMAGE|>",
    "<|VIDEO|>",
    "<|audio_bos|>",
    "<|audio_eos|>",
    "<|AUDIO|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
]
Q3_NAMES = dict(
    image_token="<|image_pad|>",
    audio_token="<|audio_pad|>",
    video_token="<|video_pad|>",
    vision_bos_token="<|vision_start|>",
    vision_eos_token="<|vision_end|>",
    audio_bos_token="<|audio_start|>",
    audio_eos_token="<|audio_end|>",
)
Q25_NAMES = dict(
    image_token="<|IMAGE|>",
    audio_token="<|AUDIO|>",
    video_token="<|VIDEO|>",
    vision_bos_token="<|vision_bos|>",
    vision_eos_token="<|vision_eos|>",
    audio_bos_token="<|audio_bos|>",
    audio_eos_token="<|audio_eos|>",
)

# Same turn format as the official template (audio part = bos + ONE pad + eos; the processor expands it)
TEMPLATE = (
    "{%- for m in messages -%}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{%- if m['content'] is string -%}{{ m['content'] }}{%- else -%}"
    "{%- for p in m['content'] -%}"
    "{%- if p['type'] == 'text' -%}{{ p['text'] }}"
    "{%- elif p['type'] == 'audio' -%}{{ 'ABOS' + 'APAD' + 'AEOS' }}{%- endif -%}"
    "{%- endfor -%}{%- endif -%}{{ '<|im_end|>\n' }}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}"
)


def chat_template(n):
    return (
        TEMPLATE.replace("ABOS", n["audio_bos_token"])
        .replace("APAD", n["audio_token"])
        .replace("AEOS", n["audio_eos_token"])
    )


def make_tokenizer(specials, names, vocab_size=420):
    """Byte-level BPE trained in memory (deterministic, ms). 'user'/'assistant'/'system' must be ONE token."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        ),
    )
    state = json.loads(t.to_str())["model"]
    tok = Qwen2Tokenizer(
        vocab=state["vocab"],
        merges=[tuple(m) for m in state["merges"]],
        unk_token="<|endoftext|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        extra_special_tokens=names,
    )
    tok.add_tokens(specials, special_tokens=True)
    for w in ("system", "user", "assistant"):
        assert len(tok.encode(w)) == 1, (w, tok.encode(w))
    tok.chat_template = chat_template(names)
    return tok


def make_feature_extractor():
    # identical to the released preprocessor_config: whisper, 128 mel, hop 160, 16 kHz; numpy/torch only
    return WhisperFeatureExtractor(
        feature_size=128,
        sampling_rate=16000,
        hop_length=160,
        n_fft=400,
        chunk_length=300,
        padding_side="right",
        return_attention_mask=True,
    )


# ------------------------------------------------------------------ Qwen3-Omni-MoE
def tiny_qwen3(tok, seed=0):
    from transformers import Qwen3OmniMoeConfig, Qwen3OmniMoeForConditionalGeneration

    i = tok.convert_tokens_to_ids
    V = len(tok)
    H, TH, CB, G = 32, 32, 64, 4  # thinker hidden, talker hidden, codebook size, code groups
    rope = {
        "rope_type": "default",
        "rope_theta": 1e6,
        "mrope_section": [1, 1, 2],
        "interleaved": True,
        "mrope_interleaved": True,
    }  # sum(mrope_section) == head_dim // 2
    cfg = Qwen3OmniMoeConfig(
        enable_audio_output=True,
        im_start_token_id=i("<|im_start|>"),
        im_end_token_id=i("<|im_end|>"),
        tts_pad_token_id=i("<tts_pad>"),
        tts_bos_token_id=i("<tts_text_bos>"),
        tts_eos_token_id=i("<tts_text_eod>"),
        system_token_id=i("system"),
        user_token_id=i("user"),
        assistant_token_id=i("assistant"),
        thinker_config=dict(
            audio_token_id=i("<|audio_pad|>"),
            image_token_id=i("<|image_pad|>"),
            video_token_id=i("<|video_pad|>"),
            audio_start_token_id=i("<|audio_start|>"),
            audio_end_token_id=i("<|audio_end|>"),
            vision_start_token_id=i("<|vision_start|>"),
            vision_end_token_id=i("<|vision_end|>"),
            user_token_id=i("user"),
            position_id_per_seconds=13,
            seconds_per_chunk=2,
            audio_config=dict(
                d_model=32,
                encoder_layers=2,
                encoder_attention_heads=4,
                encoder_ffn_dim=32,
                num_mel_bins=128,
                downsample_hidden_size=8,
                output_dim=H,
                n_window=50,
                n_window_infer=800,
                conv_chunksize=500,
                max_source_positions=1500,
            ),
            vision_config=dict(
                depth=2,
                hidden_size=32,
                num_heads=4,
                intermediate_size=32,
                out_hidden_size=H,
                patch_size=16,
                spatial_merge_size=2,
                num_position_embeddings=64,
                deepstack_visual_indexes=[0],
            ),
            text_config=dict(
                vocab_size=V,
                hidden_size=H,
                intermediate_size=48,
                num_hidden_layers=3,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=8,
                moe_intermediate_size=16,
                num_experts=4,
                num_experts_per_tok=2,
                rope_parameters=dict(rope),
                max_position_embeddings=4096,
                tie_word_embeddings=False,
                pad_token_id=tok.pad_token_id,
                eos_token_id=i("<|im_end|>"),
            ),
        ),
        talker_config=dict(
            thinker_hidden_size=H,
            accept_hidden_layer=1,
            num_code_groups=G,
            spatial_merge_size=2,  # REQUIRED: no default in the config class
            # talker vocab = CB + 1024: generate() suppresses the last 1024 ids except codec_eos
            codec_eos_token_id=CB + 2,
            codec_pad_id=CB + 0,
            codec_bos_id=CB + 1,
            codec_nothink_id=CB + 7,
            codec_think_bos_id=CB + 8,
            codec_think_eos_id=CB + 9,
            speaker_id={"chelsie": CB + 20, "ethan": CB + 21, "aiden": CB + 22},  # lower-case keys
            audio_token_id=i("<|audio_pad|>"),
            image_token_id=i("<|image_pad|>"),
            video_token_id=i("<|video_pad|>"),
            vision_start_token_id=i("<|vision_start|>"),
            audio_start_token_id=i("<|audio_start|>"),
            position_id_per_seconds=13,
            seconds_per_chunk=2,
            text_config=dict(
                vocab_size=CB + 1024,
                hidden_size=TH,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=8,
                moe_intermediate_size=16,
                shared_expert_intermediate_size=16,  # REQUIRED: no default in the config class
                num_experts=4,
                num_experts_per_tok=2,
                rope_parameters=dict(rope),
                max_position_embeddings=4096,
            ),
            code_predictor_config=dict(
                vocab_size=CB,
                hidden_size=TH,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=8,
                num_code_groups=G,
                max_position_embeddings=4096,
            ),
        ),
        code2wav_config=dict(
            codebook_size=CB,
            num_quantizers=G,
            hidden_size=32,
            num_attention_heads=4,
            num_key_value_heads=4,
            intermediate_size=48,
            num_hidden_layers=2,
            decoder_dim=32,
            sliding_window=72,
            upsample_rates=(8, 5, 4, 3),
            upsampling_ratios=(2, 2),
            max_position_embeddings=8000,
        ),
    )
    torch.manual_seed(seed)
    return make_audible(Qwen3OmniMoeForConditionalGeneration(cfg).eval(), "q3")


# ------------------------------------------------------------------ Qwen2.5-Omni
def tiny_qwen25(tok, seed=0):
    from transformers import Qwen2_5OmniConfig, Qwen2_5OmniForConditionalGeneration

    i = tok.convert_tokens_to_ids
    V, H, CB = len(tok), 32, 64
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 1, 2]}
    cfg = Qwen2_5OmniConfig(
        enable_audio_output=True,
        thinker_config=dict(
            audio_token_index=i("<|AUDIO|>"),
            image_token_index=i("<|IMAGE|>"),
            video_token_index=i("<|VIDEO|>"),
            audio_start_token_id=i("<|audio_bos|>"),
            audio_end_token_id=i("<|audio_eos|>"),
            vision_start_token_id=i("<|vision_bos|>"),
            vision_end_token_id=i("<|vision_eos|>"),
            user_token_id=i("user"),
            position_id_per_seconds=25,
            seconds_per_chunk=2,
            audio_config=dict(
                d_model=32,
                encoder_layers=2,
                encoder_attention_heads=4,
                encoder_ffn_dim=32,
                num_mel_bins=128,
                output_dim=H,
                n_window=100,
                max_source_positions=1500,
            ),
            vision_config=dict(
                depth=2,
                hidden_size=32,
                num_heads=4,
                intermediate_size=32,
                out_hidden_size=H,
                patch_size=14,
                fullatt_block_indexes=[1],
            ),
            text_config=dict(
                vocab_size=V,
                hidden_size=H,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                rope_parameters=dict(rope),
                max_position_embeddings=4096,
                tie_word_embeddings=False,
                pad_token_id=tok.pad_token_id,
                eos_token_id=i("<|im_end|>"),
            ),
        ),
        talker_config=dict(
            vocab_size=CB + 16,
            embedding_size=H,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            rope_parameters=dict(rope),
            tts_text_start_token_id=i("<tts_text_bos>"),
            tts_text_end_token_id=i("<tts_text_eod>"),
            tts_text_pad_token_id=i("<tts_pad>"),
            tts_codec_pad_token_id=CB + 0,
            tts_codec_start_token_id=CB + 1,
            tts_codec_end_token_id=CB + 2,
            tts_codec_mask_token_id=CB + 4,
            audio_token_index=i("<|AUDIO|>"),
            image_token_index=i("<|IMAGE|>"),
            video_token_index=i("<|VIDEO|>"),
            audio_start_token_id=i("<|audio_bos|>"),
            audio_end_token_id=i("<|audio_eos|>"),
            vision_start_token_id=i("<|vision_bos|>"),
            vision_end_token_id=i("<|vision_eos|>"),
            spatial_merge_size=2,
            max_position_embeddings=4096,
        ),
        token2wav_config=dict(
            # num_embeds must cover EVERY id the talker may emit (it is not suppressed): CB+16
            dit_config=dict(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                head_dim=8,
                ff_mult=2,
                emb_dim=16,
                block_size=24,
                look_ahead_layers=[0],
                look_backward_layers=[1],
                repeats=2,
                num_embeds=CB + 16,
                mel_dim=80,
                enc_emb_dim=16,
                enc_dim=16,
                enc_channels=[16, 16, 16, 16, 48],
                enc_kernel_sizes=[5, 3, 3, 3, 1],
                enc_dilations=[1, 2, 3, 4, 1],
                enc_attention_channels=8,
                enc_res2net_scale=2,
                enc_se_channels=8,
            ),
            # product(upsample_rates) = 240 -> 100 mel/s * 240 = 24 kHz; channels must stay >= 1 after /2**6
            bigvgan_config=dict(
                mel_dim=80,
                upsample_initial_channel=64,
                upsample_rates=[5, 3, 2, 2, 2, 2],
                upsample_kernel_sizes=[11, 7, 4, 4, 4, 4],
                resblock_kernel_sizes=[3, 7, 11],
                resblock_dilation_sizes=[[1, 3, 5]] * 3,
            ),
        ),
    )
    torch.manual_seed(seed)
    m = Qwen2_5OmniForConditionalGeneration(cfg).eval()
    g = torch.Generator().manual_seed(1)
    # what spk_dict.pt holds in the released checkpoint: name -> {cond, ref_mel, bos_token}
    m.speaker_map = {
        n: {
            "cond": torch.randn(1, 16, generator=g),
            "ref_mel": torch.randn(1, 60, 80, generator=g),
            "bos_token": i("<tts_text_bos>"),
        }
        for n in ("Chelsie", "Ethan")
    }
    return make_audible(m, "q25"), [CB + 0, CB + 2]


@torch.no_grad()
def make_audible(model, kind, rms=0.05, seed=3):
    """Default init (std 0.02) makes the vocoder output ~1e-8, i.e. all-zero PCM16. Re-init its conv/linear
    weights to unit gain, then scale the last conv so that a probe decode has the wanted RMS."""
    g = torch.Generator().manual_seed(seed)
    # transformers 5.24.0 leaves talker.model.layers.*.mlp.experts.{gate_up,down}_proj as torch.empty() memory
    # when built from a config (values up to 1e18, NaN logits now and then): fill them ourselves.
    for name, p in model.named_parameters():
        if ".experts." in name:
            torch.nn.init.normal_(p, 0.0, 0.02, generator=g)
        elif name.startswith("talker.") and p.dim() == 2:  # so that speaker / text visibly change the codes
            if "embed" in name:
                torch.nn.init.normal_(p, 0.0, 1.0, generator=g)
            else:
                torch.nn.init.xavier_normal_(p, generator=g)
    voc = model.code2wav if kind == "q3" else model.token2wav.code2wav_bigvgan_model
    for name, p in voc.named_parameters():
        if p.dim() >= 2 and "embed" not in name:
            torch.nn.init.xavier_normal_(p, generator=g)
        elif "embed" in name and p.dim() == 2:
            torch.nn.init.normal_(p, 0.0, 1.0, generator=g)
    c = voc.config
    if kind == "q3":
        last, x = voc.decoder[-1].conv, torch.randint(0, c.codebook_size, (1, c.num_quantizers, 12), generator=g)
        last.bias.zero_()
    else:
        last, x = voc.conv_post, torch.randn(1, c.mel_dim, 40, generator=g)
    last.weight.mul_(1e-4)  # keep the probe far from the output clamp at +-1
    last.weight.mul_(rms / voc(x).std().clamp_min(1e-12))
    return model


def save_checkpoint(kind: str, folder: Path) -> Path:
    """Write a checkpoint as a released one lies in a folder; ``kind`` is ``q3`` or ``q25``."""
    specials, names = (Q3_SPECIALS, Q3_NAMES) if kind == "q3" else (Q25_SPECIALS, Q25_NAMES)
    tokenizer = make_tokenizer(specials, names)
    model = tiny_qwen3(tokenizer) if kind == "q3" else tiny_qwen25(tokenizer)[0]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    make_feature_extractor().save_pretrained(folder)
    if kind == "q25":
        torch.save(model.speaker_map, folder / "spk_dict.pt")
    return folder
