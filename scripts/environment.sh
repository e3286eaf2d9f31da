# Sourced by the other scripts: what a fresh Debian with Rust and Python 3 lacks, and where downloads are kept.
# Python packages stay under .cache/ of this checkout.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD
VENV=$ROOT/.cache/venv
export PIP_CACHE_DIR=$ROOT/.cache/pip PIP_DISABLE_PIP_VERSION_CHECK=1
START=$SECONDS

# Prints a heading with the time since the start.
phase() {
    printf '\n== %s (%d s)\n' "$*" "$((SECONDS - START))"
}

fail() {
    echo "error: $*" >&2
    exit 1
}

# Installs Debian packages if they can be installed; says how to otherwise.
debian_packages() {
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "please install as root: apt-get install $*"
        as_root=(sudo)
    fi
    command -v apt-get >/dev/null || fail "please install the equivalents of the Debian packages: $*"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# The tools and libraries that every build needs: a C compiler, cmake and nasm for the JPEG decoder, and FFmpeg's libraries
# with their headers (bindgen reads those with libclang).
need_tools() {
    local missing=()
    command -v cmake >/dev/null || missing+=(cmake g++ make)
    command -v nasm >/dev/null || missing+=(nasm)
    command -v clang >/dev/null && ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1 ||
        missing+=(clang libclang-dev)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    pkg-config --exists libavcodec libavformat libavutil libswscale 2>/dev/null ||
        missing+=(libavcodec-dev libavformat-dev libavutil-dev libswscale-dev)
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    command -v curl >/dev/null || missing+=(curl ca-certificates)
    command -v python3 >/dev/null || missing+=(python3)
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
    [ ${#missing[@]} -eq 0 ] || debian_packages "${missing[@]}"
    command -v cargo >/dev/null || [ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
    command -v cargo >/dev/null || fail "cargo is missing: install Rust 1.95 or later"
}

# A Python environment that only fetches packages; nothing of it runs with the server.
need_python_environment() {
    [ -x "$VENV/bin/python" ] || python3 -m venv "$VENV"
    export PATH="$VENV/bin:$PATH"
}
