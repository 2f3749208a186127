//! What goes in, and what comes out.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::Path,
};

use folkmoot_tools::jail::{JailError, JailJob, JobEnd, Limit, Profile, Readable};

use super::{is_root, jail, run, said, sh, text};

#[tokio::test]
async fn files_and_input_go_in_and_what_is_kept_comes_out() {
    let mut job = sh("cat a b/c/d; cat; tr a-z A-Z < a > out/e 2>/dev/null || (mkdir out; tr a-z A-Z < a > out/e)");
    job.files = vec![("a".to_owned(), b"one ".to_vec()), ("b/c/d".to_owned(), vec![0xff, b'\n'])];
    job.stdin = b"two\n".repeat(100_000);
    job.keep = vec!["out/e".to_owned(), "a".to_owned(), "not/there".to_owned()];
    let report = run(job.clone()).await;
    assert_eq!(report.end, JobEnd::Exited(0));
    assert_eq!(report.stdout, [b"one \xff\n".as_slice(), &job.stdin].concat());
    assert_eq!(
        report.kept.into_iter().collect::<Vec<_>>(),
        [("a".to_owned(), b"one ".to_vec()), ("out/e".to_owned(), b"ONE ".to_vec())]
    );
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_refused() {
    for name in [
        "",
        "/etc/passwd",
        "../a",
        "a/../../b",
        "a/./b",
        "a//b",
        "a/",
        ".",
        "a\0b",
        &"x".repeat(300),
        &"x/".repeat(100),
    ] {
        for job in [
            JailJob { files: vec![(name.to_owned(), Vec::new())], ..sh("true") },
            JailJob { keep: vec![name.to_owned()], ..sh("true") },
        ] {
            assert!(matches!(jail().await.run(job).await, Err(JailError::Invalid(_))), "{name:?}");
        }
    }
    let files = |names: &[&str]| JailJob {
        files: names.iter().map(|name| ((*name).to_owned(), Vec::new())).collect(),
        ..sh("true")
    };
    for names in [["a", "a"], ["a", "a/b"], ["a/b", "a"]] {
        assert!(matches!(jail().await.run(files(&names)).await, Err(JailError::Invalid(_))), "{names:?}");
    }
    assert!(matches!(jail().await.run(JailJob { command: Vec::new(), ..sh("") }).await, Err(JailError::Invalid(_))));
    assert!(matches!(jail().await.run(JailJob::new(Profile::Code, ["a\0b"])).await, Err(JailError::Invalid(_))));
}

#[tokio::test]
async fn nothing_but_plain_files_is_kept() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("canary"), "sing").unwrap();
    let canary = outside.path().join("canary");
    let mut job = sh(&format!(
        "ln -s /etc/passwd link; ln -s {} away; ln -s / root; mkfifo pipe; mkdir folder; ln -s /proc/self/environ proc; echo fine > plain; ln plain hard; head -c 100 /dev/zero > long",
        canary.display()
    ));
    job.keep = ["link", "away", "root/etc/passwd", "pipe", "folder", "proc", "plain", "hard", "long"]
        .map(str::to_owned)
        .to_vec();
    job.limits.output_bytes = 10;
    let report = run(job).await;
    assert_eq!(report.end, JobEnd::Exited(0), "{}", text(&report.stderr));
    let kept = report.kept.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect::<Vec<_>>();
    assert_eq!(kept, [("hard", b"fine\n".as_slice()), ("long", &[0; 10]), ("plain", b"fine\n")]);
}

fn project(folder: &Path, script: &str) -> JailJob {
    JailJob { profile: Profile::Project, folder: Some(folder.to_owned()), ..sh(script) }
}

/// A folder as a project has it, with a settings folder of git.
fn worktree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("old", "old"),
        ("gone", "gone"),
        ("tool", "#!/bin/sh\necho ran\n"),
        (".git/config", "safe"),
        ("deep/er/file", "deep"),
    ] {
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), content).unwrap();
    }
    fs::set_permissions(folder.path().join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("old", folder.path().join("link")).unwrap();
    folder
}

const CHANGES: &str = "./tool; cat link; echo new > old; rm gone; rm -r deep; mkdir -p more; echo more > more/file; \
    (echo evil > .git/config) 2>/dev/null; (echo evil > .git/hook) 2>/dev/null; true";

