"""Writes smollm2/values.safetensors and smollm2/manifest.json: what transformers computes with the default model's weights.

    pip install torch==2.13.0 transformers==5.24.0 gguf==0.19.0 safetensors
    python tests/golden/make_smollm2.py

The weights are the GGUF's, dequantised to float32 and un-permuted here, and compared with transformers' own GGUF loader.
Values (P prompts, L label tokens, all at the last position, float32, eager attention, on CPU):
    ids [sum of lengths], offsets [P + 1]   token ids of prompt p: ids[offsets[p] .. offsets[p + 1]]
    hidden [P, 576]                         after the final norm
    label_logits [P, L]                     logits of the manifest's label tokens
    log_normalizer [P]                      log sum exp of all logits
    top_ids, top_logits [P, 5]              the five largest logits
    row_*                                   single rows of dequantised weights
"""

import json
from pathlib import Path

import numpy as np
import package_texts
import torch
import transformers
from gguf import GGUFReader, dequantize
from safetensors.numpy import save_file
from smollm2_prompts import prompts
from smollm2_tokenizer import PlainText, field
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

FOLDER = Path(__file__).resolve().parent / "smollm2"
ROWS = {
    "row_embedding_1234": ("model.embed_tokens.weight", 1234),
    "row_query_0_1": ("model.layers.0.self_attn.q_proj.weight", 1),
    "row_key_29_33": ("model.layers.29.self_attn.k_proj.weight", 33),
    "row_down_15_7": ("model.layers.15.mlp.down_proj.weight", 7),
    "row_final_norm": ("model.norm.weight", None),
}
LABELS = (
    [chr(c) for c in range(ord("A"), ord("Z") + 1)]
    + [f" {chr(c)}" for c in range(ord("A"), ord("Z") + 1)]
    + [str(digit) for digit in range(10)]
    + ["yes", "no", "Yes", "No", " yes", " no", " Yes", " No", "true", "false", " true", " false", " spam", " positive", " negative"]
)


def names(layer):
    """GGUF name -> transformers name of one layer's tensors."""
    here = f"model.layers.{layer}"
    return {
        "attn_norm": f"{here}.input_layernorm", "attn_q": f"{here}.self_attn.q_proj",
        "attn_k": f"{here}.self_attn.k_proj", "attn_v": f"{here}.self_attn.v_proj",
        "attn_output": f"{here}.self_attn.o_proj", "ffn_norm": f"{here}.post_attention_layernorm",
        "ffn_gate": f"{here}.mlp.gate_proj", "ffn_up": f"{here}.mlp.up_proj", "ffn_down": f"{here}.mlp.down_proj",
    }  # fmt: skip


def unpermute(weight, heads):
    """Rows of each head from pairs (0, 1), (2, 3), ... to halves: evens first, then odds."""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns)


def load(reader):
    """The model in float32."""
    heads, kv_heads = field(reader, "llama.attention.head_count"), field(reader, "llama.attention.head_count_kv")
    config = LlamaConfig(
        vocab_size=field(reader, "llama.vocab_size"), hidden_size=field(reader, "llama.embedding_length"),
        intermediate_size=field(reader, "llama.feed_forward_length"), num_hidden_layers=field(reader, "llama.block_count"),
        num_attention_heads=heads, num_key_value_heads=kv_heads, max_position_embeddings=field(reader, "llama.context_length"),
        rms_norm_eps=field(reader, "llama.attention.layer_norm_rms_epsilon"), tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": field(reader, "llama.rope.freq_base")},
    )  # fmt: skip
    config._attn_implementation = "eager"
    stored = {tensor.name: dequantize(tensor.data, tensor.tensor_type) for tensor in reader.tensors}
    weights = {"model.embed_tokens.weight": stored.pop("token_embd.weight"), "model.norm.weight": stored.pop("output_norm.weight")}
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    for layer in range(config.num_hidden_layers):
        for short, name in names(layer).items():
            weight = stored.pop(f"blk.{layer}.{short}.weight")
            if short in ("attn_q", "attn_k"):
                weight = unpermute(weight, heads if short == "attn_q" else kv_heads)
            weights[f"{name}.weight"] = weight
    assert not stored, list(stored)
    model = LlamaForCausalLM(config).float().eval()
    model.load_state_dict({name: torch.from_numpy(np.array(w, np.float32)) for name, w in weights.items()})
    return model


