//! The folder of an older version, under this one's command line: every gate, question and run
//! reads as that version read it.

use serde_json::Value;

use super::Desk;

#[test]
fn an_older_folder_reads_as_it_did() {
    for schema in 1..=3 {
        let fixture = |end: &str| {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../folkmoot-store/tests/fixtures");
            std::fs::read_to_string(format!("{folder}/schema_{schema}.{end}")).expect("the fixture")
        };
        let desk = Desk::empty();
        let file = desk.path().join("folkmoot.db");
        rusqlite::Connection::open(&file).unwrap().execute_batch(&fixture("sql")).unwrap();
        let before: Value = serde_json::from_str(&fixture("json")).unwrap();
        // A backup of it, before it is migrated, restores too.
        let backup = desk.path().join("before.db");
        let held = desk.json(&["backup", backup.to_str().unwrap()]);
        assert_eq!(
            (&held["backup"]["schema"], &held["backup"]["head_hash"]),
            (&schema.into(), &before["verified"]["head_hash"])
        );
        let other = Desk::empty();
        other.say(&["restore", backup.to_str().unwrap()]);
        for desk in [&desk, &other] {
            reads_as(desk, "gates", &["gate", "list", "--all", "--limit", "500"], &before);
            reads_as(desk, "questions", &["questions", "--all", "--limit", "500"], &before);
            reads_as(desk, "runs", &["runs", "--limit", "500"], &before);
            assert_eq!(desk.json(&["audit", "verify"])["ok"], true);
        }
    }
}

/// What was told then is told now; a newer version may tell more.
fn reads_as(desk: &Desk, name: &str, verb: &[&str], before: &Value) {
    let now = desk.json(verb);
    let (then, now) = (before[name].as_array().expect("a list"), now[name].as_array().expect("a list"));
    assert_eq!(then.len(), now.len(), "{name}");
    for (then, now) in then.iter().zip(now) {
        for (field, value) in then.as_object().expect("an object") {
            assert_eq!(&now[field], value, "{field} of {}", then["id"]);
        }
    }
}
