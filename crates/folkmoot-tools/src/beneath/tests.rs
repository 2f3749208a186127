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
            DirEntryKind::File { bytes: 1, .. } => "file of 1",
            DirEntryKind::File { .. } => "file",
            DirEntryKind::Folder => "folder",
            DirEntryKind::Link => "link",
            DirEntryKind::Special | DirEntryKind::Unreadable => "other",
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

#[test]
fn a_file_is_replaced_whole_and_what_is_in_the_way_is_not_followed() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let beneath = Folder::open(folder.path()).unwrap();
    let kept = outside.path().join("kept");
    std::fs::write(&kept, "as it was").unwrap();
    std::os::unix::fs::symlink(&kept, folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("away")).unwrap();

    assert!(beneath.file("link").unwrap().is_none() && beneath.file("away/kept").unwrap().is_none());
    assert!(beneath.create("link", false).is_err() && beneath.create("away/new", false).is_err());
    assert!(beneath.make_folder("away/new").is_err() && beneath.link("away/new", "x").is_err());
    assert!(beneath.remove_entry("away/kept").is_err());
    beneath.replace("link", true, |file| file.write_all(b"new")).unwrap();
    assert_eq!(beneath.read("link", 10).unwrap().unwrap(), b"new");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "as it was");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);

    let failed = beneath
        .replace("link", false, |file| file.write_all(b"half").and_then(|()| Err(io::ErrorKind::UnexpectedEof.into())));
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(beneath.read("link", 10).unwrap().unwrap(), b"new");
    assert_eq!(beneath.list("").unwrap().len(), 2, "nothing of the half is left");
}

#[test]
fn an_entry_goes_whatever_it_is_unless_something_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let beneath = Folder::open(folder.path()).unwrap();
    beneath.make_folder("a/b").unwrap();
    beneath.make_folder("a/b").unwrap();
    beneath.link("a/link", "nowhere").unwrap();
    beneath.create("a/file", false).unwrap();
    assert!(beneath.file("a/b").unwrap().is_none(), "a folder is no file");
    for path in ["a", "a/b", "a/link", "a/file", "a/file", "missing/file"] {
        beneath.remove_entry(path).unwrap();
    }
    assert_eq!(beneath.list("a").unwrap(), []);
    beneath.remove_entry("a").unwrap();
    assert_eq!(beneath.list("").unwrap(), []);
}
