"""Real Jinja2 and PyYAML beside ours. Reads one request in JSON a line, writes one answer a line.

text      what Jinja2 prints
plain     the objects in what Jinja2 prints
placed    the objects in what Jinja2 prints with a mark for each value, the values put in afterwards:
          the same promise as ours, kept by other means
"""

import json
import re
import sys

import jinja2
import yaml
from jinja2.utils import htmlsafe_json_dumps


class SemiStrict(jinja2.StrictUndefined):
    """May be asked for, but neither printed nor used."""

    __slots__ = ()

    def __bool__(self):
        return False


UNDEFINED = {
    "lenient": jinja2.Undefined,
    "strict": jinja2.StrictUndefined,
    "chainable": jinja2.ChainableUndefined,
    "semi-strict": SemiStrict,
}


class Structure:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return str(htmlsafe_json_dumps(self.value))


MARK = re.compile("\ue000([0-9]+)\ue001")


def environment(request, finalize=None):
    loader = jinja2.DictLoader({**request.get("includes", {}), "main": request["template"]})
    made = jinja2.Environment(
        undefined=UNDEFINED[request["undefined"]], loader=loader, finalize=finalize
    )
    return made


def as_text(value):
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value)


class Placed:
    def __init__(self, request):
        self.values = []
        self.environment = environment(request, self.finalize)
        self.environment.filters["tojson"] = Structure
        self.environment.filters["quote"] = __import__("shlex").quote
        self.text = self.environment.get_template("main").render(request["values"])

    def finalize(self, value):
        if isinstance(value, jinja2.Undefined) and not isinstance(value, SemiStrict):
            return value
        if isinstance(value, SemiStrict):
            str(value)
        # What a macro has written has its own marks already.
        if isinstance(value, str) and MARK.search(value):
            return value
        self.values.append(value)
        return "\ue000%d\ue001" % (len(self.values) - 1)

    def objects(self):
        loader = yaml.SafeLoader(self.text)
        made = []
        while loader.check_node():
            made.append(self.value(loader, loader.get_node()))
        return [value for value in made if value is not None]

    def fill(self, text):
        return MARK.sub(lambda found: as_text(self.values[int(found[1])]), text)

    def value(self, loader, node):
        if isinstance(node, yaml.MappingNode):
            return {
                (self.fill(key.value) if MARK.search(key.value) else loader.construct_object(key)): self.value(
                    loader, value
                )
                for key, value in node.value
            }
        if isinstance(node, yaml.SequenceNode):
            return [self.value(loader, item) for item in node.value]
        found = [self.values[int(number)] for number in MARK.findall(node.value)]
        if not found:
            return loader.construct_object(node)
        if node.style is not None:
            return self.fill(node.value)
        if MARK.fullmatch(node.value):
            value = found[0]
            if isinstance(value, Structure):
                return value.value
            if value is None or isinstance(value, (bool, int, float)):
                return value
            return as_text(value)
        filled = self.fill(node.value)
        if all(isinstance(value, (bool, int, float)) for value in found):
            return yaml.safe_load(filled)
        return filled


def checked(objects):
    """Objects of Kubernetes have a kind and a name."""
    for made in objects:
        for value in made["apiVersion"], made["kind"], made["metadata"]["name"]:
            if not value or not isinstance(value, str):
                raise ValueError("not an object")
    return objects


def answer(request):
    if request["mode"] == "placed":
        return checked(Placed(request).objects())
    text = environment(request).get_template("main").render(request["values"])
    if request["mode"] == "text":
        return text
    return checked([value for value in yaml.safe_load_all(text) if value is not None])


for line in sys.stdin:
    try:
        reply = {"ok": answer(json.loads(line))}
        # Kubernetes speaks JSON, which has no infinity.
        text = json.dumps(reply, allow_nan=False)
    except Exception as error:  # whatever Jinja2 and PyYAML have against it
        text = json.dumps({"error": "%s: %s" % (type(error).__name__, str(error).splitlines()[0] if str(error) else "")})
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
