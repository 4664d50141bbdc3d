//! What the machine itself takes for the same processes, started without any cluster.

use std::{
    io::Read as _,
    process::{Child, Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};

use crate::{lives::LINE, statistics::milliseconds, step::Figure};

/// From starting a program to having read its line.
pub(crate) fn first_line() -> Result<Figure> {
    let started = Instant::now();
    let mut child = Command::new("/bin/echo")
        .arg(LINE)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `echo`")?;
    let mut line = String::new();
    let mut output = child.stdout.take().context("`echo` has no output")?;
    output.read_to_string(&mut line)?;
    let took = started.elapsed();
    child.wait()?;
    ensure!(line.trim_end() == LINE, "`echo` said `{line}`");
    Ok(("first_line_p50".to_owned(), milliseconds(took)))
}

/// From starting the first of many programs to all of them running.
pub(crate) fn all_running(count: usize) -> Result<Figure> {
    let started = Instant::now();
    let mut children = Vec::with_capacity(count);
    for _ in 0..count {
        // Returns when the program has taken the place of the copy of this one.
        let child = Command::new("sleep").arg("600").spawn();
        children.push(child.context("cannot start `sleep`")?);
    }
    let took = started.elapsed();
    for mut child in children {
        child.kill()?;
        reap(child)?;
    }
    Ok(("job_running".to_owned(), milliseconds(took)))
}

fn reap(mut child: Child) -> Result<()> {
    child.wait().context("cannot wait for `sleep`")?;
    Ok(())
}
