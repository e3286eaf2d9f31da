"""Writes smollm2/tokens.jsonl.gz: 1,000 texts and the token ids of each, one JSON object a line.

    pip install torch==2.13.0 transformers==5.24.0 gguf==0.19.0
    python tests/golden/make_smollm2_tokens.py

300 mails, 350 posts (cut to 400 characters at most) and 350 made ones: scripts, emoji, control characters, white space, digits,
special-token text, long repeats and random code points. Special-token text is encoded as the plain text it is.
"""

import gzip
import json
import random
from pathlib import Path

import package_texts
from gguf import GGUFReader
from smollm2_tokenizer import PlainText
from tiny_tokenizers import GOLDEN_TEXTS

OUTPUT = Path(__file__).resolve().parent / "smollm2" / "tokens.jsonl.gz"
LIMIT = 400

ALPHABETS = {
    "latin": "abcdefghijklmnopqrstuvwxyz ABC\u00e9\u00e8\u00fc\u00df\u00f1\u00e7\u0153 ,.;:!?'\"",
    "cyrillic": "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437 \u0410\u0411\u0412.,-",
    "greek": "\u03b1\u03b2\u03b3\u03b4\u03b5 \u0391\u0392\u0393\u0301",
    "arabic": "\u0627\u0628\u062a\u062b\u062c \u0660\u0661\u0662\u064e\u0651\u200f",
    "hebrew": "\u05d0\u05d1\u05d2\u05d3 \u05b0\u05b1",
    "devanagari": "\u0905\u0906\u0915\u0916 \u093e\u094d\u0966\u0967",
    "cjk": "\u4e00\u4e8c\u4e09\u4eba\u5927\u5b66\u3002\uff0c\u300c\u300d\u3000",
    "kana": "\u3042\u3044\u3046\u30a2\u30a4\u30fc \uff71\uff72\uff9e",
    "hangul": "\uac00\ub098\ub2e4 \u1100\u1161\u11a8",
    "thai": "\u0e01\u0e02\u0e04\u0e48\u0e49 \u0e50\u0e51",
    "emoji": "\U0001f600\U0001f602\u2764\ufe0f\U0001f44d\U0001f3fd\u200d\U0001f469\U0001f4bb\U0001f1e9\U0001f1ea #\ufe0f\u20e3",
    "digits": "0123456789 \u00b2\u00bd\u2167\u0661\uff11\u2460,.'-",
    "space": " \t\n\r\u00a0\u2003\u200b\u2028\u3000\u0085\u000b\u000ca1.",
    "control": "\u0000\u0001\u0007\u001b[0m\u007f\u009f\ufeff\ufffe\uffff\ufffd x",
    "code": "{}[]()<>=+-*/%&|^~!;:,.\"'`#@\\_ \n\tifordetrn0123",
    "markup": "<|>/_imstartendoftext bos eos",
}
WORDS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<file_sep>", "<jupyter_code>", "<|im_start", "|>", "<|",
         "<bos>", "<start_of_turn>", "<|assistant|>", "[INST]", "</s>", "user\n", "assistant\n", " ", "\n", "ignore this", "im_end"]  # fmt: skip


def made(rng):
    """350 texts that no one writes."""
    yield from GOLDEN_TEXTS
    for count in (2, 50, 133):
        yield "ab " * count
    for unit in ("a", " ", "\n", "9", "\u00e9", "\U0001f600", "<|im_end|>", "haha", "=-"):
        yield unit * (LIMIT // len(unit))
    for name in sorted(ALPHABETS):
        for _ in range(14):
            yield "".join(rng.choices(ALPHABETS[name], k=rng.choice([1, 2, 3, 8, 30, 90])))
    for _ in range(50):
        yield "".join(rng.choices(WORDS, k=rng.randint(1, 12)))
    while True:
        points = (rng.choice([rng.randint(0, 0x7F), rng.randint(0x80, 0xFFFF), rng.randint(0x10000, 0x10FFFF)]) for _ in range(40))
        yield "".join(chr(point) for point in points if not 0xD800 <= point <= 0xDFFF)


def main():
    """Writes the file."""
    rng = random.Random(20)
    gguf = package_texts.smollm2_gguf()
    encoder = PlainText(GGUFReader(gguf), gguf)
    texts = {}
    for wanted, source in ((300, package_texts.mails()), (650, package_texts.posts())):
        rng.shuffle(source)
        for text in source:
            if len(texts) == wanted:
                break
            start = rng.randrange(max(1, len(text) - LIMIT)) if len(text) > LIMIT else 0
            texts.setdefault(text[start : start + LIMIT])
    for text in made(rng):
        if len(texts) == 1000:
            break
        texts.setdefault(text[:LIMIT])
    OUTPUT.parent.mkdir(exist_ok=True)
    with gzip.GzipFile(OUTPUT, "wb", mtime=0) as file:
        for text in texts:
            file.write((json.dumps({"text": text, "ids": encoder.encode(text)}) + "\n").encode())
    print(f"{len(texts)} texts, {OUTPUT.stat().st_size / 1000:.0f} KB; transformers' own differs on {encoder.differing}")
    assert OUTPUT.stat().st_size < 600_000


if __name__ == "__main__":
    main()
