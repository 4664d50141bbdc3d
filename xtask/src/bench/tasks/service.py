"""A task service in the way its first authors describe theirs: Flask, Jinja2, PyYAML, the Kubernetes client."""

import json
import random
import string
import sys

import jinja2
import kubernetes
import waitress
import yaml
from flask import Flask, jsonify, request

PORT, TEMPLATE = int(sys.argv[1]), sys.argv[2]

kubernetes.config.load_kube_config()
batch = kubernetes.client.BatchV1Api()
template = jinja2.Environment().from_string(open(TEMPLATE).read())
app = Flask(__name__)

SYSTEM_VALUES = yaml.safe_load('image:\n  repository: registry/base\n  tag: "1"\n')
REQUIRED = [["taskDef"], ["name"], ["creator"], ["process", "train", "number"]]


@app.get("/readyz")
def ready():
    return "ok"


@app.post("/v1/tasks")
def submit():
    values = request.get_json()
    for path in REQUIRED:
        place = values
        for name in path:
            if name not in place:
                return jsonify(error="/".join(path) + " is required"), 422
            place = place[name]
    release = values["taskDef"] + "-" + "".join(random.choices(string.ascii_lowercase + string.digits, k=8))
    context = {
        **values,
        **SYSTEM_VALUES,
        "global": {
            "release": release,
            "taskDef": values["taskDef"],
            "application": values["name"],
            "creator": values["creator"],
        },
        "configs": {"process": json.dumps(values["process"])},
    }
    for document in yaml.safe_load_all(template.render(context)):
        if document:
            batch.create_namespaced_job("default", document)
    return jsonify(name=release, phase="Pending"), 201


waitress.serve(app, host="127.0.0.1", port=PORT, threads=8)
