//! The sources of a volume as complaints about their change show them.

use crate::objects::shown::{Member, Type};

/// The sources as the server's own type writes them.
pub(super) static SOURCES: [Member; 22] = [
    Member("gcePersistentDisk", "GCEPersistentDisk", Type::Raised),
    Member("awsElasticBlockStore", "AWSElasticBlockStore", Type::Raised),
    Member(
        "hostPath",
        "HostPath",
        Type::Pointer(&[
            Member("path", "Path", Type::Text),
            Member("type", "Type", Type::Any),
        ]),
    ),
    Member("glusterfs", "Glusterfs", Type::Raised),
    Member(
        "nfs",
        "NFS",
        Type::Pointer(&[
            Member("server", "Server", Type::Text),
            Member("path", "Path", Type::Text),
            Member("readOnly", "ReadOnly", Type::Truth),
        ]),
    ),
    Member("rbd", "RBD", Type::Raised),
    Member("quobyte", "Quobyte", Type::Raised),
    Member("iscsi", "ISCSI", Type::Raised),
    Member("flexVolume", "FlexVolume", Type::Raised),
    Member("cinder", "Cinder", Type::Raised),
    Member("cephfs", "CephFS", Type::Raised),
    Member("fc", "FC", Type::Raised),
    Member("flocker", "Flocker", Type::Raised),
    Member("azureFile", "AzureFile", Type::Raised),
    Member("vsphereVolume", "VsphereVolume", Type::Raised),
    Member("azureDisk", "AzureDisk", Type::Raised),
    Member("photonPersistentDisk", "PhotonPersistentDisk", Type::Raised),
    Member("portworxVolume", "PortworxVolume", Type::Raised),
    Member("scaleIO", "ScaleIO", Type::Raised),
    Member(
        "local",
        "Local",
        Type::Pointer(&[
            Member("path", "Path", Type::Text),
            Member("fsType", "FSType", Type::Any),
        ]),
    ),
    Member("storageos", "StorageOS", Type::Raised),
    Member(
        "csi",
        "CSI",
        Type::Pointer(&[
            Member("driver", "Driver", Type::Text),
            Member("volumeHandle", "VolumeHandle", Type::Text),
            Member("readOnly", "ReadOnly", Type::Truth),
            Member("fsType", "FSType", Type::Text),
            Member("volumeAttributes", "VolumeAttributes", Type::Any),
            Member(
                "controllerPublishSecretRef",
                "ControllerPublishSecretRef",
                Type::Raised,
            ),
            Member("nodeStageSecretRef", "NodeStageSecretRef", Type::Raised),
            Member("nodePublishSecretRef", "NodePublishSecretRef", Type::Raised),
            Member(
                "controllerExpandSecretRef",
                "ControllerExpandSecretRef",
                Type::Raised,
            ),
            Member("nodeExpandSecretRef", "NodeExpandSecretRef", Type::Raised),
        ]),
    ),
];
