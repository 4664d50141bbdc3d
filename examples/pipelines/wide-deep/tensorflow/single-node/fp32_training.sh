#!/bin/sh
# Trains once and leaves a log, checkpoints and the model in OUTPUT_DIR.
set -eu
: "${DATASET_DIR:?}" "${OUTPUT_DIR:?}"
mkdir -p "$OUTPUT_DIR"
export CHECKPOINT_DIR="$OUTPUT_DIR/checkpoints"
# The exit code of a pipe is that of its last program.
failed=$OUTPUT_DIR/exit-code
rm -f "$failed"
{ "${PYTHON:-python3}" "$(dirname "$0")/wide_deep.py" 2>&1 || echo $? > "$failed"; } | tee "$OUTPUT_DIR/training.log"
[ ! -e "$failed" ] || exit "$(cat "$failed")"
