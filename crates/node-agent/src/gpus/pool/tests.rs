use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::*;

/// A machine with made-up GPUs whose `nvidia-smi` is a script.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new(gpus: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let machine = Self { folder };
        for number in 0..gpus {
            let entry = machine.path(&format!("proc/driver/nvidia/gpus/0000:0{number}:00.0"));
            fs::create_dir_all(&entry).unwrap();
            // Minors need not follow the bus.
            let minor = gpus - 1 - number;
            let text = format!(
                "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-{number}\nDevice Minor: \t {minor}\nGPU Excluded:\t No\n"
            );
            fs::write(entry.join("information"), text).unwrap();
        }
        fs::create_dir_all(machine.path("dev")).unwrap();
        for name in ["nvidiactl", "nvidia-uvm"] {
            fs::write(machine.path("dev").join(name), "").unwrap();
        }
        machine.computing("");
        let script = format!(
            "#!/bin/sh\ncase $1 in\n\
             --query-gpu=*) for n in 0 1 2 3; do echo \"GPU-$n, 143771\"; done;;\n\
             --query-compute-apps=*) cat {};;\nesac\n",
            machine.path("computing").display()
        );
        let program = machine.path("nvidia-smi");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn computing(&self, rows: &str) {
        fs::write(self.path("computing"), rows).unwrap();
    }

    async fn pool(&self, ignores_strangers: bool) -> Pool {
        let driver = Driver {
            proc: self.path("proc"),
            dev: self.path("dev"),
            nvidia_smi: Some(self.path("nvidia-smi")),
        };
        let file = self.path("gpus.json");
        // Another test's fork may hold the script open for writing for a moment.
        for _ in 0..1000 {
            match Pool::open(driver.clone(), &file, ignores_strangers).await {
                Err(PoolError::Driver(DriverError::Run { source, .. }))
                    if source.kind() == io::ErrorKind::ExecutableFileBusy =>
                {
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
                opened => return opened.unwrap(),
            }
        }
        panic!("the script stays busy");
    }
}

fn one(count: usize) -> Vec<Demand> {
    vec![Demand {
        container: "main".to_owned(),
        count,
        is_step: false,
    }]
}

fn value<'a>(access: &'a Access, name: &str) -> Option<&'a str> {
    let found = access.env.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str())
}

#[tokio::test]
async fn a_container_sees_its_gpus_and_others_see_none() {
    let machine = Machine::new(3);
    let pool = machine.pool(false).await;
    pool.lease("pod", &one(2)).unwrap();
    let seen = pool.access("pod", "main");
    let devices: Vec<_> = seen
        .devices
        .iter()
        .map(|device| device.target.display().to_string())
        .collect();
    assert_eq!(
        devices,
        [
            "/dev/nvidia2",
            "/dev/nvidia1",
            "/dev/nvidiactl",
            "/dev/nvidia-uvm"
        ]
    );
    assert_eq!(value(&seen, "NVIDIA_VISIBLE_DEVICES"), Some("GPU-0,GPU-1"));
    assert_eq!(value(&seen, "CUDA_VISIBLE_DEVICES"), Some("GPU-0,GPU-1"));
    let other = pool.access("pod", "sidecar");
    assert!(other.devices.is_empty());
    assert_eq!(value(&other, "NVIDIA_VISIBLE_DEVICES"), Some("void"));
    assert_eq!(value(&other, "CUDA_VISIBLE_DEVICES"), Some(""));
}

#[tokio::test]
async fn leases_survive_the_agent_and_go_with_their_pod() {
    let machine = Machine::new(2);
    machine.pool(false).await.lease("gone", &one(1)).unwrap();
    machine.pool(false).await.lease("alive", &one(1)).unwrap();
    let pool = machine.pool(false).await;
    assert!(pool.lease("new", &one(1)).is_err());
    assert_eq!(
        pool.restore(&BTreeSet::from(["alive".to_owned()])).unwrap(),
        ["gone"]
    );
    pool.lease("new", &one(1)).unwrap();
    assert_eq!(
        value(&pool.access("new", "main"), "CUDA_VISIBLE_DEVICES"),
        Some("GPU-0")
    );
    assert!(pool.release("new").unwrap());
    assert!(!pool.release("new").unwrap());
    let again = machine.pool(false).await;
    assert_eq!(
        value(&again.access("alive", "main"), "CUDA_VISIBLE_DEVICES"),
        Some("GPU-1")
    );
}

#[tokio::test]
async fn a_gpu_that_somebody_else_uses_is_not_given_away() {
    let machine = Machine::new(2);
    let pool = machine.pool(false).await;
    pool.lease("pod", &one(1)).unwrap();
    // A pod's own process on its own GPU, and a stranger.
    machine.computing("100, GPU-0, python3\n4711, GPU-1, jupyter\n");
    pool.survey().await.unwrap();
    let advertised = pool.advertisement();
    assert_eq!((advertised.capacity, advertised.allocatable), (2, 1));
    assert_eq!(advertised.labels["nvidia.com/gpu.memory"], "143771");
    let error = pool.lease("other", &one(1)).unwrap_err().to_string();
    let expected = "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. \
                    Requested: 1, Available: 0, which is unexpected; GPU 1 is used by process 4711 (jupyter) of no pod";
    assert_eq!(error, expected);
    assert_eq!(pool.strangers_in_words().len(), 1);

    let tolerant = machine.pool(true).await;
    assert_eq!(tolerant.advertisement().allocatable, 2);
    tolerant.lease("other", &one(1)).unwrap();
}

#[tokio::test]
async fn a_machine_without_gpus_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver {
        proc: folder.path().to_owned(),
        dev: folder.path().to_owned(),
        nvidia_smi: Some("/nonexistent".into()),
    };
    let pool = Pool::open(driver, &folder.path().join("gpus.json"), false)
        .await
        .unwrap();
    assert_eq!(pool.advertisement(), Advertisement::default());
    assert_eq!(pool.access("pod", "main"), Access::default());
    assert!(pool.lease("pod", &one(1)).is_err());
    pool.lease("pod", &[]).unwrap();
    assert!(!folder.path().join("gpus.json").exists());
}

#[tokio::test]
async fn a_driver_in_trouble_is_told() {
    let driver = Driver {
        nvidia_smi: Some("/bin/false".into()),
        ..Driver::of_host()
    };
    let error = driver.processes().await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`/bin/false` failed: exit status: 1"),
        "{error}"
    );
}
