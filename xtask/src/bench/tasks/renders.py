"""Renders a template so many times, reads each as YAML, and prints how many a second."""

import json
import sys
import time

import jinja2
import yaml

text, values, count = open(sys.argv[1]).read(), json.load(open(sys.argv[2])), int(sys.argv[3])
template = jinja2.Environment().from_string(text)
values.update(
    image={"repository": "registry/base", "tag": "1"},
    configs={"process": json.dumps(values["process"])},
)
values["global"] = {"release": "bench-abc123", "taskDef": "bench", "application": "demo", "creator": "ada"}

begun = time.perf_counter()
for _ in range(count):
    list(yaml.safe_load_all(template.render(values)))
print(count / (time.perf_counter() - begun))
