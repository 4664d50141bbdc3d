#!/bin/sh
# One attempt: trains from the last checkpoint on, and ends with 1 below TARGET_ACCURACY, which is tried again.
set -eu
mkdir -p "$CHECKPOINT_DIR" "$OUTPUT_DIR"
exec "${PYTHON:-python3}" "$(dirname "$0")/wide_deep.py"
