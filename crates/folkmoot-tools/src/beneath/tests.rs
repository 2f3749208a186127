use super::*;

#[test]
fn a_list_is_in_order_and_follows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let beneath = Folder::open(folder.path()).unwrap();
    beneath.write("b/c", b"123").unwrap();
    beneath.write("a", b"1").unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
    let list = |path: &str| -> Vec<(String, &str)> {
        let entries = beneath.list(path).unwrap().into_iter();
        let kind = |kind| match kind {
            EntryKind::File { bytes: 1, .. } => "file of 1",
            EntryKind::File { .. } => "file",
            EntryKind::Folder => "folder",
            EntryKind::Link => "link",
            EntryKind::Special | EntryKind::Unreadable => "other",
        };
        entries.map(|entry| (entry.path, kind(entry.kind))).collect()
    };
    let top = [("a".to_owned(), "file of 1"), ("b".to_owned(), "folder"), ("link".to_owned(), "link")];
    assert_eq!(list(""), top);
    assert_eq!(list(""), top, "a second time it is the same");
    assert_eq!(list("b"), [("b/c".to_owned(), "file")]);
    assert!(beneath.list("link").is_err());
    assert!(beneath.read("link/passwd", 10).is_err());
}

#[test]
fn what_is_read_has_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let beneath = Folder::open(folder.path()).unwrap();
    beneath.write("a", b"12345").unwrap();
    assert_eq!(beneath.read("a", 3).unwrap().unwrap(), b"123");
    assert_eq!(beneath.read("missing/a", 3).unwrap(), None);
}
