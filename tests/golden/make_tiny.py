"""Writes the tiny random-weight checkpoints of this folder and the values that transformers computes for them.

    pip install torch==2.13.0 transformers==5.24.0 safetensors numpy
    python tests/golden/make_tiny.py

Each folder is an ordinary Hugging Face checkpoint (config.json, model*.safetensors, tokenizer.json,
tokenizer_config.json) plus `golden/`:
    manifest.json        token ids of each prompt, token ids of tokenizer texts, names of what is in the other file
    values.safetensors   hidden [P, hidden], logits [P, vocabulary]: last position, after the final norm;
                         hidden_all [T, hidden]: every position of the prompt `all_positions_prompt`
All values are float32, eager attention, on CPU. Runs are deterministic for one version of torch.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import tiny_tokenizers
import torch
import transformers
from safetensors.numpy import save_file
from transformers import AutoModelForCausalLM, Gemma3TextConfig, LlamaConfig, Qwen3Config

HERE = Path(__file__).resolve().parent
VOCABULARY = 512
# 17 and 33 straddle Gemma's window of 16 and multiples of it; 129 and 200 straddle blocks of 64 and 128.
PROMPT_LENGTHS = [1, 2, 3, 15, 16, 17, 33, 64, 129, 200]


def llama():
    """Grouped-query attention, heads wider than hidden/heads, an output matrix of its own."""
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=24, max_position_embeddings=512, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, tie_word_embeddings=False,
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    return config, tiny_tokenizers.smollm_like()


def llama3_rope():
    """The `llama3` rotary scaling, in the older spelling of config.json (`rope_theta`, `rope_scaling`)."""
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=96, intermediate_size=64, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=1024, rms_norm_eps=1e-6,
        rope_parameters={
            "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
        },
        tie_word_embeddings=True, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    return config, tiny_tokenizers.smollm_like()


def qwen3():
    """Norms of query and key heads, head width unrelated to hidden/heads."""
    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=72, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=512, rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0}, tie_word_embeddings=True,
        bos_token_id=None, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    return config, tiny_tokenizers.qwen_like()


def gemma3():
    """Sliding and full layers with their own rotary bases, a linear factor on one, pre and post norms, odd query scale."""
    config = Gemma3TextConfig(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=56, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=1, head_dim=24, max_position_embeddings=512, rms_norm_eps=1e-6, sliding_window=16,
        layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        query_pre_attn_scalar=37,
        rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0},
        },
        tie_word_embeddings=True, bos_token_id=2, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return config, tiny_tokenizers.gemma_like()


def randomise(model, seed):
    """Weights large enough that attention is peaked and every norm, head and layer moves the result."""
    generator = torch.Generator().manual_seed(seed)
    gemma = "gemma" in model.config.model_type
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 1:
                centre = 0.0 if gemma else 1.0
                weight.copy_(centre + torch.rand(weight.shape, generator=generator) - 0.5)
            elif "embed_tokens" in name or "lm_head" in name:
                scale = weight.shape[1] ** -0.5 if gemma else 1.0
                weight.copy_(torch.randn(weight.shape, generator=generator) * scale)
            else:
                gain = 1.5 if "q_proj" in name or "k_proj" in name else 1.0
                weight.copy_(torch.randn(weight.shape, generator=generator) * gain * weight.shape[1] ** -0.5)


def save(model, tokenizer, folder, **options):
    """Writes the checkpoint as `save_pretrained` does, with its tokenizer beside it."""
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, **options)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "tokenizer.json").write_text(tokenizer.json, encoding="utf-8")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": tokenizer.chat_template,
        "model_max_length": model.config.max_position_embeddings,
        **tokenizer.names,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def old_rope_spelling(folder):
    """Rewrites `rope_parameters` of config.json as the two keys that checkpoints before transformers 5 carry."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    parameters = config.pop("rope_parameters")
    config["rope_theta"] = parameters.pop("rope_theta")
    config["rope_scaling"] = parameters
    path.write_text(json.dumps(config, indent=2) + "\n")


