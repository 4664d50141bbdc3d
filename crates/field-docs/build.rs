//! Takes the descriptions of the API types out of `k8s-openapi` and packs them into one file.
//!
//! The packed text is a list of types with their fields, each naming a text by its number, then a
//! NUL, then the texts with a NUL after each. A text used in many places is there once.

use std::{collections::BTreeMap, fmt::Write as _, fs, io::Write as _, path::PathBuf};

use flate2::{Compression, write::ZlibEncoder};
use k8s_openapi::{
    api::{
        admissionregistration::v1 as admissionregistration, apps::v1 as apps,
        authentication::v1 as authentication, authorization::v1 as authorization,
        autoscaling::v1 as autoscaling_v1, autoscaling::v2 as autoscaling_v2, batch::v1 as batch,
        certificates::v1 as certificates, coordination::v1 as coordination, core::v1 as core,
        discovery::v1 as discovery, events::v1 as events, flowcontrol::v1 as flowcontrol,
        networking::v1 as networking, node::v1 as node, policy::v1 as policy, rbac::v1 as rbac,
        resource::v1 as resource, scheduling::v1 as scheduling, storage::v1 as storage,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions,
    apimachinery::pkg::{apis::meta::v1 as meta, version},
    kube_aggregator::pkg::apis::apiregistration::v1 as apiregistration,
};
use schemars::SchemaGenerator;
use serde_json::{Map, Value};

/// Asks for the schema of each type, which brings along every type below it.
macro_rules! describe {
    ($generator:ident: $($package:ident { $($name:ident),+ $(,)? })+) => {
        $($($generator.subschema_for::<$package::$name>();)+)+
    };
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let packed = pack(&definitions());
    let directory = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names a folder"));
    let file = fs::File::create(directory.join("field-docs.zlib")).expect("the folder can be written to");
    let mut encoder = ZlibEncoder::new(file, Compression::best());
    encoder
        .write_all(packed.as_bytes())
        .expect("the file can be written to");
    encoder.finish().expect("the file can be written to");
}

/// Every type that is served, and those below it, by OpenAPI name.
fn definitions() -> Map<String, Value> {
    let mut generator = SchemaGenerator::default();
    describe! { generator:
        admissionregistration {
            MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
            ValidatingWebhookConfiguration,
        }
        apiextensions { CustomResourceDefinition }
        apiregistration { APIService }
        apps { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet }
        authentication { SelfSubjectReview, TokenRequest, TokenReview }
        authorization {
            LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
        }
        autoscaling_v1 { HorizontalPodAutoscaler, Scale }
        autoscaling_v2 { HorizontalPodAutoscaler }
        batch { CronJob, Job }
        certificates { CertificateSigningRequest }
        coordination { Lease }
        core {
            Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume,
            PersistentVolumeClaim, Pod, PodTemplate, ReplicationController, ResourceQuota, Secret, Service,
            ServiceAccount,
        }
        discovery { EndpointSlice }
        events { Event }
        flowcontrol { FlowSchema, PriorityLevelConfiguration }
        meta {
            APIGroup, APIGroupList, APIResourceList, APIVersions, DeleteOptions, LabelSelector, ListMeta, MicroTime,
            ObjectMeta, Patch, Status, Time,
        }
        networking { IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR }
        node { RuntimeClass }
        policy { Eviction, PodDisruptionBudget }
        rbac { ClusterRole, ClusterRoleBinding, Role, RoleBinding }
        resource { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice }
        scheduling { PriorityClass }
        storage {
            CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass,
        }
        version { Info }
    }
    generator.take_definitions(false)
}

/// A line per type, then an indented line per field; the numbers are those of the texts.
fn pack(definitions: &Map<String, Value>) -> String {
    let mut texts = Texts::default();
    let mut index = String::new();
    for (name, schema) in definitions {
        line(&mut index, name, schema, &mut texts);
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            index.push(' ');
            line(&mut index, field, schema, &mut texts);
        }
    }
    for text in texts.in_order {
        index.push('\0');
        index.push_str(text);
    }
    index
}

fn line<'a>(index: &mut String, name: &str, schema: &'a Value, texts: &mut Texts<'a>) {
    let text = schema["description"].as_str().unwrap_or_default();
    writeln!(index, "{name} {}", texts.number(text)).expect("a string can be written to");
}

#[derive(Default)]
struct Texts<'a> {
    numbers: BTreeMap<&'a str, usize>,
    in_order: Vec<&'a str>,
}

impl<'a> Texts<'a> {
    fn number(&mut self, text: &'a str) -> usize {
        *self.numbers.entry(text).or_insert_with(|| {
            self.in_order.push(text);
            self.in_order.len() - 1
        })
    }
}
