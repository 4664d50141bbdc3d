"""Trains with TensorFlow, exports, and asks a model server for the same answers with the official client.

models.py train FOLDER             trains and exports the models, and keeps what TensorFlow itself answers
models.py table FOLDER             writes a table to learn from and one to be asked
models.py ask FOLDER MODEL SERVER  asks the server as TensorFlow's users do, and compares
models.py measure TABLE SERVER     asks for every row of a table, batch by batch, and counts what is right
"""

import csv
import pathlib
import sys
import time

import numpy as np
import tensorflow as tf

NUMBERS = [f"I{index}" for index in range(1, 14)]
TEXTS = [f"C{index}" for index in range(1, 27)]
ROWS = 200
WIDE_AND_DEEP = "wide-deep-large-ds-fp32-training"
BATCH = 7


def table(rows, seed):
    """Rows as those of advertisements: most of what decides is in three columns."""
    chance = np.random.default_rng(seed)
    numbers = {name: chance.random(rows, dtype=np.float32) for name in NUMBERS}
    words = np.array(["68fd1e64", "05db9164", "é", "a", " ", "x" * 95])
    texts = {name: words[chance.integers(0, len(words), rows)] for name in TEXTS}
    score = numbers["I1"] - numbers["I2"] + 0.8 * (texts["C1"] == "a")
    return {**numbers, **texts}, (score > 0.2).astype(np.int64)


def write(path, features, labels):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        for row, label in enumerate(labels):
            numbers = [repr(float(features[name][row])) for name in NUMBERS]
            writer.writerow([label, *numbers, *(features[name][row] for name in TEXTS)])


def tables(folder):
    folder.mkdir()
    write(folder / "train.csv", *table(2000, 1))
    write(folder / "eval.csv", *table(ROWS, 2))


def wide_and_deep(folder):
    columns = [tf.feature_column.numeric_column(name) for name in NUMBERS]
    hashed = [tf.feature_column.categorical_column_with_hash_bucket(name, 1000) for name in TEXTS]
    deep = columns + [tf.feature_column.embedding_column(column, 8) for column in hashed]
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=hashed,
        dnn_feature_columns=deep,
        dnn_hidden_units=[64, 32],
        dnn_optimizer="Adam",
        config=tf.estimator.RunConfig(tf_random_seed=1, model_dir=str(folder / "checkpoints")),
    )

    def learn():
        features, labels = table(2000, 1)
        return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(256)

    model.train(learn, steps=80)

    def export():
        inputs = {name: tf.compat.v1.placeholder(tf.float32, [None], name) for name in NUMBERS}
        inputs |= {name: tf.compat.v1.placeholder(tf.string, [None], name) for name in TEXTS}
        return tf.estimator.export.ServingInputReceiver(inputs, inputs)

    made = model.export_saved_model(str(folder / "draft"), export)
    target = folder / WIDE_AND_DEEP / "1"
    target.parent.mkdir()
    pathlib.Path(made.decode()).rename(target)
    features, labels = table(ROWS, 2)
    served = tf.saved_model.load(str(target))
    inputs = {name: tf.constant(values) for name, values in features.items()}
    answer = served.signatures["predict"](**inputs)
    probabilities = answer["probabilities"].numpy()
    np.savez(folder / f"{WIDE_AND_DEEP}.npz", probabilities=probabilities, **features)
    write(folder / "eval.csv", features, labels)
    print("accuracy", float(np.mean(probabilities.argmax(axis=1) == labels)))


def network(folder):
    tf.keras.utils.set_random_seed(3)
    model = tf.keras.Sequential([
        tf.keras.layers.Input((20,), name="x"),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dense(3, activation="softmax", name="y"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy")
    chance = np.random.default_rng(4)
    x = chance.normal(size=(500, 20)).astype(np.float32)
    model.fit(x, x[:, :3].argmax(axis=1), epochs=2, verbose=0)
    tf.saved_model.save(model, str(folder / "mlp" / "1"))
    np.savez(folder / "mlp.npz", y=model.predict(x[:50], verbose=0), x=x[:50])


def ask(folder, name, server):
    import grpc
    from tensorflow_serving.apis import (
        get_model_status_pb2,
        model_service_pb2_grpc,
        predict_pb2,
        prediction_service_pb2_grpc,
    )

    channel = grpc.insecure_channel(server)
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    kept = dict(np.load(folder / f"{name}.npz"))
    signature, output = ("serving_default", "y") if name == "mlp" else ("predict", "probabilities")
    wanted = kept.pop(output)
    farthest = 0.0
    # Alone, several, and all together.
    for start, stop in [(0, 1), (1, 8), (8, len(wanted))]:
        request = predict_pb2.PredictRequest()
        request.model_spec.name = name
        request.model_spec.signature_name = signature
        for key, values in kept.items():
            part = values[start:stop]
            kind = tf.string if part.dtype.kind == "U" else tf.float32
            request.inputs[key].CopyFrom(tf.make_tensor_proto(part, kind))
        answer = stub.Predict(request, 10.0)
        found = tf.make_ndarray(answer.outputs[output])
        farthest = max(farthest, float(np.abs(found - wanted[start:stop]).max()))
    models = model_service_pb2_grpc.ModelServiceStub(channel)
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = name
    status = models.GetModelStatus(request, 10.0).model_version_status[0]
    available = get_model_status_pb2.ModelVersionStatus.AVAILABLE
    assert (status.version, status.state) == (1, available), status
    print(f"farthest {farthest:.2e}")
    assert farthest < 1e-5, farthest


def measure(path, server):
    """What the client of the original does, but for its mistakes: the last batch may be short, and all is counted."""
    import grpc
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    stub = prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel(server))
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    right, times = 0, []
    for start in range(0, len(rows), BATCH):
        labels, *columns = zip(*rows[start : start + BATCH])
        request = predict_pb2.PredictRequest()
        request.model_spec.name = WIDE_AND_DEEP
        request.model_spec.signature_name = "predict"
        for name, cells in zip(NUMBERS + TEXTS, columns):
            values = np.array(cells, np.float32) if name in NUMBERS else np.array(cells)
            kind = tf.float32 if name in NUMBERS else tf.string
            request.inputs[name].CopyFrom(tf.make_tensor_proto(values, kind))
        began = time.perf_counter()
        answer = stub.Predict(request, 10.0)
        times.append(time.perf_counter() - began)
        probabilities = np.array(answer.outputs["probabilities"].float_val).reshape(-1, 2)
        right += int((probabilities.argmax(axis=1) == np.array(labels, np.int64)).sum())
    print("accuracy", right / len(rows))
    print("median", float(np.median(times)) * 1000)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "train":
        wide_and_deep(folder)
        network(folder)
    elif sys.argv[1] == "table":
        tables(folder)
    elif sys.argv[1] == "measure":
        measure(folder, sys.argv[3])
    else:
        ask(folder, *sys.argv[3:])
