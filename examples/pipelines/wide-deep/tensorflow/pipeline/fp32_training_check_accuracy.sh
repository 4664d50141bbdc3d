#!/bin/sh
# One attempt: trains from the last checkpoint on, and ends with 1 below TARGET_ACCURACY, which is tried again.
# It ends with 2 where it cannot be done.
set -eu
python="${PYTHON:-python3}"
if ! command -v "$python" > /dev/null; then
    echo "error: there is no program $python here" >&2
    exit 2
fi
mkdir -p "$CHECKPOINT_DIR" "$OUTPUT_DIR" || exit 2
exec "$python" "$(dirname "$0")/wide_deep.py"