def load(folder):
    """The checkpoint as a user would load it, in float32 with eager attention."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    return model.eval()


@torch.no_grad()
def run(model, ids):
    """Hidden states after the final norm [T, hidden] and logits of the last position [vocabulary]."""
    seen = {}
    hook = model.model.norm.register_forward_hook(lambda _, __, output: seen.update(norm=output))
    output = model(input_ids=torch.tensor([ids]), output_hidden_states=True)
    hook.remove()
    hidden = output.hidden_states[-1]
    assert torch.equal(hidden, seen["norm"]), "hidden_states[-1] is not the output of the final norm"
    return hidden[0].numpy(), output.logits[0, -1].numpy()


def write_golden(folder, tokenizer, seed):
    """Runs the prompts and writes `golden/`."""
    model = load(folder)
    if folder.name == "tiny_llama3_rope":
        assert model.config.rope_parameters["rope_type"] == "llama3", "the older spelling was not read"
    rng = np.random.default_rng(seed)
    prompts, hidden, logits = [], [], []
    for length in PROMPT_LENGTHS:
        ids = rng.integers(0, VOCABULARY, length).tolist()
        if length == 64:  # long repeats: equal tokens, only positions and masks tell them apart
            ids = (ids[:4] * length)[:length]
        prompts.append({"name": f"random-{length}" if length != 64 else "repeat-64", "ids": ids})
        states, last = run(model, ids)
        hidden.append(states[-1])
        logits.append(last)
    everywhere = prompts[PROMPT_LENGTHS.index(33)]
    all_states, _ = run(model, everywhere["ids"])
    (folder / "golden").mkdir(exist_ok=True)
    values = {"hidden": np.stack(hidden), "logits": np.stack(logits), "hidden_all": all_states.copy()}
    save_file(values, folder / "golden" / "values.safetensors")
    manifest = {
        "made_with": f"torch {torch.__version__}, transformers {transformers.__version__}, float32, eager attention",
        "prompts": prompts,
        "all_positions_prompt": everywhere["name"],
        "special_tokens": tokenizer.special,
        "texts": tokenizer.golden(),
    }
    (folder / "golden" / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False) + "\n", encoding="utf-8")
    return model


def assert_sensitive(name, model):
    """The values must move when a part of the model is wrong; otherwise they test nothing."""
    ids = np.random.default_rng(99).integers(0, VOCABULARY, 100).tolist()
    right, _ = run(model, ids)
    rms = float(np.sqrt(np.mean(right[-1] ** 2)))

    def moved(label, wrong):
        gap = float(np.abs(wrong[-1] - right[-1]).max()) / rms
        print(f"  {name}: without {label} the hidden state moves by {gap:.3f}")
        assert gap > 0.03, (name, label, gap)

    for label in ("q_norm", "k_norm", "input_layernorm", "post_attention_layernorm", "post_feedforward_layernorm"):
        for layer in model.model.layers[-1:]:
            module = getattr(layer.self_attn, label, None) or getattr(layer, label, None)
            if module is None:
                continue
            kept = module.weight.detach().clone()
            with torch.no_grad():
                module.weight.fill_(float(kept.mean()))
            moved(label, run(model, ids)[0])
            with torch.no_grad():
                module.weight.copy_(kept)
    if model.config.model_type == "gemma3_text":
        model.config.sliding_window, kept = 15, model.config.sliding_window
        for layer in model.model.layers:
            if layer.self_attn.sliding_window is not None:
                layer.self_attn.sliding_window = 15
        moved("one key of the window", run(model, ids)[0])
        model.config.sliding_window = kept
        for layer in model.model.layers:
            if layer.self_attn.sliding_window is not None:
                layer.self_attn.sliding_window = kept
    rotary = model.model.rotary_emb
    for attribute in [name for name, _ in rotary.named_buffers() if "original" not in name]:
        kept = getattr(rotary, attribute).clone()
        setattr(rotary, attribute, kept * 1.05)
        moved(attribute, run(model, ids)[0])
        setattr(rotary, attribute, kept)
    assert np.array_equal(run(model, ids)[0], right)


def main():
    """Writes every folder."""
    torch.manual_seed(0)
    for seed, (name, make) in enumerate(
        {"tiny_llama": llama, "tiny_llama3_rope": llama3_rope, "tiny_qwen3": qwen3, "tiny_gemma3": gemma3}.items()
    ):
        config, tokenizer = make()
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        randomise(model, seed)
        folder = HERE / name
        save(model, tokenizer, folder)
        if name == "tiny_llama3_rope":
            old_rope_spelling(folder)
        assert_sensitive(name, write_golden(folder, tokenizer, 100 + seed))
        if name == "tiny_qwen3":
            # The same weights rounded to bfloat16 and spread over several files with an index.
            sharded = HERE / "tiny_qwen3_bf16_sharded"
            save(model.to(torch.bfloat16), tokenizer, sharded, max_shard_size="120KB")
            assert (sharded / "model.safetensors.index.json").exists()
            write_golden(sharded, tokenizer, 100 + seed)
    for folder in sorted(HERE.glob("tiny_*/")):
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"{folder.name}: {size / 1000:.0f} KB")
        assert size < 700_000, folder


if __name__ == "__main__":
    main()