def check_against_transformers(model, gguf):
    """Every tensor equals the one that transformers' GGUF loader reads."""
    other = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32).state_dict()
    for name, tensor in model.state_dict().items():
        gap = (tensor - other[name]).abs().max().item()
        assert gap <= 1e-6 * tensor.abs().max().item(), (name, gap)
    print("weights equal those of transformers' GGUF loader")


@torch.no_grad()
def run(model, ids):
    """Hidden state after the final norm and all logits, last position."""
    hidden = model.model(input_ids=torch.tensor([ids]), use_cache=False).last_hidden_state[0, -1]
    return hidden, model.lm_head(hidden)


def main():
    """Writes both files."""
    gguf = package_texts.smollm2_gguf()
    reader = GGUFReader(gguf)
    tokenizer = PlainText(reader, gguf)
    model = load(reader)
    check_against_transformers(model, gguf)
    found = list(prompts(tokenizer.encode, tokenizer.special, model.config.vocab_size))
    assert len(found) == 40 and len({name for name, _ in found}) == 40, len(found)
    assert min(len(ids) for _, ids in found) == 1 and max(len(ids) for _, ids in found) == 4096
    labels = {text: tokenizer.encode(text) for text in LABELS}
    labels = {text: ids[0] for text, ids in labels.items() if len(ids) == 1}
    assert len(labels) >= 60, labels
    label_ids = torch.tensor(list(labels.values()))
    wide = {name: parameter.double() for name, parameter in model.state_dict().items()}
    double = LlamaForCausalLM(model.config).double().eval()
    double.load_state_dict(wide)
    values = {key: [] for key in ("hidden", "label_logits", "log_normalizer", "top_ids", "top_logits")}
    worst = 0.0
    for name, ids in found:
        hidden, logits = run(model, ids)
        if len(ids) <= 600:
            exact, _ = run(double, ids)
            gap = ((hidden.double() - exact).abs().max() / exact.square().mean().sqrt()).item()
            worst = max(worst, gap)
        top = logits.topk(5)
        values["hidden"].append(hidden)
        values["label_logits"].append(logits[label_ids])
        values["log_normalizer"].append(logits.logsumexp(0))
        values["top_ids"].append(top.indices.int())
        values["top_logits"].append(top.values)
        print(f"{name:32} {len(ids):5} tokens, top {tokenizer.tokenizer.decode([top.indices[0].item()])!r}", flush=True)
    values = {key: torch.stack(rows).numpy() for key, rows in values.items()}
    values["ids"] = np.concatenate([np.array(ids, np.int32) for _, ids in found])
    values["offsets"] = np.cumsum([0] + [len(ids) for _, ids in found]).astype(np.int32)
    state = model.state_dict()
    for key, (name, row) in ROWS.items():
        values[key] = (state[name] if row is None else state[name][row]).numpy().copy()
    FOLDER.mkdir(exist_ok=True)
    save_file(values, FOLDER / "values.safetensors")
    manifest = {
        "made_with": f"torch {torch.__version__}, transformers {transformers.__version__}, float32, eager attention",
        "weights": {"file": gguf.name, "sha256": package_texts.GGUF_SHA256},
        "float32_against_float64": worst,
        "prompts": [{"name": name, "tokens": len(ids)} for name, ids in found],
        "labels": labels,
        "special_tokens": tokenizer.special,
    }
    (FOLDER / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"float32 is within {worst:.1e} of float64 (prompts up to 600 tokens), relative to the row's RMS")


if __name__ == "__main__":
    main()
