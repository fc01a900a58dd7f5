"""A LLaVA of random weights that lm-eval's ``hf-multimodal`` loads from a folder: it sees, and is made in a second."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = (
    "{% for m in messages %}[{{ m['role'] }}]{% if m['content'] is string %}{{ m['content'] }}{% else %}"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}{% endfor %}"
    "{% endif %}\n{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)


def make(folder: Path) -> None:
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<pad>", "<image>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    raw.train_from_iterator(["a tiny model"], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        eos_token="<|endoftext|>",
        pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
    )
    tokenizer.chat_template = TEMPLATE
    pictures = transformers.CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    processor = transformers.LlavaProcessor(
        image_processor=pictures,
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    vision = transformers.CLIPVisionConfig(**sizes, num_hidden_layers=2, image_size=16, patch_size=8)
    text = transformers.LlamaConfig(
        **sizes, num_hidden_layers=1, vocab_size=len(tokenizer), max_position_embeddings=4096, eos_token_id=0
    )
    transformers.set_seed(0)
    config = transformers.LlavaConfig(vision_config=vision.to_dict(), text_config=text.to_dict(), image_token_index=2)
    model = transformers.LlavaForConditionalGeneration(config)
    model.generation_config.pad_token_id = 1
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
