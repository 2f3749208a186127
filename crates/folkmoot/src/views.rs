//! Gates, questions, holds and runs as text for people. A view only renders; it calls no server.

pub(crate) mod debate;
pub(crate) mod gate;
pub(crate) mod hold;
pub(crate) mod outline;
pub(crate) mod plan;
pub(crate) mod question;
pub(crate) mod run;
pub(crate) mod timeline;
