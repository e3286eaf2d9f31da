"""One decoder layer in transformers and PyTorch, for `assize bench layer --python`.

usage: python layer_reference.py FOLDER LAYER DTYPE THREADS

Loads the checkpoint FOLDER, keeps the layer with number LAYER between embedding and final norm, and prints a line that
describes itself. Then, for each line `N` on standard input, runs N tokens through it and prints `done`.
"""

import sys

import torch
import transformers
from transformers import Gemma4UnifiedModel

folder, layer, dtype, threads = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
torch.set_num_threads(threads)
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
model = Gemma4UnifiedModel.from_pretrained(folder, dtype=getattr(torch, dtype)).eval().language_model
kind = model.config.layer_types[layer]
model.layers = torch.nn.ModuleList([model.layers[layer]])
model.config.layer_types = [kind]
model.config.num_hidden_layers = 1
print(f"transformers {transformers.__version__}, torch {torch.__version__}", flush=True)
for line in sys.stdin:
    tokens = torch.arange(int(line)).remainder(model.config.vocab_size - 16).unsqueeze(0)
    with torch.inference_mode():
        model(input_ids=tokens, use_cache=False)
    print("done", flush=True)
