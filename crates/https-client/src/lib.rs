//! A small blocking HTTP/1.1 client over TLS. Our own, because tests must be able to send what no
//! well-behaved client sends, byte for byte, and to read a watch line by line with a deadline.

mod connection;
mod response;
mod server;
mod tls;

pub use response::{Body, Head};
pub use server::{Server, ServerError};

use connection::Connection;
