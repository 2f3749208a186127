//! What every outgoing connection needs: secrets, TLS, retry-after, and the address guard.
//!
//! A secret leaves this crate only in the request that carries it. Every address is checked by the
//! guard before it is connected to. Nothing here decides whether to retry.

pub mod address;
mod keys;
pub mod loopback;
mod retry_after;
pub mod secret;
pub mod tls;
mod trust;

pub use address::AddressGuard;
pub use keys::{KeyWatch, Keys, LeakedKey};
pub use retry_after::retry_after;
pub use secret::Secret;
pub use trust::Trust;
