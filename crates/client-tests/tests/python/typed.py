"""What an ordinary program does with the typed client; each line is one observation."""

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
core = client.CoreV1Api()
apps = client.AppsV1Api()
batch = client.BatchV1Api()


def refused(call, *arguments, **options):
    """The status and reason with which the server refuses a call."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        return error.status, error.reason
    return "accepted"


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)


print("version", client.VersionApi().get_code().major)

# The client sends no content type and no kind.
created = core.create_namespaced_config_map("default", config_map("settings", a="1"))
print("created", created.metadata.name, created.data, bool(created.metadata.uid))
print("again", refused(core.create_namespaced_config_map, "default", config_map("settings")))
print("missing", refused(core.read_namespaced_config_map, "nothing", "default"))

patched = core.patch_namespaced_config_map("settings", "default", {"data": {"b": "2"}})
print("patched", patched.data)
created.data = {"c": "3"}
print("stale", refused(core.replace_namespaced_config_map, "settings", "default", created))
patched.data = {"c": "3"}
print("replaced", core.replace_namespaced_config_map("settings", "default", patched).data)

deployment = client.V1Deployment(
    metadata=client.V1ObjectMeta(name="web"),
    spec=client.V1DeploymentSpec(
        replicas=2,
        selector=client.V1LabelSelector(match_labels={"app": "web"}),
        template=client.V1PodTemplateSpec(
            metadata=client.V1ObjectMeta(labels={"app": "web"}),
            spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="nginx:1")]),
        ),
    ),
)
apps.create_namespaced_deployment("default", deployment)
sidecar = {"spec": {"template": {"spec": {"containers": [{"name": "sidecar", "image": "proxy"}]}}}}
merged = apps.patch_namespaced_deployment("web", "default", sidecar)
print("strategic", sorted(c.name for c in merged.spec.template.spec.containers))
apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 5}})
print("scaled", apps.read_namespaced_deployment_scale("web", "default").spec.replicas)
merged = apps.patch_namespaced_deployment_status("web", "default", {"status": {"replicas": 5}})
print("status", merged.status.replicas, merged.metadata.generation)

for name in ("one", "two"):
    core.create_namespaced_config_map("default", config_map(name))
listed = core.list_namespaced_config_map("default", field_selector="metadata.name!=kube-root-ca.crt")
print("listed", [item.metadata.name for item in listed.items], bool(listed.metadata.resource_version))
first = core.list_namespaced_config_map("default", limit=1)
print("paged", len(first.items), bool(first.metadata._continue))

# A watch without a version begins with what is there.
seen = []
events = watch.Watch()
for event in events.stream(
    core.list_namespaced_config_map,
    "default",
    field_selector="metadata.name!=kube-root-ca.crt",
    timeout_seconds=30,
):
    seen.append((event["type"], event["object"].metadata.name))
    if len(seen) == 3:
        core.delete_namespaced_config_map("two", "default")
    if event["type"] == "DELETED":
        events.stop()
print("watched", sorted(seen[:3]), seen[3:])

# The policy travels in the query.
apps.delete_namespaced_deployment("web", "default", propagation_policy="Background")
print("deleted", refused(apps.read_namespaced_deployment, "web", "default"))

job = client.V1Job(
    metadata=client.V1ObjectMeta(name="once"),
    spec=client.V1JobSpec(
        template=client.V1PodTemplateSpec(
            spec=client.V1PodSpec(
                restart_policy="Never", containers=[client.V1Container(name="c", image="busybox")]
            )
        )
    ),
)
created = batch.create_namespaced_job("default", job)
print("job", created.spec.backoff_limit, created.spec.completion_mode)
deleted, status, headers = batch.delete_namespaced_job_with_http_info("once", "default")
print("warned", status, headers.get("Warning"))

core.delete_collection_namespaced_config_map("default", label_selector="nothing=here")
core.delete_collection_namespaced_config_map("default", field_selector="metadata.name=one")
print("left", refused(core.read_namespaced_config_map, "one", "default"))

review = client.AuthorizationV1Api().create_self_subject_access_review(
    client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(
            resource_attributes=client.V1ResourceAttributes(verb="get", resource="pods", namespace="default")
        )
    )
)
print("allowed", review.status.allowed)
