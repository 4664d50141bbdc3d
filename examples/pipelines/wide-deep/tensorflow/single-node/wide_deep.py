"""Trains a wide and deep model on advertisements, from its last checkpoint on, and exports it if it is good enough.

DATASET_DIR      has train.csv and eval.csv: no header, the label (0 or 1), 13 numbers, 26 texts
OUTPUT_DIR       gets the model, as the next version of a SavedModel
CHECKPOINT_DIR   (optional) is where training goes on from, and what it leaves
TARGET_ACCURACY  (optional) is the part of eval.csv that must be answered right, or nothing is exported
STEPS            (500) are the steps of this attempt, of 512 rows each

Exit codes: 0 exported, 1 below the target, 2 it could not be done
"""

import csv
import os
import pathlib
import sys

try:
    import numpy as np
    import tensorflow as tf
except ImportError as error:
    print(f"error: {sys.executable} has no TensorFlow: {error}", file=sys.stderr)
    sys.exit(2)

NUMBERS = [f"I{index}" for index in range(1, 14)]
TEXTS = [f"C{index}" for index in range(1, 27)]
BATCH, BUCKETS, WIDTH = 512, 1000, 32
LAYERS = [len(NUMBERS) + len(TEXTS) * WIDTH, 1024, 512, 256, 2]
RATE = 0.01


def fail(words):
    print(f"error: {words}", file=sys.stderr)
    sys.exit(2)


def table(path):
    try:
        with open(path, newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        fail(f"cannot read the data: {error}")
    wrong = next((place for place, row in enumerate(rows, 1) if len(row) != 40), None)
    if wrong or not rows:
        fail(f"line {wrong} of {path} has not 40 cells" if wrong else f"{path} has no rows")
    columns = list(zip(*rows))
    try:
        labels = np.array(columns[0], dtype=np.int64)
        numbers = np.array([[float(cell or 0) for cell in column] for column in columns[1:14]], dtype=np.float32)
    except ValueError as error:
        fail(f"{path}: {error}")
    texts = np.array([[cell or " " for cell in column] for column in columns[14:]])
    return labels, numbers.T, texts.T


class WideDeep(tf.Module):
    """Texts are hashed; the wide half adds a weight for each, the deep half puts them and the numbers through layers."""

    def __init__(self):
        super().__init__()
        chance = tf.random.Generator.from_seed(1)

        def variable(name, *shape, scale=0.0):
            return tf.Variable(chance.normal(shape) * scale, name=name)

        self.step = tf.Variable(0, dtype=tf.int64, name="step")
        self.wide = variable("wide", len(TEXTS) * BUCKETS, 2)
        self.embeddings = variable("embeddings", len(TEXTS) * BUCKETS, WIDTH, scale=0.1)
        sizes = list(zip(LAYERS, LAYERS[1:]))
        self.weights = [
            variable(f"weights{index}", *size, scale=(2 / size[0]) ** 0.5) for index, size in enumerate(sizes)
        ]
        self.biases = [variable(f"biases{index}", size[1]) for index, size in enumerate(sizes)]
        self.sums = [tf.Variable(tf.fill(one.shape, 0.1), name=f"sum{index}") for index, one in enumerate(self.learnt)]

    @property
    def learnt(self):
        return [self.wide, self.embeddings, *self.weights, *self.biases]

    def scores(self, numbers, texts):
        places = tf.strings.to_hash_bucket_fast(texts, BUCKETS)
        places += tf.range(len(TEXTS), dtype=tf.int64) * BUCKETS
        wide = tf.reduce_sum(tf.gather(self.wide, places), axis=1)
        embedded = tf.reshape(tf.gather(self.embeddings, places), [-1, len(TEXTS) * WIDTH])
        deep = tf.concat([tf.math.log1p(tf.maximum(numbers, 0.0)), embedded], axis=1)
        for weights, biases in zip(self.weights[:-1], self.biases[:-1]):
            deep = tf.nn.relu(tf.matmul(deep, weights) + biases)
        return wide + tf.matmul(deep, self.weights[-1]) + self.biases[-1]

    @tf.function
    def learn(self, labels, numbers, texts):
        with tf.GradientTape() as tape:
            scores = self.scores(numbers, texts)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
        for variable, total, slope in zip(self.learnt, self.sums, tape.gradient(loss, self.learnt)):
            slope = tf.convert_to_tensor(slope)
            total.assign_add(slope * slope)
            variable.assign_sub(RATE * slope / tf.sqrt(total))
        self.step.assign_add(1)
        return loss

    @tf.function
    def answer(self, **columns):
        numbers = tf.stack([columns[name] for name in NUMBERS], axis=1)
        texts = tf.stack([columns[name] for name in TEXTS], axis=1)
        return {"probabilities": tf.nn.softmax(self.scores(numbers, texts))}


def export(model, folder):
    """A version is there whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    version = max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=0) + 1
    inputs = {name: tf.TensorSpec([None], tf.float32, name) for name in NUMBERS}
    inputs |= {name: tf.TensorSpec([None], tf.string, name) for name in TEXTS}
    signature = model.answer.get_concrete_function(**inputs)
    draft = folder / f"draft-{os.getpid()}"
    tf.saved_model.save(model, str(draft), {"predict": signature, "serving_default": signature})
    draft.rename(folder / str(version))
    return folder / str(version)


def main():
    variable = os.environ.get
    if not variable("DATASET_DIR") or not variable("OUTPUT_DIR"):
        fail("DATASET_DIR and OUTPUT_DIR must be set")
    data = pathlib.Path(variable("DATASET_DIR"))
    labels, numbers, texts = table(data / "train.csv")
    exam = table(data / "eval.csv")
    model = WideDeep()
    saver = None
    if variable("CHECKPOINT_DIR"):
        saver = tf.train.CheckpointManager(tf.train.Checkpoint(model), variable("CHECKPOINT_DIR"), 2)
        if saver.restore_or_initialize():
            print(f"resumed step={model.step.numpy()}", flush=True)
    chance = np.random.default_rng(int(model.step.numpy()))
    for step in range(int(variable("STEPS") or 500)):
        rows = chance.integers(0, len(labels), BATCH)
        loss = model.learn(labels[rows], numbers[rows], texts[rows])
        if step % 50 == 49:
            print(f"step={model.step.numpy()} loss={loss:.4f}", flush=True)
    if saver:
        saver.save()
    right = model.scores(exam[1], exam[2]).numpy().argmax(axis=1) == exam[0]
    accuracy = float(right.mean())
    print(f"Accuracy: {accuracy:.4f}", flush=True)
    target = variable("TARGET_ACCURACY")
    if target and accuracy < float(target):
        print(f"Accuracy of {accuracy:.4f} did not meet the target accuracy of {target}", flush=True)
        sys.exit(1)
    print(f"exported path={export(model, pathlib.Path(variable('OUTPUT_DIR')))}", flush=True)


if __name__ == "__main__":
    main()
