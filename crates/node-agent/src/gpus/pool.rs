//! The GPUs of this machine and who has them, kept in a file that is replaced as a whole.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use parking_lot::Mutex;

use super::{
    access::{Access, access},
    advertisement::{Advertisement, RESOURCE},
    discovery::{Driver, DriverError},
    leases::{Demand, Leases, Short},
    reading::{Gpu, Process},
};

/// Shared by everything that starts pods.
#[derive(Debug)]
pub struct Pool {
    driver: Driver,
    gpus: Vec<Gpu>,
    file: PathBuf,
    /// Whether GPUs may be given away that somebody else computes on.
    ignores_strangers: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    leases: Leases,
    /// Who computed on what when last looked.
    processes: Vec<Process>,
}

#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error("cannot use `{}`", .path.display())]
    File { path: PathBuf, source: io::Error },
    /// The pod cannot be admitted (`UnexpectedAdmissionError`).
    #[error(
        "Allocate failed due to requested number of devices unavailable for {RESOURCE}. \
         Requested: {}, Available: {}, which is unexpected{strangers}", .short.requested, .short.available
    )]
    Short { short: Short, strangers: String },
}

impl Pool {
    /// Finds the GPUs and what was leased when the agent last ran.
    pub async fn open(driver: Driver, file: &Path, ignores_strangers: bool) -> Result<Self, PoolError> {
        let leases = read(file).map_err(|source| PoolError::File {
            path: file.to_owned(),
            source,
        })?;
        let pool = Self {
            gpus: driver.gpus().await?,
            driver,
            file: file.to_owned(),
            ignores_strangers,
            state: Mutex::new(State {
                leases,
                processes: Vec::new(),
            }),
        };
        pool.survey().await?;
        Ok(pool)
    }

    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus
    }

    /// Looks who computes on which GPU. To be called now and then, and before pods are admitted.
    pub async fn survey(&self) -> Result<(), PoolError> {
        if self.gpus.is_empty() {
            return Ok(());
        }
        let processes = self.driver.processes().await?;
        self.state.lock().processes = processes.unwrap_or_default();
        Ok(())
    }

    /// Takes back what pods had that exist no more; returns those pods.
    pub fn restore(&self, existing: &BTreeSet<String>) -> Result<Vec<String>, PoolError> {
        self.change(|leases, _| Ok(leases.keep_only(existing)))
    }

    /// Gives a pod all it asks for, for as long as it exists. Asking again changes nothing.
    pub fn lease(&self, pod: &str, demands: &[Demand]) -> Result<(), PoolError> {
        self.change(|leases, strangers| {
            let is_usable = |gpu: &&Gpu| !strangers.iter().any(|process| process.gpu == gpu.uuid);
            let usable: Vec<String> = self
                .gpus
                .iter()
                .filter(is_usable)
                .map(|gpu| gpu.uuid.clone())
                .collect();
            let granted = leases.grant(pod, demands, &usable);
            granted.map_err(|short| PoolError::Short {
                short,
                strangers: self.tell(strangers),
            })
        })
    }

    /// Takes a pod's GPUs back; returns whether it had any.
    pub fn release(&self, pod: &str) -> Result<bool, PoolError> {
        self.change(|leases, _| Ok(leases.release(pod)))
    }

    /// What a container of a pod gets to see; nothing on a machine without GPUs.
    pub fn access(&self, pod: &str, container: &str) -> Access {
        if self.gpus.is_empty() {
            return Access::default();
        }
        let state = self.state.lock();
        let uuids = state.leases.of(pod, container);
        let given: Vec<Gpu> = self
            .gpus
            .iter()
            .filter(|gpu| uuids.contains(&gpu.uuid))
            .cloned()
            .collect();
        access(&given, &self.driver.dev)
    }

    pub fn advertisement(&self) -> Advertisement {
        let state = self.state.lock();
        let strangers = self.strangers(&state);
        let is_usable = |gpu: &&Gpu| !strangers.iter().any(|process| process.gpu == gpu.uuid);
        Advertisement::new(&self.gpus, self.gpus.iter().filter(is_usable).count())
    }

    /// Programs that compute on GPUs no pod has, in words for people.
    pub fn strangers_in_words(&self) -> Vec<String> {
        let state = self.state.lock();
        let unleased = unleased(&state);
        unleased.iter().map(|process| self.describe(process)).collect()
    }

    /// Those who keep pods off their GPU.
    fn strangers(&self, state: &State) -> Vec<Process> {
        if self.ignores_strangers {
            Vec::new()
        } else {
            unleased(state)
        }
    }

    fn tell(&self, strangers: &[Process]) -> String {
        strangers
            .iter()
            .map(|process| format!("; {}", self.describe(process)))
            .collect()
    }

    fn describe(&self, process: &Process) -> String {
        let gpu = self.gpus.iter().find(|gpu| gpu.uuid == process.gpu);
        let index = gpu.map_or_else(|| process.gpu.clone(), |gpu| gpu.index.to_string());
        format!(
            "GPU {index} is used by process {} ({}) of no pod",
            process.pid, process.name
        )
    }

    /// Changes the leases on disk first: what a reader has seen is never forgotten.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Leases, &[Process]) -> Result<T, PoolError>,
    ) -> Result<T, PoolError> {
        let mut state = self.state.lock();
        let strangers = self.strangers(&state);
        let mut leases = state.leases.clone();
        let result = change(&mut leases, &strangers)?;
        if leases != state.leases {
            write(&self.file, &leases).map_err(|source| PoolError::File {
                path: self.file.clone(),
                source,
            })?;
            state.leases = leases;
        }
        Ok(result)
    }
}

/// Who computes on a GPU that no pod has.
fn unleased(state: &State) -> Vec<Process> {
    let held = state.leases.held();
    let processes = state.processes.iter();
    processes
        .filter(|process| !held.contains(process.gpu.as_str()))
        .cloned()
        .collect()
}

fn read(file: &Path) -> io::Result<Leases> {
    match fs::read(file) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Leases::default()),
        Err(error) => Err(error),
    }
}

fn write(file: &Path, leases: &Leases) -> io::Result<()> {
    let next = file.with_extension("json.new");
    let mut target = File::create(&next)?;
    target.write_all(&serde_json::to_vec(leases)?)?;
    target.sync_all()?;
    fs::rename(next, file)
}

#[cfg(test)]
mod tests;
