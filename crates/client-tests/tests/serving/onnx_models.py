"""Writes small models in ONNX, a request to each, and what ONNX Runtime answers: onnx_models.py FOLDER"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node
chance = np.random.default_rng(0)


def floats(*shape):
    return chance.normal(size=shape).astype(np.float32)


def number(value):
    return np.array(value, dtype=np.float32)


def integers(*values):
    return np.array(values, dtype=np.int64)


ROWS, PICTURES = floats(3, 6), floats(2, 4, 9, 8)
PER_CHANNEL = {"scale": floats(6), "shift": floats(6), "mean": floats(6), "variance": np.abs(floats(6))}

MODELS = {
    "layers": (ROWS, {"w": floats(5, 6), "b": floats(5), "v": floats(5, 3)}, [
        node("Gemm", ["x", "w", "b"], ["h"], transB=1, alpha=0.5, beta=2.0),
        node("Tanh", ["h"], ["t"]),
        node("MatMul", ["t", "v"], ["m"]),
        node("Softmax", ["m"], ["y"], axis=-1),
    ]),
    "pictures": (PICTURES, {"w": floats(6, 4, 3, 3), "b": floats(6), **PER_CHANNEL, "v": floats(6, 3)}, [
        node("Conv", ["x", "w", "b"], ["c"], pads=[1, 0, 2, 1], strides=[2, 1], kernel_shape=[3, 3]),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2], pads=[0, 1, 0, 0]),
        node("GlobalAveragePool", ["p"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "v"], ["y"]),
    ]),
    "channels": (PICTURES, {"w": floats(8, 1, 3, 3)}, [
        node("Conv", ["x", "w"], ["c"], group=4, auto_pad=b"SAME_UPPER", kernel_shape=[3, 3]),
        node("AveragePool", ["c"], ["p"], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0]),
        node("HardSwish", ["p"], ["y"]),
    ]),
    "gaps": (PICTURES, {"w": floats(3, 4, 2, 2)}, [
        node("Conv", ["x", "w"], ["y"], dilations=[2, 2], kernel_shape=[2, 2]),
    ]),
    "shapes": (PICTURES, {
        "sizes": integers(0, -1, 4), "start": integers(1, -3), "end": integers(50, 2**62),
        "axes": integers(1, 2), "one": integers(1),
    }, [
        node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1]),
        node("Reshape", ["t", "sizes"], ["r"]),
        node("Slice", ["r", "start", "end", "axes"], ["s"]),
        node("Unsqueeze", ["s", "one"], ["u"]),
        node("Squeeze", ["u", "one"], ["q"]),
        node("Concat", ["q", "q"], ["y"], axis=2),
    ]),
    "sums": (PICTURES, {"two": number(2.0), "axes": integers(2, 3)}, [
        node("ReduceMean", ["x"], ["m"], axes=[2, 3], keepdims=1),
        node("Sub", ["x", "m"], ["d"]),
        node("Pow", ["d", "two"], ["p"]),
        node("ReduceSum", ["p", "axes"], ["s"], keepdims=0),
        node("Sqrt", ["s"], ["q"]),
        node("LogSoftmax", ["q"], ["y"]),
    ]),
    "activations": (ROWS, {"low": number(-0.5), "high": number(2.0), "slope": floats(6)}, [
        node("LeakyRelu", ["x"], ["a"]),
        node("Elu", ["a"], ["b"]),
        node("Clip", ["b", "low", "high"], ["c"]),
        node("HardSigmoid", ["c"], ["d"]),
        node("Erf", ["d"], ["e"]),
        node("PRelu", ["e", "slope"], ["f"]),
        node("Softplus", ["f"], ["y"]),
    ]),
    "parts": (ROWS, {"parts": integers(3, 3), "borders": integers(0, 1, 0, 2), "seven": number(7.0)}, [
        node("Split", ["x", "parts"], ["a", "b"], axis=1),
        node("Mul", ["a", "b"], ["c"]),
        node("Pad", ["c", "borders", "seven"], ["y"]),
    ]),
    "choices": (ROWS, {"bound": number([0.1])}, [
        node("Greater", ["x", "bound"], ["g"]),
        node("Where", ["g", "x", "bound"], ["w"]),
        node("Cast", ["g"], ["f"], to=TensorProto.FLOAT),
        node("Add", ["w", "f"], ["y"]),
    ]),
    "norm": (ROWS, {"epsilon": number(1e-5)}, [
        node("ReduceMean", ["x"], ["m"], axes=[-1]),
        node("Sub", ["x", "m"], ["d"]),
        node("Mul", ["d", "d"], ["s"]),
        node("ReduceMean", ["s"], ["v"], axes=[-1]),
        node("Add", ["v", "epsilon"], ["e"]),
        node("Sqrt", ["e"], ["r"]),
        node("Div", ["d", "r"], ["y"]),
    ]),
}


def write(folder, name, x, learnt, nodes):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        name,
        [value("x", TensorProto.FLOAT, [None, *x.shape[1:]])],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(tensor, key) for key, tensor in learnt.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    version = folder / name / "1"
    version.mkdir(parents=True)
    onnx.save(model, str(version / "model.onnx"))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    answer = session.run(None, {"x": x})[0]
    (folder / f"{name}.request").write_text(json.dumps({"inputs": x.tolist()}))
    (folder / f"{name}.answer").write_text(json.dumps(answer.tolist()))


for name, (x, learnt, nodes) in MODELS.items():
    write(pathlib.Path(sys.argv[1]), name, x, learnt, nodes)
print("\n".join(MODELS))
