"""Writes gguf_blocks.json: random blocks of every stored number type of GGUF and what the gguf package makes of them.

    pip install gguf==0.19.0 numpy
    python tests/golden/make_gguf_blocks.py
"""

import hashlib
import json
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize

OUTPUT = Path(__file__).resolve().parent / "gguf_blocks.json"
NUMBERS = 512
# Byte offsets of the half-precision scales of one block, which must be finite numbers.
SCALES = {
    "F32": [],
    "F16": [0],
    "BF16": [],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q8_0": [0],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
}


def main():
    rng = np.random.default_rng(20)
    types = []
    for name, scales in SCALES.items():
        kind = GGMLQuantizationType[name]
        length, size = GGML_QUANT_SIZES[kind]
        blocks = rng.integers(0, 256, (NUMBERS // length, size), dtype=np.uint8)
        for at in scales:
            values = rng.normal(0, 0.1, len(blocks)).astype("<f2")
            blocks[:, at : at + 2] = values.view(np.uint8).reshape(-1, 2)
        if name in ("F32", "BF16"):
            single = rng.normal(0, 1, len(blocks)).astype("<f4").view(np.uint8).reshape(-1, 4)
            blocks = single if name == "F32" else single[:, 2:]
        data = np.ascontiguousarray(blocks).reshape(-1)
        values = data.view("<f4") if name == "F32" else dequantize(data if name != "F16" else data.view("<f2"), kind)
        values = np.ascontiguousarray(values, dtype="<f4").reshape(-1)
        assert len(values) == NUMBERS and np.isfinite(values).all(), name
        types.append(
            {
                "name": name,
                "id": int(kind),
                "bytes": data.tobytes().hex(),
                "first": [float(value) for value in values[:8]],
                "sha256": hashlib.sha256(values.tobytes()).hexdigest(),
            }
        )
    OUTPUT.write_text(json.dumps(types, indent=1) + "\n")


if __name__ == "__main__":
    main()
