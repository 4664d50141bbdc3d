#!/usr/bin/env python3
"""Makes data for the wide and deep model, of the form of Criteo's: no header, a label, 13 numbers, 26 texts.

usage: make_data.py DIR [ROWS]

DIR gets train.csv with ROWS rows (2000) and eval.csv with a tenth of that. The label follows from the first two numbers
and the first text, so that a model can learn it. The same ROWS always give the same files.
"""

import csv
import pathlib
import random
import sys

WORDS = ["68fd1e64", "05db9164", "8cf07265", "5a9ed9b0", "be589b51", ""]


def row(chance):
    numbers = [round(chance.random(), 6) for _ in range(13)]
    texts = [chance.choice(WORDS) for _ in range(26)]
    score = numbers[0] - numbers[1] + 0.8 * (texts[0] == WORDS[2])
    return [int(score > 0.2), *numbers, *texts]


def write(path, rows, seed):
    chance = random.Random(seed)
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(row(chance) for _ in range(rows))
    print(f"{path}: {rows} rows")


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: make_data.py DIR [ROWS]")
    folder = pathlib.Path(sys.argv[1])
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "train.csv", rows, seed=1)
    write(folder / "eval.csv", max(rows // 10, 1), seed=2)


if __name__ == "__main__":
    main()
