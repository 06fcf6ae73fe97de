#!/bin/sh
# What an installed simsched must do with no sources in sight but the tests: installed.sh FOLDER PYTHON [TESTS...]
# FOLDER has tests/; TESTS are further ones, as plots or cli/test_cli.py. Extras needed: cli, viz, interactive, formats, optimum, tune,
# execute, what TESTS need, and pytest, pytest-xdist, hypothesis.
set -eu
tests=$(cd "$1" && pwd)/tests
python=$(command -v "$2")
case $python in /*) ;; *) python=$PWD/$python ;; esac
shift 2
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
cd "$empty"

"$python" -c '
from simsched.execute.kernels.module import module
from simsched.native import find
assert find() and module(), "the compiled modules are missing"
'
"$python" -m simsched.cli.app run rnn --layout 8x8 --out run.html
for more; do
  shift
  set -- "$@" "$tests/$more"
done
"$python" -m pytest -q -n auto -p no:cacheprovider \
  "$tests/graph" "$tests/schedule" "$tests/policies" "$tests/costs" "$tests/replay/test_by_hand.py" \
  "$tests/replay/test_simulate.py" "$tests/study/test_predict.py" "$tests/study/test_statistics.py" "$tests/test_core_alone.py" "$@"
