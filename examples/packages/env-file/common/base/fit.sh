#!/bin/sh
# Fits a line to the points of DATASET_DIR by gradient descent, and leaves it in OUTPUT_DIR.
# One of several workers takes only its share: every SHARES-th point, from the SHARE-th on.
set -eu
: "${DATASET_DIR:?}" "${OUTPUT_DIR:?}"
mkdir -p "$OUTPUT_DIR"
awk -v epochs="${EPOCHS:-200}" -v share="${SHARE:-0}" -v shares="${SHARES:-1}" '
  NR % shares == share { x[++n] = $1; y[n] = $2 }
  END {
    for (epoch = 1; epoch <= epochs; epoch++) {
      loss = da = db = 0
      for (i = 1; i <= n; i++) {
        error = a * x[i] + b - y[i]
        loss += error * error / n; da += error * x[i] / n; db += error / n
      }
      a -= da; b -= db
      if (epoch % 50 == 0) printf "share=%d epoch=%d loss=%.6f\n", share, epoch, loss
    }
    printf "share=%d points=%d slope=%.1f intercept=%.1f\n", share, n, a, b
  }
' "$DATASET_DIR/points.txt" | tee "$OUTPUT_DIR/line-${SHARE:-0}.txt"