#[tokio::test]
async fn a_project_is_worked_on_where_it_is() {
    let folder = worktree();
    if is_root() {
        // Whom it belongs to is who works on it.
        for entry in ["", "old", "gone", "tool", ".git", ".git/config", "deep", "deep/er", "deep/er/file"] {
            chown(folder.path().join(entry), Some(1_888_888_888), Some(1_888_888_888)).unwrap();
        }
    }
    let said = said(project(folder.path(), &format!("{CHANGES}; id -u"))).await;
    assert_eq!(said, "ran\nold1000\n");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(
        (read("old"), read("more/file"), read(".git/config")),
        ("new\n".to_owned(), "more\n".to_owned(), "safe".to_owned())
    );
    assert!(
        !folder.path().join("gone").exists()
            && !folder.path().join("deep").exists()
            && !folder.path().join(".git/hook").exists()
    );
}

#[tokio::test]
async fn a_file_that_is_there_already_is_not_overwritten_by_one_that_is_brought() {
    let folder = worktree();
    let big = vec![7; 1 << 20];
    let files = ["first", "old", "third"].map(|name| (name.to_owned(), big.clone())).to_vec();
    let refused = jail().await.run(JailJob { files, ..project(folder.path(), "true") }).await;
    assert!(matches!(&refused, Err(JailError::Invalid(why)) if why.contains("\"old\"")), "{refused:?}");
    assert_eq!(fs::read_to_string(folder.path().join("old")).unwrap(), "old");
}

#[tokio::test]
async fn a_project_of_root_is_copied_and_what_has_changed_comes_back() {
    if !is_root() {
        // Only root can have it so.
        return;
    }
    let folder = worktree();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("victim"), "safe").unwrap();
    let script = format!("{CHANGES}; ln -s /etc/passwd evil; mkfifo pipe; echo x > .GIT; chmod 000 more; chmod +x old");
    assert_eq!(said(project(folder.path(), &script)).await, "ran\nold");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(
        (read("old"), read("more/file"), read(".git/config"), read("link")),
        ("new\n".to_owned(), "more\n".to_owned(), "safe".to_owned(), "new\n".to_owned())
    );
    let mut names = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect::<Vec<_>>();
    names.sort_unstable();
    assert_eq!(names, [".git", "link", "more", "old", "tool"]);
    assert_eq!(fs::read_dir(folder.path().join(".git")).unwrap().count(), 1);
    assert_eq!(fs::metadata(folder.path().join("old")).unwrap().permissions().mode() & 0o777, 0o755);

    // A link that leads away, and that the job makes a folder of.
    symlink(elsewhere.path(), folder.path().join("out")).unwrap();
    let tries = "rm out; mkdir out; echo evil > out/victim";
    assert_eq!(said(project(folder.path(), tries)).await, "");
    assert_eq!(fs::read_to_string(elsewhere.path().join("victim")).unwrap(), "safe");
    assert_eq!(read("out/victim"), "evil\n");
    assert!(!fs::symlink_metadata(folder.path().join("out")).unwrap().is_symlink());
}

#[tokio::test]
async fn what_a_job_only_closes_to_itself_is_not_gone() {
    if !is_root() {
        return;
    }
    // A folder that can be listed and not entered, one that can be entered and not listed, and one
    // that is shut.
    for mode in ["400", "600", "300", "100", "000"] {
        let folder = worktree();
        assert_eq!(
            said(project(folder.path(), &format!("echo new > deep/er/new; chmod {mode} deep/er deep"))).await,
            ""
        );
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        assert_eq!((read("deep/er/file"), read("deep/er/new")), ("deep".to_owned(), "new\n".to_owned()), "{mode}");
    }
}

#[tokio::test]
async fn what_comes_back_is_no_longer_than_what_may_be_written() {
    if !is_root() {
        return;
    }
    // Files with nothing in them, and one file with many names: little inside, and much outside.
    for script in [
        "for i in 1 2 3 4 5 6; do truncate -s 3000000 hole$i; done",
        "head -c 3000000 /dev/zero > file; for i in 1 2 3 4 5 6; do ln file name$i; done",
    ] {
        let folder = worktree();
        let mut job = project(folder.path(), &format!("echo new > old; {script}"));
        job.limits.disk_bytes = 8 << 20;
        let report = run(job).await;
        assert_eq!(report.end, JobEnd::Limited(Limit::Disk), "{}", text(&report.stderr));
        assert!(report.reached.contains(&Limit::Disk));
        assert_eq!(fs::read_to_string(folder.path().join("old")).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6);
    }
}

