"""Resamples the WAV files of this folder with soxr HQ, the resampler of the reference.

pip install numpy==2.4.6 soxr==1.1.0 soundfile safetensors; run in this folder; writes soxr_hq.safetensors.
"""

import soundfile
import soxr
from safetensors.numpy import save_file

arrays = {}
for name in ["chirp_44100_stereo", "chirp_48000_s24", "chirp_8000_f32"]:
    samples, rate = soundfile.read(f"{name}.wav", dtype="float32", always_2d=True)
    arrays[name] = soxr.resample(samples.mean(axis=1), rate, 16000, quality="HQ")
save_file(arrays, "soxr_hq.safetensors")
