//! The cluster's own admission: webhooks that may change or refuse a write.

use serde_json::Value;

use super::Operation;
use crate::{error::Result, writes::Writer};

pub struct Caller;

impl Caller {
    pub fn new() -> Self {
        Self
    }
}

pub(crate) async fn mutate(
    _writer: &mut Writer<'_>,
    _operation: Operation,
    _object: &mut Value,
    _old: Option<&Value>,
) -> Result<()> {
    Ok(())
}

pub(crate) async fn validate(
    _writer: &mut Writer<'_>,
    _operation: Operation,
    _object: Option<&Value>,
    _old: Option<&Value>,
) -> Result<()> {
    Ok(())
}
