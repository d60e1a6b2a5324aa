//! What the store does through its public functions: records written and read, and files that somebody else wrote.

mod hostile;
mod record_codec;