#[tokio::test]
async fn a_file_comes_back_whatever_its_name_and_as_private_as_it_was() {
    if !is_root() {
        return;
    }
    let folder = worktree();
    let long = "n".repeat(255);
    fs::write(folder.path().join("private"), "old").unwrap();
    fs::set_permissions(folder.path().join("private"), fs::Permissions::from_mode(0o600)).unwrap();
    let script = format!("echo long > {long}; echo new > private; echo new > old.folkmoot-new; chmod +x old");
    assert_eq!(said(project(folder.path(), &script)).await, "");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (read(&long), read("private"), read("old.folkmoot-new")),
        ("long\n".into(), "new\n".into(), "new\n".into())
    );
    assert_eq!((mode("private"), mode("old"), mode("tool"), mode(&long)), (0o600, 0o755, 0o755, 0o644));
}

#[tokio::test]
async fn a_link_in_place_of_gits_folder_leads_nowhere() {
    // From the folder, what lies beside it; from the jail's folder, the jail's own `/tmp` or
    // `/etc`.
    let beside = tempfile::tempdir().unwrap();
    fs::set_permissions(beside.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["tmp", "etc", "project"] {
        fs::create_dir(beside.path().join(name)).unwrap();
    }
    fs::write(beside.path().join("tmp/canary"), "sing").unwrap();
    fs::write(beside.path().join("etc/canary"), "sing").unwrap();
    let folder = beside.path().join("project");
    if is_root() {
        chown(&folder, Some(1_888_888_888), Some(1_888_888_888)).unwrap();
    }
    for target in ["../tmp", "../etc"] {
        let link = folder.join(".git");
        symlink(target, &link).unwrap();
        assert_eq!(said(project(&folder, "cat /tmp/canary /etc/canary .git/canary; true")).await, "", "{target}");
        fs::remove_file(link).unwrap();
    }
}

#[tokio::test]
async fn what_a_job_may_read_is_there_and_stays_as_it_is() {
    let cache = tempfile::tempdir().unwrap();
    fs::create_dir(cache.path().join("sub")).unwrap();
    fs::write(cache.path().join("sub/file"), "cached").unwrap();
    if is_root() {
        // Where only root can go; bwrap, which is not root any more, cannot.
        let closed = if super::driver() == folkmoot_tools::jail::Driver::Namespaces { 0o700 } else { 0o755 };
        fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let above = tempfile::tempdir().unwrap();
        fs::set_permissions(above.path(), fs::Permissions::from_mode(closed)).unwrap();
        fs::rename(cache.path(), above.path().join("cache")).unwrap();
        reading(&above.path().join("cache")).await;
    } else {
        reading(cache.path()).await;
    }
}

async fn reading(cache: &Path) {
    let mut job =
        sh("cat /opt/cache/sub/file; (echo x > /opt/cache/new) 2>/dev/null; (rm -r /opt/cache/sub) 2>/dev/null; true");
    job.readable = vec![Readable { host: cache.to_owned(), inside: "/opt/cache".into() }];
    assert_eq!(said(job).await, "cached");
    assert!(cache.join("sub/file").exists() && !cache.join("new").exists());
}

#[tokio::test]
async fn the_jails_own_places_cannot_be_given_away() {
    for inside in ["/", "/etc", "/etc/x", "/proc/x", "/usr/bin", "/job/x", "relative", "/opt", "/opt/../etc/x"] {
        let readable = vec![Readable { host: "/usr".into(), inside: inside.into() }];
        assert!(
            matches!(jail().await.run(JailJob { readable, ..sh("true") }).await, Err(JailError::Invalid(_))),
            "{inside}"
        );
    }
    let nested =
        ["/opt/a", "/opt/a/b"].map(|inside| Readable { host: "/usr/share".into(), inside: inside.into() }).to_vec();
    assert!(matches!(jail().await.run(JailJob { readable: nested, ..sh("true") }).await, Err(JailError::Invalid(_))));
    let nowhere = vec![Readable { host: "/no/such/place".into(), inside: "/opt/x".into() }];
    let missing = jail().await.run(JailJob { readable: nowhere, ..sh("true") }).await;
    assert!(
        matches!(&missing, Err(JailError::Missing(why) | JailError::Failed(why)) if !why.is_empty()),
        "{missing:?}"
    );
    let folder = JailJob { folder: Some("/usr".into()), ..sh("true") };
    assert!(matches!(jail().await.run(folder).await, Err(JailError::Invalid(_))));
}
