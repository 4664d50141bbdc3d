"""A program that brings its own kind; each line is one observation."""

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
definitions = client.ApiextensionsV1Api()
objects = client.CustomObjectsApi()
TRAINS = ("example.com", "v1", "default", "trains")

definitions.create_custom_resource_definition(
    {
        "metadata": {"name": "trains.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "trains", "singular": "train", "kind": "Train"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "wagons": {"type": "integer", "minimum": 1},
                                        "cargo": {"type": "string", "default": "coal"},
                                    },
                                },
                                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                            },
                        }
                    },
                }
            ],
        },
    }
)
events = watch.Watch()
for event in events.stream(definitions.list_custom_resource_definition, timeout_seconds=30):
    conditions = event["object"].status.conditions or []
    if any(c.type == "Established" and c.status == "True" for c in conditions):
        print("established", event["object"].metadata.name)
        events.stop()

train = {"apiVersion": "example.com/v1", "kind": "Train", "metadata": {"name": "express"}, "spec": {"wagons": 3}}
created = objects.create_namespaced_custom_object(*TRAINS, train)
print("created", created["spec"], created["metadata"]["generation"])
patched = objects.patch_namespaced_custom_object(*TRAINS, "express", {"spec": {"wagons": 4}})
print("patched", patched["spec"], patched["metadata"]["generation"])
patched = objects.patch_namespaced_custom_object_status(*TRAINS, "express", {"status": {"phase": "Rolling"}})
print("status", patched["status"], patched["metadata"]["generation"])
try:
    objects.patch_namespaced_custom_object(*TRAINS, "express", {"spec": {"wagons": 0}})
except ApiException as error:
    print("refused", error.status, "spec.wagons" in error.body)
listed = objects.list_namespaced_custom_object(*TRAINS)
print("listed", listed["kind"], [item["metadata"]["name"] for item in listed["items"]])
everywhere = objects.list_cluster_custom_object("example.com", "v1", "trains")
print("everywhere", len(everywhere["items"]))
deleted = objects.delete_namespaced_custom_object(*TRAINS, "express", propagation_policy="Foreground")
print("deleted", deleted["kind"])
definitions.delete_custom_resource_definition("trains.example.com")
