#!/bin/sh
# Runs fit.sh on every worker, by the remote shell that `mpirun` would use, and puts their lines together.
set -eu
shares=$(wc -l < "$OMPI_MCA_orte_default_hostfile")
share=0
while read -r host _; do
  "$OMPI_MCA_plm_rsh_agent" "$host" env SHARE=$share SHARES="$shares" sh "$MODEL_DIR/quickstart/fit.sh" < /dev/null &
  share=$((share + 1))
done < "$OMPI_MCA_orte_default_hostfile"
wait
sort "$OUTPUT_DIR"/line-*.txt | awk -F'[= ]' '
  /slope/ { points += $4; slope += $4 * $6; intercept += $4 * $8 }
  END { printf "all points=%d slope=%.1f intercept=%.1f\n", points, slope / points, intercept / points }
' | tee "$OUTPUT_DIR/line.txt"
