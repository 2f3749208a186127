use super::*;

#[test]
fn a_list_is_in_order_and_follows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let beneath = Folder::open(folder.path()).unwrap();
    beneath.write("b/c", b"123").unwrap();
    beneath.write("a", b"1").unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
    let entry = |path: &str, kind| Entry { path: path.into(), kind };
    let top = [entry("a", EntryKind::File { bytes: 1 }), entry("b", EntryKind::Folder), entry("link", EntryKind::Link)];
    assert_eq!(beneath.list("").unwrap(), top);
    assert_eq!(beneath.list("").unwrap(), top, "a second time it is the same");
    assert_eq!(beneath.list("b").unwrap(), [entry("b/c", EntryKind::File { bytes: 3 })]);
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
    assert!(beneath.read("", 3).is_err() || beneath.read("", 3).unwrap().is_none());
}
