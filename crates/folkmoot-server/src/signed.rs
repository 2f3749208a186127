//! Signed statements: JSON with the public key and the signature.
//!
//! The signature covers the canonical form (RFC 8785) of everything except `signature`. The
//! included key does not prove who signed: get the server's key from elsewhere.

use folkmoot_core::{KeyId, canonical::canonical};
use serde::Serialize;
use serde_json::Value;

use crate::{PublicKey, ServerKey};

/// Why a statement is not the server's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
    /// It is not a signed statement.
    #[error("it is not signed: `public_key` and `signature` were expected")]
    Unsigned,
    #[error("it was signed with another key: {theirs}, and {ours} was expected")]
    OtherKey { theirs: KeyId, ours: KeyId },
    /// The signature does not match.
    #[error("the signature is bad: {0} did not sign this, or it was changed since")]
    Bad(KeyId),
}

/// The statement with the server's public key and signature.
pub(crate) fn sign(key: &ServerKey, statement: &impl Serialize) -> Value {
    let mut statement = serde_json::to_value(statement).expect("a struct of texts and integers is JSON");
    statement["public_key"] = key.public().to_pem().into();
    let text = canonical(&statement).expect("nothing that we sign has fractions, or names beyond ASCII");
    statement["signature"] = key.sign(text.as_bytes()).into();
    statement
}

/// Checks a statement's signature with the key that it contains, which must be `expected` if that
/// is known. Returns the key.
pub fn check(statement: &Value, expected: Option<&PublicKey>) -> Result<PublicKey, NotSigned> {
    let mut signed = statement.clone();
    let signature = signed.as_object_mut().and_then(|members| members.remove("signature"));
    let signature = signature.as_ref().and_then(Value::as_str).ok_or(NotSigned::Unsigned)?;
    let key = signed.get("public_key").and_then(Value::as_str).and_then(PublicKey::from_pem);
    let key = key.ok_or(NotSigned::Unsigned)?;
    if let Some(expected) = expected.filter(|expected| **expected != key) {
        return Err(NotSigned::OtherKey { theirs: key.id(), ours: expected.id() });
    }
    match canonical(&signed) {
        Some(text) if key.verifies(text.as_bytes(), signature) => Ok(key),
        _ => Err(NotSigned::Bad(key.id())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_signature_is_about_every_member_and_of_one_key() {
        let (key, other) = (ServerKey::new([1; 32]), ServerKey::new([2; 32]));
        let signed = sign(&key, &json!({"b": [1, "ä"], "a": null}));
        assert_eq!(check(&signed, None), Ok(key.public()));
        assert_eq!(check(&signed, Some(&key.public())), Ok(key.public()));
        let ours = other.public();
        let expected = NotSigned::OtherKey { theirs: key.public().id(), ours: ours.id() };
        assert_eq!(check(&signed, Some(&ours)), Err(expected));

        let changed = |name: &str, value: Value| {
            let mut changed = signed.clone();
            changed[name] = value;
            check(&changed, None)
        };
        let bad = Err(NotSigned::Bad(key.public().id()));
        assert_eq!(changed("a", json!(1)), bad);
        assert_eq!(changed("new", json!(1)), bad);
        assert_eq!(changed("b", json!([1.5])), bad);
        assert_eq!(changed("signature", json!("AAAA")), bad);
        assert_eq!(changed("public_key", other.public().to_pem().into()), Err(NotSigned::Bad(other.public().id())));
        assert_eq!(changed("signature", json!(7)), Err(NotSigned::Unsigned));
        assert_eq!(check(&json!({"a": 1}), None), Err(NotSigned::Unsigned));
        assert_eq!(check(&json!([1]), None), Err(NotSigned::Unsigned));
    }
}
