//! Burying children: containers, further processes, and orphans nobody asks about.

use nix::{
    sys::wait::{WaitPidFlag, WaitStatus, waitpid},
    unistd::Pid,
};

use super::server::Server;
use crate::state::Exit;

impl Server {
    pub(super) fn reap(&mut self) {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(process, code)) => self.bury(process, Exit::code(code)),
                Ok(WaitStatus::Signaled(process, signal, _)) => {
                    self.bury(process, Exit::signal(signal as i32));
                }
                Ok(WaitStatus::StillAlive) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    fn bury(&mut self, process: Pid, exit: Exit) {
        let container = self
            .containers
            .iter()
            .find(|(_, running)| running.process == process)
            .map(|(name, _)| name.clone());
        match container {
            Some(name) => self.end(&name, exit),
            None => self.end_execution(process.as_raw(), exit),
        }
    }
}
