//! The process as a program of its own, for the tests: `render_worker __render BYTES MILLISECONDS`.

use std::process::ExitCode;

// As in the program itself: limits on memory are about what the allocator does.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    render_worker::process(&arguments)
}
