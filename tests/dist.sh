#!/usr/bin/env bash
# make dist: the sdist and the wheel that it builds, each installed and tested in a clean environment.
set -euo pipefail
cd "$(dirname "$0")/.."
extras='cli,viz,interactive,formats,tune,execute'
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT

# environment NAME WHAT...: an environment with nothing but this.
environment() {
  "${PYTHON:-python3}" -m venv "$clean/$1"
  "$clean/$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"
}

environment build build twine
rm -rf dist
"$clean/build/bin/python" -m build --outdir dist .
"$clean/build/bin/python" -m twine check --strict dist/*

mkdir "$clean/sdist"
tar -xzf dist/*.tar.gz -C "$clean/sdist" --strip-components 1

echo "The wheel:"
environment wheel "$(echo dist/*.whl)[$extras]" pytest pytest-xdist hypothesis
"$clean/sdist/tests/installed.sh" "$clean/sdist" "$clean/wheel/bin/python"

echo "The sdist:"
environment source "$clean/sdist[$extras]" pytest pytest-xdist hypothesis
"$clean/sdist/tests/installed.sh" "$clean/sdist" "$clean/source/bin/python"
