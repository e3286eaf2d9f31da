#!/usr/bin/env bash
# Runs every command of README.md: the fenced `sh` blocks, in order, in one shell. A block marked `sh server` is started in
# the background and waited for. `./scripts/test.sh` itself is left out, because it is what runs this.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

need_python_environment
# One of the data sets is a package of npm.
command -v npm >/dev/null || debian_packages npm
# What an earlier run judged may be of another artifact.
rm -rf .cache/judged
SCRIPT=.cache/readme_commands.sh
python - README.md >"$SCRIPT" <<'PYTHON'
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r"^```sh([^\n]*)\n(.*?)^```$", text, re.M | re.S)
assert len(blocks) >= 3, "README.md has lost its commands"
print("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nset -x")
for kind, commands in blocks:
    commands = "\n".join(line for line in commands.splitlines() if line.strip() != "./scripts/test.sh")
    if kind.strip() == "server":
        print(f"{commands} >.cache/readme_server.log 2>&1 &")
        print("for _ in $(seq 300); do curl -fsS http://127.0.0.1:8080/ready >/dev/null 2>&1 && break; sleep 0.1; done")
        print("curl -fsS http://127.0.0.1:8080/ready >/dev/null")
    else:
        assert not kind.strip(), f"unknown kind of block: sh {kind}"
        print(commands)
PYTHON
bash "$SCRIPT"
echo "every command of README.md passed"
