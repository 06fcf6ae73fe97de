#!/bin/sh
# Builds the executor with ThreadSanitizer, without Python and BLAS, and runs graphs through it under every discipline,
# with wide teams, with a scheduler thread, with more threads than cores, and stopped from outside; then empty regions
# and wake-ups.
#
#   tests/native/threads.sh [TASKS [CASE]]
#
# CASE: only cases whose names begin with it. CXX names the compiler (c++), THREADS the folder of the build
# (build/threads). Tasks read and write plain memory, so a missing order between a task and its followers is a race that
# it reports.
set -eu
cd "$(dirname "$0")/../.."
folder=${THREADS:-build/threads}
mkdir -p "$folder"
sources=
for name in crew execution program list_scheduler candidate_rule replay_state ruled_policy watched_set cores csr teams; do sources="$sources simsched/native/$name.cpp"; done
# shellcheck disable=SC2086
"${CXX:-c++}" -std=c++20 -O1 -g -fsanitize=thread -D_GLIBCXX_ASSERTIONS -Wall -Wextra \
  tests/native/executor_threads.cpp $sources -o "$folder/executor_threads" -pthread
TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 "$folder/executor_threads" "$@"
