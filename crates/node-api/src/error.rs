//! Why a node does not do what it is asked, in the words of the real one.

/// Each kind is told to clients in its own way: as an answer to the request, or over a stream that is
/// open already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The node has no such pod, or not any more.
    #[error("pod does not exist")]
    NoPod,
    /// The pod has no running container of that name.
    #[error("container not found ({0:?})")]
    NoContainer(String),
    /// There are no logs any more, with the reason in the words of the real node.
    #[error("{0}")]
    NoLogs(String),
    /// What was asked for was tried and did not work.
    #[error("{0}")]
    Failed(String),
}
