//! Tests what this machine can confine a job with.

use std::collections::BTreeMap;

use super::{Driver, Helper, Inmate, Jail, JailError, JailJob, JobReport, ProgramLanguage};
#[cfg(target_os = "linux")]
use super::{JobEnd, Profile, cgroup::Groups, run, wire::Facts};

/// The driver and features of a jail.
#[derive(Debug)]
pub(crate) struct JailWalls {
    #[cfg(target_os = "linux")]
    helper: Option<Helper>,
    driver: Driver,
    /// Why each driver that was tried does not work.
    why: String,
    #[cfg(target_os = "linux")]
    groups: Groups,
    #[cfg(target_os = "linux")]
    facts: Facts,
    /// The tool chains that were found.
    pub(super) languages: tokio::sync::Mutex<BTreeMap<ProgramLanguage, super::ToolChain>>,
}

impl JailWalls {
    pub(super) fn none(why: String) -> Self {
        Self {
            #[cfg(target_os = "linux")]
            helper: None,
            driver: Driver::Refuse,
            why,
            #[cfg(target_os = "linux")]
            groups: Groups::default(),
            #[cfg(target_os = "linux")]
            facts: Facts::default(),
            languages: tokio::sync::Mutex::default(),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) async fn find(_: Helper, _: &[Driver]) -> Self {
        Self::none("only Linux can hold jobs; run Folkmoot in a Linux machine or container".to_owned())
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) async fn run(&self, _: JailJob) -> Result<JobReport, JailError> {
        Err(JailError::NoJail(self.why.clone()))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) async fn start(&self, _: JailJob) -> Result<Inmate, JailError> {
        Err(JailError::NoJail(self.why.clone()))
    }

    #[cfg(target_os = "linux")]
    pub(super) async fn start(&self, job: JailJob) -> Result<Inmate, JailError> {
        match &self.helper {
            Some(helper) => run::start(helper, self.driver, &self.groups, job).await,
            None => Err(JailError::NoJail(self.why.clone())),
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) async fn find(helper: Helper, drivers: &[Driver]) -> Self {
        let groups = Groups::find();
        let mut reasons = Vec::new();
        for driver in drivers.iter().copied().filter(|driver| *driver != Driver::Refuse) {
            let harmless = JailJob::new(Profile::Code, ["true"]);
            match run::run(&helper, driver, &groups, harmless).await {
                Ok((JobReport { end: JobEnd::Exited(0), .. }, facts)) => {
                    let languages = tokio::sync::Mutex::default();
                    return Self { helper: Some(helper), driver, why: String::new(), groups, facts, languages };
                }
                Ok((report, _)) => reasons.push(format!("{driver}: `true` ended with {:?}", report.end)),
                Err(
                    JailError::NoJail(why) | JailError::Missing(why) | JailError::Invalid(why) | JailError::Failed(why),
                ) => {
                    reasons.push(format!("{driver}: {why}"));
                }
            }
        }
        reasons.extend(advice());
        Self::none(reasons.join("; "))
    }

    #[cfg(target_os = "linux")]
    pub(super) async fn run(&self, job: JailJob) -> Result<JobReport, JailError> {
        match &self.helper {
            Some(helper) => run::run(helper, self.driver, &self.groups, job).await.map(|(report, _)| report),
            None => Err(JailError::NoJail(self.why.clone())),
        }
    }

    pub(super) fn driver(&self) -> Driver {
        self.driver
    }
}

/// Common causes and remedies.
#[cfg(target_os = "linux")]
fn advice() -> Vec<String> {
    let setting = |path: &str| std::fs::read_to_string(path).ok().map(|value| value.trim().to_owned());
    let mut advice = Vec::new();
    if setting("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
        advice.push(
            "user.max_user_namespaces is 0, which forbids user namespaces; set it to a few thousand with sysctl"
                .to_owned(),
        );
    }
    if setting("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        advice.push("kernel.unprivileged_userns_clone is 0; set it to 1 with sysctl".to_owned());
    }
    if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        advice.push(
            "AppArmor restricts user namespaces; install bubblewrap with its profile, or set \
             kernel.apparmor_restrict_unprivileged_userns to 0 with sysctl"
                .to_owned(),
        );
    }
    let filtered = setting("/proc/self/status")
        .is_some_and(|status| status.lines().any(|line| line.starts_with("Seccomp:") && !line.ends_with('0')));
    if filtered {
        advice.push(
            "this process is itself under a filter of system calls, as in a container; start the container with one that \
             allows user namespaces and mounts (for Docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined)"
                .to_owned(),
        );
    }
    advice
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub driver: Driver,
    /// Why every job is refused, if so.
    pub refusal: Option<String>,
    pub features: Vec<Feature>,
    pub languages: Vec<LanguageFound>,
}

/// A feature that confines a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    pub name: &'static str,
    pub ok: bool,
    /// Its state, and if it is missing what to do.
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageFound {
    pub language: ProgramLanguage,
    /// The tool chain's version, or how to install it.
    pub version: Result<String, String>,
}

pub(super) async fn describe(jail: &Jail) -> Description {
    let driver = jail.driver();
    if driver == Driver::Refuse {
        let refusal = Some(jail.walls.why.clone());
        return Description { driver, refusal, features: Vec::new(), languages: Vec::new() };
    }
    let mut languages = Vec::new();
    for language in ProgramLanguage::ALL.iter().copied() {
        let found = jail.tool_chain(language).await;
        let version = found.map(|chain| chain.version).map_err(|error| error.to_string());
        languages.push(LanguageFound { language, version });
    }
    Description { driver, refusal: None, features: features(jail), languages }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn features(_: &Jail) -> Vec<Feature> {
    Vec::new()
}

#[cfg(target_os = "linux")]
pub(super) fn features(jail: &Jail) -> Vec<Feature> {
    if jail.driver() == Driver::Refuse {
        return Vec::new();
    }
    let JailWalls { groups, facts, .. } = jail.walls.as_ref();
    let feature = |name, ok, detail: &str| Feature { name, ok, detail: detail.to_owned() };
    let counted = groups.counts_memory() && groups.counts_processes() && groups.counts_cpu();
    let mut cgroups = groups.describe();
    if !counted {
        cgroups.push_str("; to have the kernel count, run Folkmoot in a control group of its own that it may divide, as systemd gives with Delegate=yes");
    }
    if let Some(why) = groups.why.as_ref().filter(|_| !counted) {
        cgroups.push_str(&format!(" ({why})"));
    }
    vec![
        feature(
            "user namespaces",
            true,
            "each job runs as a user of its own that exists nowhere else, without any capability",
        ),
        match facts.landlock.as_str() {
            "full" => feature("landlock", true, "fully enforced"),
            "partial" => feature(
                "landlock",
                true,
                "enforced as far as this kernel knows it; Linux 6.12 knows all that is asked of it",
            ),
            _ => feature(
                "landlock",
                false,
                "this kernel has none; Linux 5.13 or later, with landlock among its security modules, has it",
            ),
        },
        feature("seccomp", facts.seccomp, "system calls are filtered"),
        match facts.proc {
            true => feature("proc", true, "a job sees its own processes in /proc"),
            false => feature(
                "proc",
                false,
                "a job has no /proc, because this container hides parts of its own (for Docker: --security-opt systempaths=unconfined)",
            ),
        },
        feature("cgroups", counted, &cgroups),
        match jail.network {
            true => feature("network", true, "allowed for jobs of the profile agent"),
            false => feature("network", true, "no job has it"),
        },
    ]
}
