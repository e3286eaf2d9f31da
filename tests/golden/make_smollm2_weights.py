"""Writes smollm2_weights.json: sha256 and first numbers of every tensor of the default model, by the gguf package.

    pip install gguf==0.19.0 numpy
    python tests/golden/make_smollm2_weights.py SmolLM2-135M-Instruct.Q4_1.gguf

The numbers are little-endian float32, row-major, q and k rows in the order that transformers uses.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from gguf import GGUFReader, dequantize

OUTPUT = Path(__file__).resolve().parent / "smollm2_weights.json"


def half_layout(rows, heads):
    """Undoes the interleaving of rotary pairs that the converter to GGUF applies to each head."""
    count, width = rows.shape
    return rows.reshape(heads, count // heads // 2, 2, width).swapaxes(1, 2).reshape(count, width)


def main():
    reader = GGUFReader(sys.argv[1])
    heads = {
        "attn_q": reader.fields["llama.attention.head_count"].contents(),
        "attn_k": reader.fields["llama.attention.head_count_kv"].contents(),
    }
    tensors = {}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype("<f4")
        part = tensor.name.split(".")[-2]
        if part in heads:
            values = half_layout(values, heads[part])
        values = np.ascontiguousarray(values)
        tensors[tensor.name] = {
            "type": tensor.tensor_type.name,
            "shape": list(values.shape),
            "first": [float(value) for value in values.reshape(-1)[:4]],
            "sha256": hashlib.sha256(values.tobytes()).hexdigest(),
        }
    lines = [f" {json.dumps(name)}: {json.dumps(tensor)}" for name, tensor in tensors.items()]
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
