"""The seed's wide and deep model in TensorFlow: trained, served, and asked as the original client does.

wide_deep.py train FOLDER ROWS                        trains, exports, and writes a table of so many rows
wide_deep.py serve FOLDER PORT                        TensorFlow's own predictions behind TensorFlow Serving's gRPC
wide_deep.py ask SERVER TABLE BATCH REQUESTS WARM_UP  prints what it measured as JSON
"""

import csv
import itertools
import json
import pathlib
import sys
import time
from concurrent import futures

import numpy as np
import tensorflow as tf

NUMBERS = [f"I{index}" for index in range(1, 14)]
TEXTS = [f"C{index}" for index in range(1, 27)]
MODEL = "wide-deep-large-ds-fp32-training"
SIGNATURE = "predict"
OUTPUT = "probabilities"


def table(rows, seed):
    """Rows as those of advertisements: most of what decides is in three columns."""
    chance = np.random.default_rng(seed)
    numbers = {name: chance.random(rows, dtype=np.float32) for name in NUMBERS}
    words = np.array([f"{number:08x}" for number in chance.integers(0, 2**32, 500)])
    texts = {name: words[chance.integers(0, len(words), rows)] for name in TEXTS}
    score = numbers["I1"] - numbers["I2"] + 0.8 * (texts["C1"] < "8")
    return {**numbers, **texts}, (score > 0.4).astype(np.int64)


def train(folder, rows):
    """Layers, buckets and embeddings of the original's sizes."""
    columns = [tf.feature_column.numeric_column(name) for name in NUMBERS]
    hashed = [tf.feature_column.categorical_column_with_hash_bucket(name, 1000) for name in TEXTS]
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=hashed,
        dnn_feature_columns=columns + [tf.feature_column.embedding_column(column, 32) for column in hashed],
        dnn_hidden_units=[1024, 512, 256],
        config=tf.estimator.RunConfig(tf_random_seed=1, model_dir=str(folder / "checkpoints")),
    )

    def learn():
        return tf.data.Dataset.from_tensor_slices(table(2000, 1)).repeat().batch(512)

    model.train(learn, steps=20)

    def export():
        inputs = {name: tf.compat.v1.placeholder(tf.float32, [None], name) for name in NUMBERS}
        inputs |= {name: tf.compat.v1.placeholder(tf.string, [None], name) for name in TEXTS}
        return tf.estimator.export.ServingInputReceiver(inputs, inputs)

    made = model.export_saved_model(str(folder / "draft"), export)
    target = folder / MODEL / "1"
    target.parent.mkdir()
    pathlib.Path(made.decode()).rename(target)
    features, labels = table(rows, 2)
    columns = [features[name] for name in NUMBERS + TEXTS]
    with open(folder / "eval.csv", "w", newline="") as file:
        csv.writer(file).writerows(zip(labels, *columns))


def serve(folder, port):
    import grpc
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    # What is loaded must be kept: a signature does not keep its variables.
    model = tf.saved_model.load(str(folder / MODEL / "1"))
    signature = model.signatures[SIGNATURE]

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, request, context):
            inputs = {name: tf.constant(tf.make_ndarray(wire)) for name, wire in request.inputs.items()}
            outputs = signature(**inputs)
            answer = predict_pb2.PredictResponse()
            for name in request.output_filter or outputs:
                answer.outputs[name].CopyFrom(tf.make_tensor_proto(outputs[name].numpy()))
            return answer

    server = grpc.server(futures.ThreadPoolExecutor(16), options=[("grpc.max_receive_message_length", -1)])
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Service(), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def ask(server, path, batch, requests, warm_up):
    """The work of the original client, and its way to do it: one request at a time."""
    import grpc
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    stub = prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel(server))
    took, rows, right, started = [], 0, 0, time.perf_counter()
    with open(path, newline="") as file:
        lines = csv.reader(file)
        for number in range(requests):
            if number == warm_up:
                took, rows, started = [], 0, time.perf_counter()
            chosen = list(itertools.islice(lines, batch))
            columns = list(zip(*chosen))
            request = predict_pb2.PredictRequest()
            request.model_spec.name = MODEL
            request.model_spec.signature_name = SIGNATURE
            for name, column in zip(NUMBERS, columns[1:]):
                values = [float(value or 0) for value in column]
                request.inputs[name].CopyFrom(tf.make_tensor_proto(values, tf.float32))
            for name, column in zip(TEXTS, columns[1 + len(NUMBERS):]):
                values = [value or " " for value in column]
                request.inputs[name].CopyFrom(tf.make_tensor_proto(values, tf.string))
            begun = time.perf_counter()
            answer = stub.Predict(request, 30.0)
            took.append(time.perf_counter() - begun)
            scores = np.array(answer.outputs[OUTPUT].float_val).reshape(len(chosen), -1)
            right += int((scores.argmax(axis=1) == np.array(columns[0], dtype=np.int64)).sum())
            rows += len(chosen)
    seconds = time.perf_counter() - started
    print(json.dumps({
        "examplesPerSecond": rows / seconds,
        "latencyMs": {"p50": float(np.percentile(took, 50)) * 1000},
        "correct": right,
    }))


if __name__ == "__main__":
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "train":
        train(pathlib.Path(words[0]), int(words[1]))
    elif verb == "serve":
        serve(pathlib.Path(words[0]), int(words[1]))
    else:
        ask(*words[:2], *map(int, words[2:]))
