//! The same for everybody: as an unprivileged user, by the other driver, and where there is no jail
//! to be had.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::PathBuf,
    process::Command,
};

use folkmoot_tools::jail::{Driver, Jail, JailError};

use super::{DRIVER, HELPER, helper, is_root, sh, text};

/// This program and its helper where everybody can reach them.
struct Copies {
    folder: tempfile::TempDir,
}

impl Copies {
    fn make() -> Self {
        let folder =
            tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir_in("/tmp").unwrap();
        let copies = Self { folder };
        fs::copy(std::env::current_exe().unwrap(), copies.tests()).unwrap();
        fs::copy(
            std::env::var(HELPER).unwrap_or_else(|_| env!("CARGO_BIN_EXE_folkmoot-jail").to_owned()),
            copies.helper(),
        )
        .unwrap();
        for copy in [copies.tests(), copies.helper()] {
            fs::set_permissions(copy, fs::Permissions::from_mode(0o755)).unwrap();
        }
        copies
    }

    fn tests(&self) -> PathBuf {
        self.folder.path().join("tests")
    }

    fn helper(&self) -> PathBuf {
        self.folder.path().join("helper")
    }

    /// A command as somebody whom no account owns, if we are root and can become somebody.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>, user: User) -> Command {
        let mut command = Command::new(program);
        command.env(HELPER, self.helper()).env("TMPDIR", "/tmp").env("HOME", "/").current_dir("/");
        if is_root() && user == User::Nobody {
            let id = 1_999_000_000 + std::process::id() % 1_000_000;
            command.uid(id).gid(id);
        }
        command
    }

    /// Runs the tests of some modules.
    fn run_tests(&self, driver: Driver, user: User, modules: &[&str]) {
        let modules = modules.iter().map(|module| format!("jail::{module}::"));
        let ended = self.command(self.tests(), user).args(modules).env(DRIVER, driver.word()).output().unwrap();
        let said = text(&ended.stdout);
        assert!(ended.status.success(), "{driver} as {user:?}: {said}{}", text(&ended.stderr));
        let passed = said
            .lines()
            .find_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse::<u32>().ok());
        assert!(passed >= Some(10), "{driver} as {user:?}: {said}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Same,
    Nobody,
}

const ALL: [&str; 6] = ["walls", "files", "limits", "network", "life", "inmate"];

#[test]
fn all_of_it_holds_for_an_unprivileged_user() {
    if !is_root() {
        println!("all other tests have shown it: this is an unprivileged user");
        return;
    }
    Copies::make().run_tests(Driver::Namespaces, User::Nobody, &ALL);
}

#[test]
fn all_of_it_holds_by_bubblewrap() {
    if !Command::new("bwrap").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("NOT TESTED: there is no bwrap here; install the package bubblewrap to test this driver");
        return;
    }
    let copies = Copies::make();
    copies.run_tests(Driver::Bubblewrap, User::Nobody, &ALL);
    if is_root() {
        copies.run_tests(Driver::Bubblewrap, User::Same, &["walls"]);
    }
}

/// Started where user namespaces are forbidden.
#[tokio::test]
#[ignore = "it is no test: other tests start it as a process of its own"]
async fn part_refuses() {
    let jail = Jail::probe(helper()).await;
    assert_eq!(jail.driver(), Driver::Refuse);
    let Err(JailError::NoJail(why)) = jail.run(sh("echo ran")).await else { panic!("it was executed") };
    for part in ["namespaces: a user namespace", "bubblewrap: ", "user.max_user_namespaces is 0"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    let described = jail.describe().await;
    assert_eq!((described.refusal, described.driver), (Some(why), Driver::Refuse));
}

#[test]
fn without_user_namespaces_nothing_is_executed() {
    // A user namespace in which no further one is allowed: the setting is that namespace's own.
    let copies = Copies::make();
    let part =
        "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" --ignored --exact jail::everywhere::part_refuses";
    let ended = copies
        .command("unshare", User::Nobody)
        .args(["--user", "--map-root-user", "sh", "-c", part])
        .arg(copies.tests())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}{}", text(&ended.stdout), text(&ended.stderr));
    assert!(text(&ended.stdout).contains("1 passed"));
}

/// Started where there is something to be in the way.
#[tokio::test]
#[ignore = "it is no test: other tests start it as a process of its own"]
async fn part_holds() {
    let jail = Jail::probe_driver(helper(), Driver::Namespaces).await;
    let report = jail.run(sh("id -u; grep CapEff /proc/self/status")).await.unwrap();
    assert_eq!(text(&report.stdout), "1000\nCapEff:\t0000000000000000\n");
}

#[test]
fn who_is_root_only_by_name_has_a_jail_whatever_is_mounted_in_its_way() {
    let copies = Copies::make();
    fs::create_dir(copies.folder.path().join("mounted")).unwrap();
    let part = "mount -t tmpfs none \"$1/mounted\" && exec \"$0\" --ignored --exact jail::everywhere::part_holds";
    let mut unshare = copies.command("unshare", User::Nobody);
    unshare
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", part])
        .arg(copies.tests())
        .arg(copies.folder.path());
    let ended = unshare.output().unwrap();
    assert!(ended.status.success(), "{}{}", text(&ended.stdout), text(&ended.stderr));
    assert!(text(&ended.stdout).contains("1 passed"));
}

#[tokio::test]
async fn a_jail_that_refuses_says_why() {
    let jail = Jail::refuse("somebody said so");
    assert_eq!(jail.run(sh("true")).await, Err(JailError::NoJail("somebody said so".to_owned())));
}

#[tokio::test]
async fn a_helper_that_is_not_one_makes_no_jail() {
    for program in ["/no/such/helper", "/bin/true", "/bin/cat"] {
        let jail = Jail::probe_driver(folkmoot_tools::jail::Helper::at(program), Driver::Namespaces).await;
        assert_eq!(jail.driver(), Driver::Refuse, "{program}");
    }
}

#[tokio::test]
async fn what_holds_is_described_for_people() {
    let described = super::jail().await.describe().await;
    let names = described.features.iter().map(|feature| feature.name).collect::<Vec<_>>();
    assert_eq!(names, ["user namespaces", "landlock", "seccomp", "proc", "cgroups", "network"]);
    assert_eq!((described.driver, described.refusal), (super::driver(), None));
    assert_eq!(described.languages.len(), 5);
    assert!(described.features.iter().filter(|feature| !feature.ok).all(|feature| feature.detail.len() > 20));
}
