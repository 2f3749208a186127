//! The server's key: created at the first start, in a file that only its owner can read. It is in
//! no database and no backup.
//!
//! Everything else is derived from it, each with its own context: the ed25519 key that signs
//! checkpoints and receipts, and the secrets of webhooks. So a webhook's secret is stored nowhere,
//! and nobody can forge either with the database alone. Servers on one PostgreSQL share the file.

use std::{fmt, io, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use folkmoot_core::{Digest, KeyId};
use ring::{
    hkdf::{HKDF_SHA256, Salt},
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};

const SIGNING: &str = "folkmoot 2026-11 ed25519 key of checkpoints and receipts";
const WEBHOOKS: &str = "folkmoot 2026-11 secrets of webhooks";
/// The prefix of every ed25519 public key as SubjectPublicKeyInfo (RFC 8410).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

pub struct ServerKey {
    secret: [u8; 32],
    signing: Ed25519KeyPair,
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerKey({})", self.public().id())
    }
}

impl ServerKey {
    pub fn new(secret: [u8; 32]) -> Self {
        let signing =
            Ed25519KeyPair::from_seed_unchecked(&derive(&secret, &[SIGNING.as_bytes()])).expect("32 bytes are a seed");
        Self { secret, signing }
    }

    /// Reads a key of 64 hexadecimal digits.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let secret = from_hex(text.trim()).ok_or_else(|| {
            io::Error::other(format!("{} holds no key: 64 hexadecimal digits were expected", path.display()))
        })?;
        Ok(Self::new(secret))
    }

    /// The text for [`ServerKey::read`].
    pub fn to_text(&self) -> String {
        self.secret.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n"
    }

    pub fn public(&self) -> PublicKey {
        let bytes = self.signing.public_key().as_ref();
        PublicKey(bytes.try_into().expect("an ed25519 key has 32 bytes"))
    }

    pub fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.signing.sign(message))
    }

    /// The secret of one webhook; each generation has another.
    pub fn webhook_secret(&self, webhook: &str, generation: u64) -> [u8; 32] {
        derive(&self.secret, &[WEBHOOKS.as_bytes(), &generation.to_be_bytes(), webhook.as_bytes()])
    }
}

/// Derives a key for one purpose (HKDF, RFC 5869). It reveals neither the secret nor other keys.
fn derive(secret: &[u8; 32], purpose: &[&[u8]]) -> [u8; 32] {
    let secret = Salt::new(HKDF_SHA256, &[]).extract(secret);
    let mut key = [0; 32];
    let derived = secret.expand(purpose, HKDF_SHA256).and_then(|derived| derived.fill(&mut key));
    derived.expect("HKDF-SHA256 gives 32 bytes");
    key
}

/// The key that checks the server's signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    pub fn id(&self) -> KeyId {
        format!("key-{}", &Digest::of(&self.0).hex()[..16]).parse().expect("letters, digits and a dash are an id")
    }

    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let Ok(signature) = STANDARD.decode(signature) else { return false };
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, &signature).is_ok()
    }

    /// In PEM, for `openssl`.
    pub fn to_pem(&self) -> String {
        let der = [SPKI.as_slice(), &self.0].concat();
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
    }

    /// Parses the output of [`PublicKey::to_pem`].
    pub fn from_pem(text: &str) -> Option<Self> {
        let lines = text.trim().strip_prefix("-----BEGIN PUBLIC KEY-----")?;
        let body: String = lines.strip_suffix("-----END PUBLIC KEY-----")?.split_whitespace().collect();
        let der = STANDARD.decode(body).ok()?;
        Some(Self(der.strip_prefix(SPKI.as_slice())?.try_into().ok()?))
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_after_it_was_written_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.key");
        let key = ServerKey::new([7; 32]);
        std::fs::write(&path, key.to_text()).unwrap();
        let again = ServerKey::read(&path).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(again.webhook_secret("wh-1", 1), key.webhook_secret("wh-1", 1));
        std::fs::write(&path, "not a key").unwrap();
        assert!(ServerKey::read(&path).unwrap_err().to_string().contains("64 hexadecimal digits"));
    }

    #[test]
    fn a_signature_is_about_one_message_and_of_one_key() {
        let (key, other) = (ServerKey::new([1; 32]), ServerKey::new([2; 32]));
        let signature = key.sign(b"the log ends here");
        assert!(key.public().verifies(b"the log ends here", &signature));
        assert!(!key.public().verifies(b"the log ends there", &signature));
        assert!(!other.public().verifies(b"the log ends here", &signature));
        assert!(!key.public().verifies(b"the log ends here", "no signature"));
    }

    #[test]
    fn a_public_key_survives_pem() {
        let public = ServerKey::new([3; 32]).public();
        assert_eq!(PublicKey::from_pem(&public.to_pem()), Some(public));
        assert_eq!(PublicKey::from_pem("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"), None);
    }

    #[test]
    fn each_webhook_and_each_generation_has_a_secret_of_its_own() {
        let key = ServerKey::new([4; 32]);
        let secrets =
            [("wh-1", 1), ("wh-1", 2), ("wh-2", 1)].map(|(id, generation)| key.webhook_secret(id, generation));
        assert!(secrets[0] != secrets[1] && secrets[0] != secrets[2] && secrets[1] != secrets[2]);
        assert!(!format!("{key:?}").contains("04"), "the secret is not shown");
    }
}
