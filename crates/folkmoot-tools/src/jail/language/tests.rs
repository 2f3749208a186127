use super::*;

#[test]
fn a_language_that_nobody_knows_is_an_error() {
    assert_eq!(ProgramLanguage::named(" Py "), Ok(ProgramLanguage::Python));
    let JailError::Invalid(why) = ProgramLanguage::named("brainfuck").unwrap_err() else { panic!("another error") };
    assert!(why.contains("python, javascript, rust, go, bash"), "{why}");
}

#[tokio::test]
async fn where_there_is_no_tool_chain_none_is_found() {
    let empty = tempfile::tempdir().unwrap();
    for language in ProgramLanguage::ALL.iter().copied() {
        assert_eq!(candidates(language, &[empty.path().to_owned()]).await, []);
    }
}

#[tokio::test]
async fn a_tool_chain_that_is_asked_where_it_is_sees_no_other_variables() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    // Cargo sets this variable for every test; a key would be passed on in the same way.
    std::fs::write(&program, "#!/bin/sh\necho \"/seen${CARGO_MANIFEST_DIR}\"\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert_eq!(super::ask(&program, &[]).await, Some(PathBuf::from("/seen")));
}
