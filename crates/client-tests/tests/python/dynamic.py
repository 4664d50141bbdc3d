"""What an ordinary program does with the dynamic client; each line is one observation."""

from kubernetes import config, dynamic
from kubernetes.client import api_client
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError

client = dynamic.DynamicClient(api_client.ApiClient(configuration=config.load_kube_config()))
maps = client.resources.get(api_version="v1", kind="ConfigMap")
deployments = client.resources.get(api_version="apps/v1", kind="Deployment")


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


created = maps.create(body=config_map("settings", a="1"), namespace="default")
print("created", created.kind, dict(created.data))
patched = maps.patch(
    body={"data": {"b": "2"}},
    name="settings",
    namespace="default",
    content_type="application/merge-patch+json",
)
print("merged", dict(patched.data))
applied = maps.server_side_apply(
    body=config_map("settings", c="3"), namespace="default", field_manager="python"
)
print("applied", dict(applied.data))
try:
    maps.server_side_apply(body=config_map("settings", c="4"), namespace="default", field_manager="rival")
except ConflictError as error:
    print("conflict", error.status, error.reason)
forced = maps.server_side_apply(
    body=config_map("settings", c="4"), namespace="default", field_manager="rival", force_conflicts=True
)
print("forced", dict(forced.data))

deployments.create(
    body={
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    },
    namespace="default",
)
patched = deployments.patch(
    body={"spec": {"template": {"spec": {"containers": [{"name": "sidecar", "image": "proxy"}]}}}},
    name="web",
    namespace="default",
    content_type="application/strategic-merge-patch+json",
)
print("strategic", sorted(c.name for c in patched.spec.template.spec.containers))
scaled = deployments.scale.patch(body={"spec": {"replicas": 3}}, name="web", namespace="default")
print("scaled", scaled.kind, scaled.spec.replicas)
print("listed", [item.metadata.name for item in deployments.get(namespace="default").items])

for event in maps.watch(namespace="default", name="settings", timeout=30):
    print("watched", event["type"], event["object"].metadata.name)
    break

maps.delete(name="settings", namespace="default", body={})
try:
    maps.get(name="settings", namespace="default")
except NotFoundError as error:
    print("gone", error.status)
print("kinds", len(client.resources.search(kind="Event")) >= 1)
