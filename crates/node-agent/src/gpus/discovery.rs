//! Asks the driver, by its files and its `nvidia-smi`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use super::reading::{self, Gpu, Process};

/// A driver that takes longer is in trouble.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where `nvidia-smi` is found, besides what the user says.
const USUAL_PLACES: [&str; 5] = [
    "/usr/bin/nvidia-smi",
    "/usr/local/nvidia/bin/nvidia-smi",
    "/usr/local/bin/nvidia-smi",
    "/usr/lib/wsl/lib/nvidia-smi",
    "/opt/bin/nvidia-smi",
];

/// Where the driver is met.
#[derive(Clone, Debug)]
pub struct Driver {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
    /// Without it memory is not known, nor who else uses a GPU.
    pub nvidia_smi: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("cannot read `{}`", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot run `{}`", .program.display())]
    Run { program: PathBuf, source: io::Error },
    #[error("`{}` failed: {reason}", .program.display())]
    Failed { program: PathBuf, reason: String },
}

impl Driver {
    /// The one of this machine.
    pub fn of_host() -> Self {
        Self {
            proc: "/proc".into(),
            dev: "/dev".into(),
            nvidia_smi: USUAL_PLACES
                .map(PathBuf::from)
                .into_iter()
                .find(|path| path.exists()),
        }
    }

    /// The GPUs of this machine, in the order of the bus; none without a driver.
    pub async fn gpus(&self) -> Result<Vec<Gpu>, DriverError> {
        let mut gpus = self.listed()?;
        if gpus.is_empty() {
            return Ok(gpus);
        }
        let memories = match self.query("--query-gpu=uuid,memory.total").await? {
            Some(text) => reading::memories(&text),
            None => Vec::new(),
        };
        for (index, gpu) in gpus.iter_mut().enumerate() {
            gpu.index = index;
            let memory = memories.iter().find(|(uuid, _)| *uuid == gpu.uuid);
            gpu.memory_mebibytes = memory.map(|(_, mebibytes)| *mebibytes);
        }
        Ok(gpus)
    }

    /// Who computes on which GPU; not known without `nvidia-smi`.
    pub async fn processes(&self) -> Result<Option<Vec<Process>>, DriverError> {
        let text = self
            .query("--query-compute-apps=pid,gpu_uuid,process_name")
            .await?;
        Ok(text.map(|text| reading::processes(&text)))
    }

    fn listed(&self) -> Result<Vec<Gpu>, DriverError> {
        let folder = self.proc.join("driver/nvidia/gpus");
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => at(&folder, entries)?,
        };
        let mut files = Vec::new();
        for entry in entries {
            files.push(at(&folder, entry)?.path().join("information"));
        }
        // Named after their place on the bus.
        files.sort();
        let read = files.iter().map(|file| at(file, fs::read_to_string(file)));
        let texts: Vec<String> = read.collect::<Result<_, _>>()?;
        Ok(texts
            .iter()
            .filter_map(|text| reading::information(text))
            .collect())
    }

    async fn query(&self, what: &str) -> Result<Option<String>, DriverError> {
        let Some(program) = &self.nvidia_smi else {
            return Ok(None);
        };
        let mut command = Command::new(program);
        command
            .args([what, "--format=csv,noheader,nounits"])
            .kill_on_drop(true);
        let failed = |reason: String| DriverError::Failed {
            program: program.clone(),
            reason,
        };
        let run = |source| DriverError::Run {
            program: program.clone(),
            source,
        };
        let output = timeout(PATIENCE, command.output()).await;
        let output = output.map_err(|_| failed("no answer".to_owned()))?.map_err(run)?;
        if !output.status.success() {
            // It tells of errors where others tell of results.
            let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            return Err(failed(format!("{} {text}", output.status)));
        }
        Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, DriverError> {
    result.map_err(|source| DriverError::Read {
        path: path.to_owned(),
        source,
    })
}
