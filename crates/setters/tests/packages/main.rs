//! Commands on whole packages: our own cases, and with the corpus present those recorded from kustomize.

mod arguments;
mod beside;
mod cases;
mod corpus;
mod streams;
