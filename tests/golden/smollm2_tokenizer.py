"""The default model's tokenizer, built from the GGUF by hand and checked against the one that transformers builds."""

from functools import cache

import regex
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer

# transformers ignores the file's `tokenizer.ggml.pre = smollm` and does not split digits off, so the two may differ
# only where a digit follows a run of white space, or where a digit beyond ASCII follows a space.
MAY_DIFFER = regex.compile(r"\s\s\p{N}| [^\P{N}\x00-\x7f]")


def field(reader, name):
    """The value of one metadata field."""
    return reader.fields[name].contents()


def by_hand(reader):
    """Digits one by one, byte-level BPE, as the model was trained (llama.cpp calls it `smollm`)."""
    assert field(reader, "tokenizer.ggml.model") == "gpt2"
    assert field(reader, "tokenizer.ggml.pre") == "smollm"
    tokens = field(reader, "tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ")) for merge in field(reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [tokens[i] for i, kind in enumerate(field(reader, "tokenizer.ggml.token_type")) if kind == 3]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in control])
    assert tokenizer.get_vocab_size() == len(tokens)
    return tokenizer


class PlainText:
    """Encodes text so that it never gives a special token."""

    def __init__(self, reader, gguf):
        self.tokenizer = by_hand(reader)
        self.special = {token.content: index for index, token in self.tokenizer.get_added_tokens_decoder().items()}
        self.tokenizer.encode_special_tokens = True
        self.reference = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        self.compared = self.differing = 0

    @cache
    def encode(self, text):
        """Token ids of one text."""
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        assert not set(ids) & set(self.special.values()), text
        other = self.reference.encode(text, add_special_tokens=False, split_special_tokens=True)
        self.compared += 1
        if ids != other:
            self.differing += 1
            assert MAY_DIFFER.search(text), (text, ids, other)
        return ids
