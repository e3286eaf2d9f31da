#!/usr/bin/env bash
# Places libtorch 2.13.0 for the feature `torch`, from Python packages but without Python at run time. Sourced, it also sets
# what the build and the programs need: LIBTORCH and LD_LIBRARY_PATH.
#
# Taken are the headers and the CPU part, 0.5 GB: `libtorch_cpu.so` needs only two small files of NVIDIA's packages. With
# $ASSIZE_LIBTORCH naming a folder that has `include` and `lib` (of the torch package whole, for instance, which brings
# CUDA), that one is used and nothing is fetched.
[ -n "${ROOT:-}" ] || . "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

TORCH_VERSION=2.13.0
export LIBTORCH=${ASSIZE_LIBTORCH:-$ROOT/.cache/libtorch}

# The parts of the torch wheel and of the CUDA runtime that the CPU library is linked with.
fetch_libtorch() {
    local downloads=$ROOT/.cache/libtorch-wheels place=$LIBTORCH.part
    rm -rf "$place" && mkdir -p "$downloads" "$place"
    python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$downloads" "torch==$TORCH_VERSION" \
        "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cupti==13.0.*"
    python3 - "$downloads" "$place" <<'PYTHON'
import pathlib
import shutil
import sys
import zipfile

downloads, place = map(pathlib.Path, sys.argv[1:])
wanted = {"libtorch_cpu.so", "libc10.so", "libgomp.so.1", "libcudart.so.13", "libcupti.so.13"}
found = set()
for wheel in sorted(downloads.glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = pathlib.PurePosixPath(name)
            if name.startswith("torch/include/") and not name.endswith("/"):
                target = place / path.relative_to("torch")
            elif path.name in wanted and ".libs" not in name:
                target = place / "lib" / path.name
                found.add(path.name)
            else:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, open(target, "wb") as out:
                shutil.copyfileobj(source, out)
missing = wanted - found
if missing:
    sys.exit(f"the wheels lack {', '.join(sorted(missing))}")
PYTHON
    # The package's own libtorch.so holds nothing but references to the CPU and CUDA parts.
    echo | cc -shared -x c - -o "$place/lib/libtorch.so" -Wl,-soname,libtorch.so
    ln -s libgomp.so.1 "$place/lib/libgomp.so"
    rm -rf "$LIBTORCH" && mv "$place" "$LIBTORCH"
    rm -rf "$downloads"
}

if [ ! -e "$LIBTORCH/lib/libtorch_cpu.so" ]; then
    [ -z "${ASSIZE_LIBTORCH:-}" ] || fail "ASSIZE_LIBTORCH=$ASSIZE_LIBTORCH holds no lib/libtorch_cpu.so"
    phase "libtorch $TORCH_VERSION"
    fetch_libtorch
fi
export LD_LIBRARY_PATH=$LIBTORCH/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
