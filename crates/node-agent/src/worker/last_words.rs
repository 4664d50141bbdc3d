//! What a container says of its own end: a file it may write, or the end of its log.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use k8s_openapi::api::core::v1::Container;

use crate::folders::PodFolder;

/// No message is longer.
const LONGEST: u64 = 4096;
const LONGEST_FROM_LOG: u64 = 2048;
const LINES_FROM_LOG: usize = 80;

pub(super) fn read(folder: &PodFolder, container: &Container, attempt: u32, exit_code: i32) -> String {
    let written = start(&folder.termination_message(&container.name, attempt)).unwrap_or_default();
    let falls_back = container.termination_message_policy.as_deref() == Some("FallbackToLogsOnError");
    if !written.is_empty() || !falls_back || exit_code == 0 {
        return written;
    }
    end_of_log(&folder.log(&container.name, attempt)).unwrap_or_default()
}

fn start(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines, without the times and marks that lead them in the file.
fn end_of_log(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    // Each line has some 40 bytes before its text.
    let room = LONGEST_FROM_LOG + 64 * LINES_FROM_LOG as u64;
    file.seek(SeekFrom::Start(length.saturating_sub(room)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().skip(usize::from(length > room)).collect();
    let last = &lines[lines.len().saturating_sub(LINES_FROM_LOG)..];
    let words: String = last.iter().map(|line| told(line)).collect();
    let cut = words.len().saturating_sub(LONGEST_FROM_LOG as usize);
    let cut = (cut..=words.len())
        .find(|at| words.is_char_boundary(*at))
        .unwrap_or_default();
    Ok(words[cut..].to_owned())
}

/// `TIME STREAM TAG TEXT`; a tag of `P` says that the line goes on.
fn told(line: &str) -> String {
    let mut parts = line.splitn(4, ' ').skip(2);
    let goes_on = parts.next() == Some("P");
    let text = parts.next().unwrap_or_default();
    if goes_on {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_end_of_a_log_is_what_was_written_last() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("0.log");
        let lines: String = (0..500)
            .map(|n| format!("2026-01-01T00:00:00.000000000Z stdout F line {n}\n"))
            .collect();
        fs::write(&file, lines).unwrap();
        let words = end_of_log(&file).unwrap();
        assert!(
            words.starts_with("line 420\n") && words.ends_with("line 499\n"),
            "{words}"
        );
    }

    #[test]
    fn parts_of_a_line_are_put_together() {
        assert_eq!(told("t stdout P half "), "half ");
        assert_eq!(told("t stdout F rest"), "rest\n");
    }
}
