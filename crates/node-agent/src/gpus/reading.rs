//! What the driver's files and `nvidia-smi` say, as they say it. Pure.

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its place among the GPUs of this machine, ordered by their place on the bus.
    pub index: usize,
    /// The number of its device node.
    pub minor: u32,
    pub uuid: String,
    pub product: String,
    /// Not known without `nvidia-smi`.
    pub memory_mebibytes: Option<u64>,
}

/// A program that computes on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub gpu: String,
    pub name: String,
}

/// `/proc/driver/nvidia/gpus/BUS/information`; nothing for a GPU that the driver leaves alone.
pub(super) fn information(text: &str) -> Option<Gpu> {
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
    };
    if field("GPU Excluded") == Some("Yes") {
        return None;
    }
    Some(Gpu {
        index: 0,
        minor: field("Device Minor")?.parse().ok()?,
        uuid: field("GPU UUID")?.to_owned(),
        product: field("Model")?.to_owned(),
        memory_mebibytes: None,
    })
}

/// `--query-gpu=uuid,memory.total`: the memory of each GPU.
pub(super) fn memories(text: &str) -> Vec<(String, u64)> {
    let rows = text.lines().filter_map(|line| line.split_once(','));
    rows.filter_map(|(uuid, memory)| Some((uuid.trim().to_owned(), memory.trim().parse().ok()?)))
        .collect()
}

/// `--query-compute-apps=pid,gpu_uuid,process_name`.
pub(super) fn processes(text: &str) -> Vec<Process> {
    let rows = text.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ',').map(str::trim);
        Some(Process {
            pid: fields.next()?.parse().ok()?,
            gpu: fields.next()?.to_owned(),
            name: fields.next()?.to_owned(),
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFORMATION: &str = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 41\nGPU UUID: \t GPU-db45a497\n\
                               Bus Location: \t 0000:00:06.0\nDevice Minor: \t 3\nGPU Excluded:\t No\n";

    #[test]
    fn a_gpu_is_read_from_the_drivers_file() {
        let gpu = information(INFORMATION).unwrap();
        assert_eq!(
            (gpu.minor, gpu.uuid.as_str(), gpu.product.as_str()),
            (3, "GPU-db45a497", "NVIDIA H200")
        );
        assert_eq!(information(&INFORMATION.replace("\t No", "\t Yes")), None);
        assert_eq!(information(""), None);
    }

    #[test]
    fn rows_are_read_and_what_is_none_is_left_out() {
        assert_eq!(
            memories("GPU-a, 143771\nGPU-b, [N/A]\n"),
            [("GPU-a".to_owned(), 143_771)]
        );
        let processes = processes("426, GPU-a, python3 train.py, really\nNo running processes found\n");
        assert_eq!(processes.len(), 1);
        assert_eq!(
            (processes[0].pid, processes[0].name.as_str()),
            (426, "python3 train.py, really")
        );
    }
}
