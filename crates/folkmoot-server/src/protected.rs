//! A token encrypted with its owner's passphrase, as stored in the data folder.
//!
//! The key is derived with argon2id, which is slow and needs memory, so that nobody with the file
//! can try many passphrases. The parameters are in the file, so that a later version can choose
//! stronger ones.

use std::io;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use folkmoot_core::Name;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};

const SALT_LEN: usize = 16;
const KEY_LEN: usize = 32;
/// OWASP's recommendation for argon2id, with more memory.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const LANES: u32 = 1;
/// A file with higher parameters was not written by us.
const MEMORY_KIB_MAX: u32 = 1024 * 1024;
const PASSES_MAX: u32 = 32;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectedToken {
    /// How the key is derived and the secret encrypted.
    scheme: Scheme,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: String,
    nonce: String,
    sealed: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Scheme {
    #[serde(rename = "argon2id+chacha20-poly1305")]
    Argon2idChaCha20Poly1305,
}

#[derive(Debug, thiserror::Error)]
pub enum UnlockError {
    /// Or the file was changed; the two cannot be distinguished.
    #[error("this is not the passphrase")]
    WrongPassphrase,
    #[error("the protected token in tokens.json is damaged: {0}")]
    Damaged(String),
}

impl ProtectedToken {
    pub fn seal(owner: &Name, secret: &str, passphrase: &str) -> io::Result<Self> {
        let (mut salt, mut nonce) = ([0; SALT_LEN], [0; NONCE_LEN]);
        getrandom::fill(&mut salt).map_err(io::Error::other)?;
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let mut protected = Self {
            scheme: Scheme::Argon2idChaCha20Poly1305,
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
            salt: STANDARD.encode(salt),
            nonce: STANDARD.encode(nonce),
            sealed: String::new(),
        };
        let key = protected.key(passphrase).map_err(io::Error::other)?;
        let mut sealed = secret.as_bytes().to_vec();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(owner.as_str()), &mut sealed)
            .map_err(|_| io::Error::other("the token cannot be encrypted"))?;
        protected.sealed = STANDARD.encode(sealed);
        Ok(protected)
    }

    /// Decrypts the secret of `owner`.
    pub fn open(&self, owner: &Name, passphrase: &str) -> Result<String, UnlockError> {
        let nonce = decode::<NONCE_LEN>("nonce", &self.nonce)?;
        let mut sealed = STANDARD
            .decode(&self.sealed)
            .map_err(|error| UnlockError::Damaged(format!("sealed is no base64: {error}")))?;
        let opened = self
            .key(passphrase)?
            .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(owner.as_str()), &mut sealed)
            .map_err(|_| UnlockError::WrongPassphrase)?;
        String::from_utf8(opened.to_vec()).map_err(|_| UnlockError::Damaged("it holds no text".to_owned()))
    }

    fn key(&self, passphrase: &str) -> Result<LessSafeKey, UnlockError> {
        if self.memory_kib > MEMORY_KIB_MAX || self.passes > PASSES_MAX {
            return Err(UnlockError::Damaged("it asks for more work than this version ever asks for".to_owned()));
        }
        let salt = decode::<SALT_LEN>("salt", &self.salt)?;
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(KEY_LEN)).map_err(damaged)?;
        let mut key = [0; KEY_LEN];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.as_bytes(), &salt, &mut key)
            .map_err(damaged)?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(damaged)?;
        Ok(LessSafeKey::new(key))
    }
}

fn damaged(error: impl std::fmt::Display) -> UnlockError {
    UnlockError::Damaged(error.to_string())
}

fn decode<const N: usize>(field: &str, text: &str) -> Result<[u8; N], UnlockError> {
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| UnlockError::Damaged(format!("{field} is not {N} bytes in base64")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nora() -> Name {
        "nora".parse().unwrap()
    }

    #[test]
    fn only_the_passphrase_opens_what_was_sealed() {
        let sealed = ProtectedToken::seal(&nora(), "fm_secret", "correct horse").unwrap();
        assert_eq!(sealed.open(&nora(), "correct horse").unwrap(), "fm_secret");
        assert!(matches!(sealed.open(&nora(), "correct hors"), Err(UnlockError::WrongPassphrase)));
        let bob = "bob".parse().unwrap();
        assert!(matches!(sealed.open(&bob, "correct horse"), Err(UnlockError::WrongPassphrase)), "it is nora's");
        let text = serde_json::to_string(&sealed).unwrap();
        assert!(!text.contains("fm_secret") && !text.contains("horse"), "{text}");
    }

    #[test]
    fn what_was_changed_does_not_open() {
        let sealed = ProtectedToken::seal(&nora(), "fm_secret", "correct horse").unwrap();
        let huge = ProtectedToken { memory_kib: u32::MAX, ..sealed.clone() };
        assert!(matches!(huge.open(&nora(), "correct horse"), Err(UnlockError::Damaged(_))));
        let salted = ProtectedToken { salt: STANDARD.encode([7; SALT_LEN]), ..sealed.clone() };
        assert!(matches!(salted.open(&nora(), "correct horse"), Err(UnlockError::WrongPassphrase)));
        let cut = ProtectedToken { nonce: String::new(), ..sealed };
        assert!(matches!(cut.open(&nora(), "correct horse"), Err(UnlockError::Damaged(_))));
    }
}
