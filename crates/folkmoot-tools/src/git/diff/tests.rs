use super::*;

#[test]
fn every_kind_of_change_is_read() {
    let answer = ":100644 100644 1 2 M\0a\0:100644 100644 1 2 R087\0old name\0:new\0:100644 000000 1 0 D\0gone\0\
                  :100644 120000 1 2 T\0link\0:000000 100644 0 1 A\0caf\u{e9}\0\
                  1\t2\ta\x003\t0\t\0old name\0:new\x000\t9\tgone\x001\t1\tlink\0-\t-\tcaf\u{e9}\0";
    let file = |path: &str, was: Option<&str>, change, lines| ChangedFile {
        path: path.into(),
        was: was.map(Into::into),
        change,
        lines,
    };
    assert_eq!(
        files_of(answer.as_bytes()).unwrap(),
        [
            file("a", None, Change::Modified, Some((1, 2))),
            file(":new", Some("old name"), Change::Renamed, Some((3, 0))),
            file("gone", None, Change::Deleted, Some((0, 9))),
            file("link", None, Change::Retyped, Some((1, 1))),
            file("café", None, Change::Added, None),
        ]
    );
    assert_eq!(files_of(b""), Some(Vec::new()));
}

#[test]
fn what_makes_no_sense_is_not_read_as_nothing() {
    for answer in ["x", ":100644 100644 1 2 M\0a\0", ":100644 100644 1 2 ?\0a\x001\t1\ta\0", ":\0"] {
        assert_eq!(files_of(answer.as_bytes()), None, "{answer:?}");
    }
}

#[test]
fn parsers_of_any_list_of_changes_do_not_panic() {
    let answer = ":100644 100644 1 2 M\0a\0:100644 100644 1 2 R087\0old name\0:new\0:100644 000000 1 0 D\0gone\0\
                  1\t2\ta\x003\t0\t\0old name\0:new\x000\t9\tgone\0";
    assert!(files_of(answer.as_bytes()).is_some_and(|files| files.len() == 3));
    folkmoot_mangle::check("git's list of changes", &[answer], |bytes| drop(files_of(bytes)));
}
