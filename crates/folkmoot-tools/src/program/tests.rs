use std::os::unix::fs::symlink;

use super::*;
use crate::jail::Profile;

fn job() -> JailJob {
    JailJob::new(Profile::Project, ["true"])
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What is lent and executed for a program in a folder; no jail is needed to say so.
async fn lent(program: &Path) -> Result<(Vec<String>, Vec<Readable>), String> {
    let mut job = job();
    let command = lend(&Jail::refuse("not asked"), program.to_str().unwrap(), &mut job).await;
    command.map(|command| (command, job.readable)).map_err(|error| error.to_string())
}

#[tokio::test]
async fn what_belongs_to_a_program_is_lent_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(folder.path()).unwrap();
    let venv = top.join("venv");
    write(&venv.join("pyvenv.cfg"), "home = /usr/bin\n");
    write(&venv.join("bin/tool"), "#!/anywhere/python3\n");
    symlink("/usr/bin/env", venv.join("bin/python3")).unwrap();
    fs::create_dir(top.join("links")).unwrap();
    symlink(venv.join("bin/tool"), top.join("links/tool")).unwrap();
    let (command, readable) = lent(&top.join("links/tool")).await.unwrap();
    // Below /tmp a job has its own files, so that it is somewhere else there.
    assert_eq!(readable.len(), 1);
    assert_eq!(readable[0].host, venv);
    let inside = readable[0].inside.join("bin");
    assert_eq!(command, [inside.join("python3"), inside.join("tool")].map(|path| path.to_str().unwrap().to_owned()));

    write(&top.join("home/.local/bin/tool"), "#!/usr/bin/python3\n");
    assert!(lent(&top.join("home/.local/bin/tool")).await.unwrap_err().contains("install it in one"));
    write(&top.join("home/bin/wrapped"), "#!/usr/bin/env bash\nexec x\n");
    assert!(lent(&top.join("home/bin/wrapped")).await.unwrap_err().contains("a script for `bash`"));
    write(&top.join("home/bin/binary"), "\u{7f}ELF");
    let (command, readable) = lent(&top.join("home/bin/binary")).await.unwrap();
    assert_eq!(command, ["/opt/program/binary/binary"]);
    assert_eq!(readable[0].host, top.join("home/bin/binary"), "that one file");
    assert!(lent(&top.join("home/bin/missing")).await.unwrap_err().contains("is not installed"));
    assert_eq!(lent(Path::new("/usr/bin/env")).await, Ok((vec!["/usr/bin/env".to_owned()], Vec::new())));
}

#[tokio::test]
async fn what_rustup_stands_for_is_not_started_to_find_out() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("rustup"), "\u{7f}ELF");
    symlink("rustup", folder.path().join("rust-analyzer")).unwrap();
    let why = lent(&folder.path().join("rust-analyzer")).await.unwrap_err();
    assert!(!why.contains("cannot be used"), "the tool chain is asked for, in the jail: {why}");
}
