//! Amounts of resources in words.

/// An amount as people write it.
pub(crate) fn shown(name: &str, amount: i64) -> String {
    const GIB: i64 = 1 << 30;
    const MIB: i64 = 1 << 20;
    let is_bytes = name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
    match (name, is_bytes) {
        ("cpu", _) if amount % 1000 == 0 => (amount / 1000).to_string(),
        ("cpu", _) => format!("{amount}m"),
        (_, true) if amount >= GIB => format!("{:.1}Gi", amount as f64 / GIB as f64).replace(".0Gi", "Gi"),
        (_, true) => format!("{}Mi", amount / MIB),
        _ => amount.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        assert_eq!(shown("cpu", 1500), "1500m");
        assert_eq!(shown("cpu", 2000), "2");
        assert_eq!(shown("memory", 3 << 29), "1.5Gi");
        assert_eq!(shown("memory", 200 << 20), "200Mi");
        assert_eq!(shown("nvidia.com/gpu", 8), "8");
    }
}
