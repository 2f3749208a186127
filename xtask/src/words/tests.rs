use super::{Definitions, Place, ambiguous, defined, is_judged};

#[test]
fn every_sort_of_definition_is_found() {
    let text = "\
pub struct Gate {
pub(crate) enum Kind<'a> {
pub(in crate::gate) unsafe trait Source {
union Bits {
type Rules = Vec<u8>;
impl Iterator for Gate {
    type Item = u8;
}
vocabulary! {
    pub enum Status {
id!(/** A run. */ RunId, \"run id\", 128);
    pub struct $name(Arc<str>);
// struct Comment
let structure = struct_of(\"struct Text\");
";
    let found: Vec<_> = defined(text).collect();
    let expected = [(1, "Gate"), (2, "Kind"), (3, "Source"), (4, "Bits"), (5, "Rules"), (10, "Status"), (11, "RunId")];
    assert_eq!(found, expected);
}

#[test]
fn tests_may_call_theirs_what_they_like() {
    let text = "#[cfg(test)]\nmod tests;\n\nstruct Real;\n\n#[cfg(test)]\nmod inner {\n    struct Invented;\n}\n";
    assert_eq!(defined(text).collect::<Vec<_>>(), [(4, "Real")]);

    assert!(is_judged("crates/folkmoot-core/src/gate/cast.rs"));
    assert!(!is_judged("crates/folkmoot-core/src/gate/tests/cast.rs"));
    assert!(!is_judged("crates/folkmoot-core/src/gate/tests.rs"));
    assert!(!is_judged("crates/folkmoot-core/src/transcript/world.rs"));
    assert!(!is_judged("crates/folkmoot-server/tests/it/gates.rs"));
    assert!(!is_judged("xtask/src/words.rs"));
}

#[test]
fn a_name_that_means_two_things_is_a_fault() {
    let faults = ambiguous(&named("Gate", &["crates/folkmoot-core/src/a.rs", "crates/folkmoot-llm/src/b.rs"]));
    assert_eq!(faults, ["Gate\n  crates/folkmoot-core/src/a.rs:7\n  crates/folkmoot-llm/src/b.rs:7"]);

    assert!(ambiguous(&named("Gate", &["crates/folkmoot-core/src/a.rs"])).is_empty());
    assert!(ambiguous(&named("Args", &["crates/folkmoot/src/a.rs", "crates/folkmoot/src/b.rs"])).is_empty());
}

#[test]
fn the_wire_may_name_a_type_as_the_core_does() {
    let wire = "crates/folkmoot-api/src/wire/gate.rs";
    let core = "crates/folkmoot-core/src/gate.rs";
    assert!(ambiguous(&named("Gate", &[wire, core])).is_empty());
    assert!(ambiguous(&named("Gate", &[core, wire])).is_empty());
    assert!(ambiguous(&named("Plan", &[wire, "crates/folkmoot-workflows/src/plan.rs"])).is_empty());

    assert_eq!(ambiguous(&named("Gate", &[wire, wire])).len(), 1);
    assert_eq!(ambiguous(&named("Gate", &[wire, "crates/folkmoot-llm/src/gate.rs"])).len(), 1);
    assert_eq!(ambiguous(&named("Gate", &[wire, core, core])).len(), 1);
}

fn named(name: &str, files: &[&str]) -> Definitions {
    let places = files.iter().map(|file| Place { file: (*file).to_owned(), line: 7 }).collect();
    Definitions::from([(name.to_owned(), places)])
}
