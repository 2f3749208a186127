use super::*;

#[test]
fn a_name_that_somebody_took_meanwhile_is_not_taken_from_them() {
    for rename in [without_replacing, link_and_remove] {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("backup.db.half"), folder.path().join("backup.db"));
        fs::write(&from, "ours").unwrap();
        fs::write(&to, "theirs").unwrap();
        assert_eq!(rename(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&to).unwrap(), "theirs");
        fs::remove_file(&to).unwrap();
        rename(&from, &to).unwrap();
        assert_eq!((fs::read_to_string(&to).unwrap().as_str(), from.exists()), ("ours", false));
    }
}

#[test]
fn what_was_left_behind_is_replaced_and_neither_followed_nor_shared() {
    let folder = tempfile::tempdir().unwrap();
    let (target, half) = (folder.path().join("backup.db"), folder.path().join("backup.db.half"));
    let precious = folder.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink(&precious, &half).unwrap();
    drop(PartialFile::begin(&target).unwrap());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");

    let mut held = File::create(&half).unwrap();
    let begun = PartialFile::begin(&target).unwrap();
    assert!(matches!(PartialFile::begin(&target), Err(BackupError::Busy(_))), "one at a time");
    io::Write::write_all(&mut held, b"by somebody else").unwrap();
    assert_eq!(fs::read(&half).unwrap(), b"");
    fs::write(&target, "it came meanwhile").unwrap();
    assert!(matches!(begun.rename_to_new(&target), Err(BackupError::Exists(path)) if path == target));
    assert_eq!(fs::read_to_string(&target).unwrap(), "it came meanwhile");
    drop(begun);
    assert!(!half.exists());
}
