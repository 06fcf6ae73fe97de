#!/bin/sh
# Builds the compiled modules with AddressSanitizer and UndefinedBehaviourSanitizer, away from other builds, and
# runs the tests of the modules, of plans, of the engines and of real runs with them.
#
#   tests/native/sanitize.sh [PYTEST ARGUMENTS]
#
# PYTHON names the interpreter (python3), SANITIZE the folder of the build and its environment (build/sanitize).
# The thread sanitizer runs the executor: see threads.sh. A replay shares nothing with others: its inputs are read only,
# its state and its results are its own, and it touches Python only with the interpreter's lock; where that is none, what
# a policy in Python sees has one of its own.
set -eu
cd "$(dirname "$0")/../.."
folder=${SANITIZE:-build/sanitize}
python=$folder/venv/bin/python
[ -x "$python" ] || "${PYTHON:-python3}" -m venv "$folder/venv"

"$python" -m pip install --quiet --disable-pip-version-check "scikit-build-core>=1.0" "nanobind>=2.7" \
  "scipy-openblas32>=0.3.29"
"$python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[test]' \
  --config-settings=build-dir="$folder/cmake" --config-settings=cmake.define.SIMSCHED_SANITIZE=ON \
  --config-settings=cmake.build-type=Debug --config-settings=install.strip=false

# The interpreter is not built for it, so the library comes first by force; libstdc++ with it, for it must find
# the function that throws. Leaks are not looked for: the interpreter never frees all it holds.
compiler=${CXX:-c++}
LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so)" \
ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1:detect_stack_use_after_return=1:allocator_may_return_null=1 \
UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
PYTHONMALLOC=malloc \
  "$python" -m pytest -p no:cacheprovider "$@" tests/native tests/policies tests/replay tests/execute
