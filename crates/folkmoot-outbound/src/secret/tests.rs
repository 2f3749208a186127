use std::{fs, os::unix::fs::PermissionsExt};

use super::*;

const KEY: &str = "sk-0123456789-abcdefghij";

#[test]
fn a_secret_is_never_printed() {
    let secret = Secret::new(KEY, "OPENAI_API_KEY").unwrap();
    assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "… … Some(…)");
    assert_eq!(secret.origin(), "OPENAI_API_KEY");
}

#[test]
fn a_key_is_one_line_of_visible_characters() {
    let refused = |text: &str| Secret::new(text, "KEY").map(drop).unwrap_err().to_string();
    assert_eq!(Secret::new("  sk-1\n", "KEY").unwrap().reveal(), "sk-1");
    assert_eq!(refused(""), "KEY is empty: put the key there, or remove it");
    assert_eq!(refused(" \n "), "KEY is empty: put the key there, or remove it");
    for text in ["two\nlines", "a space", "sch\u{fc}ssel", "nul\0"] {
        assert_eq!(refused(text), "KEY is not a key: a key is one line of visible ASCII characters");
    }
    assert!(matches!(Secret::new(&"x".repeat(KEY_BYTES_MAX + 1), "KEY"), Err(Error::NotAKey(_))));
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let error = Secret::from_env("FOLKMOOT_TEST_NO_SUCH_VARIABLE").unwrap_err();
    assert_eq!(error.to_string(), "the environment has no FOLKMOOT_TEST_NO_SUCH_VARIABLE: set it to the key");
}

#[test]
fn a_file_that_others_can_read_is_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    fs::write(&path, format!("{KEY}\n")).unwrap();
    for mode in [0o644, 0o640, 0o604, 0o660, 0o601] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = Secret::from_file(&path).unwrap_err().to_string();
        let path = path.display();
        assert_eq!(error, format!("{path} can be read by others (mode {mode:03o}): run `chmod 600 {path}`"));
    }
    for mode in [0o600, 0o400] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(Secret::from_file(&path).unwrap().reveal(), KEY);
    }
}

#[test]
fn a_file_without_a_key_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let said = |content: &[u8]| {
        let path = folder.path().join("key");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let said = Secret::from_file(&path).map(drop).unwrap_err().to_string();
        said.replace(&path.display().to_string(), "FILE")
    };
    assert_eq!(said(b"\n"), "FILE is empty: put the key there, or remove it");
    assert_eq!(said(b"one\ntwo\n"), "FILE is not a key: a key is one line of visible ASCII characters");
    assert_eq!(said(b"\xff\xfe"), "FILE cannot be read as a key file: stream did not contain valid UTF-8");
    let error = Secret::from_file(folder.path()).unwrap_err().to_string();
    assert_eq!(
        error.replace(&folder.path().display().to_string(), "FOLDER"),
        "FOLDER cannot be read as a key file: it is not a file"
    );
    assert!(matches!(Secret::from_file(folder.path().join("none")), Err(Error::Unreadable { .. })));
}
