//! Formatters in the jail.

use folkmoot_tools::{
    Jail, JailError,
    format::{FormatError, FormatLanguage, format},
};

use crate::project::jail;

#[tokio::test]
async fn code_is_formatted_and_what_is_no_code_is_left_alone() {
    let jail = jail().await;
    let formatted = format(&jail, FormatLanguage::Rust, "fn  main( ){println!(\"{}\",1 );}").await.unwrap();
    assert_eq!(formatted, "fn main() {\n    println!(\"{}\", 1);\n}\n");
    assert_eq!(format(&jail, FormatLanguage::Rust, &formatted).await.unwrap(), formatted);
    assert_eq!(format(&jail, FormatLanguage::Rust, "").await.unwrap(), "");
    let refused = format(&jail, FormatLanguage::Rust, "fn main( {").await.unwrap_err();
    assert!(matches!(refused, FormatError::Refused { formatter: "rustfmt", .. }), "{refused}");
    let long = "// x\n".repeat(300_000);
    assert!(matches!(format(&jail, FormatLanguage::Rust, &long).await, Err(FormatError::Refused { .. })));
}

#[tokio::test]
async fn every_other_formatter_works_or_is_missing_and_says_so() {
    let jail = jail().await;
    for (language, code, expected) in [
        (FormatLanguage::Python, "x = {  'a':1 }", "x = {\"a\": 1}\n"),
        (FormatLanguage::JavaScript, "let x = {a:1}", "let x = { a: 1 };\n"),
        (FormatLanguage::TypeScript, "let x:number=1", "let x: number = 1;\n"),
        (FormatLanguage::Go, "package main\nfunc main(){ }", "package main\n\nfunc main() {}\n"),
        (FormatLanguage::Shell, "if true;then\necho x\nfi", "if true; then\n\techo x\nfi\n"),
    ] {
        match format(&jail, language, code).await {
            Ok(formatted) => assert_eq!(formatted, expected, "{language}"),
            Err(FormatError::Missing(why)) => assert!(why.contains("install "), "{language}: {why}"),
            Err(error) => panic!("{language}: {error}"),
        }
    }
}

#[tokio::test]
async fn without_a_jail_nothing_is_formatted() {
    let error = format(&Jail::refuse("not here"), FormatLanguage::Rust, "fn main() {}").await.unwrap_err();
    assert!(matches!(error, FormatError::Jail(JailError::NoJail(_))), "{error}");
}
