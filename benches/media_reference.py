"""The reference pipeline of `assize bench media`: PIL or the ffmpeg command, then the transformers processors.

One process for a whole measurement, so that its start and its imports are not measured. Requests are lines of JSON on
standard input; each is answered with one line of JSON on standard output.

    first line   {"ready": {"python": "3.11.7", "transformers": "5.24.0", ...}}  or  {"missing": ["torch", ...]}
    request      {"kind": "image", "path": PATH, "soft_tokens": 280}
                 {"kind": "audio", "path": PATH, "seconds": 30}
                 {"kind": "video", "path": PATH, "soft_tokens": 280, "indices": [0, 56, ...], "rate": 30.0,
                  "width": 1920, "height": 1080, "seek": false}
    answer       {"ns": 1, "shape": [rows, columns], "sha256": HEX, "mean_square": 0.1}  or  {"error": "..."}

Times are of this process's clock, from the path of the file to the processor's array; checksums are not in them.
"""

import hashlib
import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
import warnings

PACKAGES = {"numpy": "numpy", "PIL": "pillow", "torch": "torch", "torchvision": "torchvision", "transformers": "transformers"}
# Arrays over the bytes that ffmpeg wrote are read-only, which is as meant.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
# Of float samples ffmpeg makes 0.707 times the sum of both ears; this makes it their mean, as of integers.
MEAN = ["-rematrix_maxval", "1"]
# Warnings and progress of the libraries must not come between the answers.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def answer(what):
    answers.write(json.dumps(what) + "\n")
    answers.flush()


def missing():
    found = []
    for module, package in PACKAGES.items():
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"{package}: {error}", file=sys.stderr)
            found.append(package)
    return found


def ffmpeg(*arguments):
    command = ["ffmpeg", "-nostdin", "-v", "error", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


class Pipeline:
    def __init__(self):
        import numpy
        import PIL.Image
        import torch
        from transformers.models.gemma4_unified import feature_extraction_gemma4_unified as audio
        from transformers.models.gemma4_unified import image_processing_gemma4_unified as image

        self.numpy, self.open = numpy, PIL.Image.open
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        self.images = image.Gemma4UnifiedImageProcessor()
        self.sounds = audio.Gemma4UnifiedAudioFeatureExtractor()

    def patches(self, pictures, soft_tokens):
        """float32 [pictures * soft_tokens, 6912], padding included."""
        return self.images(images=pictures, max_soft_tokens=soft_tokens, return_tensors="pt")

    def image(self, request):
        with self.open(request["path"]) as picture:
            return self.patches([picture.convert("RGB")], request["soft_tokens"])

    def audio(self, request):
        arguments = ["-i", request["path"], "-t", str(request["seconds"]), "-ac", "1", "-ar", "16000", *MEAN, "-f", "f32le", "-"]
        samples = self.numpy.frombuffer(ffmpeg(*arguments), dtype=self.numpy.float32)
        return self.sounds([samples], sampling_rate=16000, return_tensors="pt")

    def video(self, request):
        path, width, height = request["path"], request["width"], request["height"]
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
        if request["seek"]:
            frames = []
            for index in request["indices"]:
                # Half a frame early: the first frame at or after that time is the one that is meant.
                at = max(0.0, (index - 0.5) / request["rate"])
                frames.append(ffmpeg("-ss", f"{at:.6f}", "-i", path, "-map", "0:v:0", "-frames:v", "1", *raw))
            data = b"".join(frames)
        else:
            chosen = "+".join(f"eq(n\\,{index})" for index in request["indices"])
            data = ffmpeg("-i", path, "-map", "0:v:0", "-vf", f"select={chosen}", "-vsync", "passthrough", *raw)
        pictures = self.numpy.frombuffer(data, dtype=self.numpy.uint8).reshape(-1, height, width, 3)
        return self.patches(list(pictures), request["soft_tokens"])

    def rows(self, kind, found):
        """float32 [soft tokens, values], without padding."""
        if kind == "audio":
            features, mask = found["input_features"], found["input_features_mask"]
            return features[mask.bool()].numpy()
        values, positions = found["pixel_values"], found["image_position_ids"]
        return values[(positions != -1).all(-1)].numpy()

    def answer(self, request):
        work = getattr(self, request["kind"])
        start = time.perf_counter_ns()
        found = work(request)
        ns = time.perf_counter_ns() - start
        rows = self.numpy.ascontiguousarray(self.rows(request["kind"], found), dtype=self.numpy.float32)
        return {
            "ns": ns,
            "shape": list(rows.shape),
            "sha256": hashlib.sha256(rows.tobytes()).hexdigest(),
            "mean_square": float(self.numpy.square(rows, dtype=self.numpy.float64).mean()),
        }


def main():
    absent = missing()
    if absent:
        return answer({"missing": absent})
    try:
        pipeline = Pipeline()
    except ImportError as error:
        print(error, file=sys.stderr)
        return answer({"missing": ["transformers==5.24.0"]})
    versions = {package: importlib.metadata.version(package) for package in PACKAGES.values()}
    answer({"ready": {"python": platform.python_version(), **versions}})
    for line in sys.stdin:
        try:
            answer(pipeline.answer(json.loads(line)))
        except Exception as error:  # whatever it is, the caller reports it
            answer({"error": f"{type(error).__name__}: {error}"})


main()
