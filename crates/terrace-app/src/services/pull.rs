//! Pull-through: what another registry has, fetched when somebody asks for it.

pub(crate) mod commit;
pub(crate) mod lease;
pub(crate) mod package;
pub(crate) mod puller;
pub(crate) mod upstream;
