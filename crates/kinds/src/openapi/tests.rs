//! What clients look for in the documents.
