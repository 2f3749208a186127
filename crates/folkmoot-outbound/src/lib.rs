//! What every outgoing connection needs: secrets, TLS, retry-after, and the guard of addresses.
//!
//! A secret leaves this crate only for the request that carries it, and no address is connected to
//! that the guard has not checked. Nothing here decides whether to try again.

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
