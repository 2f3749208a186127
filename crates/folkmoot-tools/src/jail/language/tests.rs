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
