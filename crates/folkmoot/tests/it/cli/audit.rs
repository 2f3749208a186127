//! The log can be checked, here and elsewhere.

use super::Desk;

/// A log with a decision in it, exported.
fn exported() -> (Desk, Vec<String>) {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy"]);
    desk.say(&["approve", "--comment", "tested"]);
    let lines = desk.say(&["audit", "export"]).lines().map(str::to_owned).collect();
    (desk, lines)
}

/// What `audit verify --file` says of these lines.
fn verify(desk: &Desk, lines: &[String]) -> (i32, String) {
    let file = desk.path().join("export.jsonl");
    std::fs::write(&file, lines.join("\n")).expect("a file");
    let ended = desk.run(&["audit", "verify", "--file", file.to_str().expect("a path of text")]);
    (ended.code, ended.stdout)
}

#[test]
fn the_log_is_verified_where_it_is() {
    let (desk, lines) = exported();
    let said = desk.say(&["audit", "verify"]);
    assert!(said.starts_with(&format!("ok {} events and 1 rows agree", lines.len())), "{said}");
}

#[test]
fn an_export_is_verified_alone_and_has_the_same_head() {
    let (desk, lines) = exported();
    let (code, said) = verify(&desk, &lines);
    assert_eq!(code, 0, "{said}");
    assert_eq!(said.lines().last(), desk.say(&["audit", "verify"]).lines().last());
}

#[test]
fn a_part_of_the_log_is_verified_as_a_part() {
    let (desk, lines) = exported();
    let part = desk.say(&["audit", "export", "--after", "2"]);
    assert_eq!(part.lines().collect::<Vec<_>>(), lines[2..]);
    let (code, said) = verify(&desk, &lines[2..]);
    assert_eq!((code, said.contains("what came before event 3 is not in this file")), (0, true), "{said}");
}

#[test]
fn every_tampering_with_an_export_is_found() {
    let (desk, lines) = exported();
    let tampered = |change: fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        verify(&desk, &lines)
    };
    let changed = tampered(|lines| lines[3] = lines[3].replace("approved", "rejected"));
    assert_eq!(
        (changed.0, changed.1.contains("problem 4: its content does not give its hash")),
        (1, true),
        "{changed:?}"
    );
    let removed = tampered(|lines| drop(lines.remove(1)));
    assert_eq!((removed.0, removed.1.contains("problem 2: event 2 is missing")), (1, true), "{removed:?}");
    let swapped = tampered(|lines| lines.swap(2, 3));
    assert_eq!(swapped.0, 1, "{swapped:?}");
    let garbage = tampered(|lines| lines[2] = "{}".to_owned());
    assert_eq!((garbage.0, garbage.1.contains("problem line 3: is no event")), (1, true), "{garbage:?}");
}

#[test]
fn an_export_can_be_written_to_a_file() {
    let (desk, lines) = exported();
    let file = desk.path().join("log.jsonl");
    desk.say(&["audit", "export", "--out", file.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().collect::<Vec<_>>(), lines);
}
