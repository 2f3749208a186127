//! Full text search over a folder.

use std::{fs, os::unix::fs::symlink, path::Path};

use folkmoot_tools::retrieval::{Index, IndexReport, RetrievalError, RetrievalLimits, SkipReason, SkippedFile};

fn write(folder: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn paths(index: &Index, query: &str) -> Vec<String> {
    index
        .search(query, 10)
        .unwrap()
        .into_iter()
        .map(|hit| format!("{}:{}-{}", hit.path, hit.lines.0, hit.lines.1))
        .collect()
}

#[test]
fn what_is_written_is_found_with_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let code: String =
        (1..=50).map(|n| if n == 42 { "fn parse_duration() {}\n".into() } else { format!("// {n}\n") }).collect();
    write(folder.path(), "src/time.rs", &code);
    write(folder.path(), "README.md", "# How durations are written\n\nÜber alles.\n");
    let mut index = Index::in_memory().unwrap();
    let indexed = index.update(folder.path(), &RetrievalLimits::default()).unwrap();
    assert_eq!(indexed, IndexReport { files: 2, unchanged: 0, skipped: vec![] });

    assert_eq!(paths(&index, "parse_duration"), ["src/time.rs:31-50", "README.md:1-3"]);
    assert_eq!(paths(&index, "how are durations written?"), ["README.md:1-3"]);
    assert_eq!(paths(&index, "UBER"), ["README.md:1-3"]);
    assert_eq!(paths(&index, "time.rs"), ["src/time.rs:31-50", "src/time.rs:1-30"]);
    assert_eq!(paths(&index, "nowhere"), Vec::<String>::new());
    let hit = &index.search("parse_duration", 1).unwrap()[0];
    assert!(hit.text.contains("fn parse_duration() {}\n") && hit.score > 0.0, "{hit:?}");
}

#[test]
fn no_query_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.txt", "alpha AND beta\n");
    let mut index = Index::in_memory().unwrap();
    index.update(folder.path(), &RetrievalLimits::default()).unwrap();
    let long = "word ".repeat(100_000);
    for query in [
        "",
        "\"",
        "\"\"\"",
        "'",
        "*",
        "a*",
        "(",
        ")",
        "AND",
        "OR OR",
        "NOT",
        "NEAR(",
        "text:",
        "path:x",
        "^a",
        "-a",
        "a-b",
        "+",
        "\0",
        "a\0b",
        "{a b}:c",
        "; DROP TABLE piece",
        "🦀",
        "\u{301}",
        "ﬁ",
        &long,
    ] {
        index.search(query, 10).unwrap();
    }
    assert_eq!(paths(&index, "AND"), ["a.txt:1-1"]);
    assert_eq!(index.search("alpha", 0).unwrap(), []);
    assert_eq!(index.search("alpha", usize::MAX).unwrap().len(), 1);
}

#[test]
fn secrets_links_and_rubbish_are_left_out_and_listed() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "file", "treasure outside\n");
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    for path in [
        ".env",
        "deploy/server.pem",
        "keys/id_ed25519",
        ".ssh/config",
        "target/debug/x",
        "node_modules/x/y.js",
        ".git/config",
    ] {
        write(top, path, "treasure\n");
    }
    write(top, "notes.txt", format!("treasure\n{0}BEGIN PRIVATE KEY{0}\n", "-----"));
    write(top, "image", b"treasure \0");
    write(top, "latin", b"treasure \xe9");
    write(top, "long.txt", "treasure ".repeat(20));
    write(top, "good.txt", "treasure\n");
    symlink(outside.path(), top.join("folder")).unwrap();
    symlink(outside.path().join("file"), top.join("file")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(top.join("pipe")).status().unwrap().success());

    let mut index = Index::in_memory().unwrap();
    let indexed = index.update(top, &RetrievalLimits { file_bytes: 100, ..RetrievalLimits::default() }).unwrap();
    assert_eq!(paths(&index, "treasure"), ["good.txt:1-1"]);
    let skipped = |path: &str, reason| SkippedFile { path: path.into(), reason };
    assert_eq!(
        indexed.skipped,
        [
            skipped(".env", SkipReason::Secret),
            skipped(".git", SkipReason::Generated),
            skipped(".ssh", SkipReason::Secret),
            skipped("deploy/server.pem", SkipReason::Secret),
            skipped("file", SkipReason::Link),
            skipped("folder", SkipReason::Link),
            skipped("image", SkipReason::Binary),
            skipped("keys/id_ed25519", SkipReason::Secret),
            skipped("latin", SkipReason::Binary),
            skipped("long.txt", SkipReason::TooLarge),
            skipped("node_modules", SkipReason::Generated),
            skipped("notes.txt", SkipReason::Secret),
            skipped("pipe", SkipReason::Special),
            skipped("target", SkipReason::Generated),
        ]
    );
}

#[test]
fn there_is_an_end_to_what_is_taken_in() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..10 {
        write(folder.path(), &format!("f{number}"), "0123456789");
    }
    write(folder.path(), "a/b/c/d", "deep");
    let count = |limits: RetrievalLimits| {
        let indexed = Index::in_memory().unwrap().update(folder.path(), &limits).unwrap();
        (indexed.files, indexed.skipped.iter().filter(|skipped| skipped.reason == SkipReason::TooMuch).count())
    };
    assert_eq!(count(RetrievalLimits { files: 3, ..RetrievalLimits::default() }), (3, 8));
    assert_eq!(count(RetrievalLimits { total_bytes: 45, ..RetrievalLimits::default() }), (5, 6));
    assert_eq!(count(RetrievalLimits { depth: 2, ..RetrievalLimits::default() }), (10, 1));
}

#[test]
fn an_index_in_a_file_reads_only_what_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let file = tempfile::tempdir().unwrap();
    let open = || Index::in_file(&file.path().join("index")).unwrap();
    write(folder.path(), "a", "alpha\n");
    write(folder.path(), "b", "beta\n");
    write(folder.path(), "c", "gamma\n");
    assert_eq!(open().update(folder.path(), &RetrievalLimits::default()).unwrap().unchanged, 0);
    write(folder.path(), "b", "changed beta\n");
    write(folder.path(), ".env", "alpha\n");
    fs::remove_file(folder.path().join("c")).unwrap();
    let mut index = open();
    let indexed = index.update(folder.path(), &RetrievalLimits::default()).unwrap();
    assert_eq!((indexed.files, indexed.unchanged), (2, 1));
    assert_eq!(paths(&index, "alpha"), ["a:1-1"]);
    assert_eq!(paths(&index, "beta changed"), ["b:1-1"]);
    assert_eq!(paths(&index, "gamma"), Vec::<String>::new());
    // What has become a secret is gone as well.
    fs::rename(folder.path().join("a"), folder.path().join("a.pem")).unwrap();
    index.update(folder.path(), &RetrievalLimits::default()).unwrap();
    assert_eq!(paths(&index, "alpha"), Vec::<String>::new());
}

#[test]
fn the_order_is_always_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["c", "a", "b"] {
        write(folder.path(), name, "the same words\n");
    }
    let mut index = Index::in_memory().unwrap();
    index.update(folder.path(), &RetrievalLimits::default()).unwrap();
    for _ in 0..3 {
        assert_eq!(paths(&index, "same"), ["a:1-1", "b:1-1", "c:1-1"]);
    }
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let error =
        Index::in_memory().unwrap().update(Path::new("/nowhere/at/all"), &RetrievalLimits::default()).unwrap_err();
    assert!(matches!(error, RetrievalError::Folder { .. }), "{error}");
}
