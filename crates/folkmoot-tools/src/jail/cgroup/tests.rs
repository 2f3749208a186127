use super::*;

const MOUNTS: &str = "\
30 20 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw
31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 30 0:28 /box/7 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";

#[test]
fn our_own_group_is_found_below_each_mount() {
    let found = Groups::located("4:memory:/service\n3:pids:/box/7/service\n2:cpu,cpuacct:/\n0::/", MOUNTS);
    let one = |above: &str| Some(CgroupParent { version: CgroupVersion::One, above: PathBuf::from(above) });
    assert_eq!(found.memory, one("/sys/fs/cgroup/memory/service"));
    assert_eq!(found.processes, one("/sys/fs/cgroup/pids/service"));
    assert_eq!(found.cpu, one("/sys/fs/cgroup/cpu,cpuacct/"));
}

/// Only the files: a kernel that has both versions gives the controllers to the first.
#[test]
fn in_version_2_we_move_aside_and_the_group_of_the_job_gets_the_limits() {
    let fake = tempfile::tempdir().unwrap();
    let above = fake.path().join("service");
    fs::create_dir(&above).unwrap();
    fs::write(above.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
    let mounts = format!("30 20 0:26 / {} rw - cgroup2 cgroup2 rw", fake.path().display());
    let found = Groups::located("0::/service\n", &mounts);
    let place = Some(CgroupParent { version: CgroupVersion::Two, above: above.clone() });
    assert_eq!((&found.memory, &found.processes, &found.cpu), (&place, &place, &place));
    assert_eq!(Groups::located("0::/service/folkmoot-main\n", &mounts), found);

    let group = Group::make(&found, &JailLimits::of(crate::jail::Profile::Code)).unwrap();
    let path = group.processes.clone().unwrap();
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    assert_eq!(read(above.join("cgroup.subtree_control")), "+memory +pids");
    assert_eq!(
        (read(path.join("memory.max")), read(path.join("pids.max"))),
        ((512 << 20).to_string(), "66".to_owned())
    );
    group.add(4711).unwrap();
    assert_eq!(read(path.join("cgroup.procs")), "4711");
    fs::write(path.join("memory.events"), "low 0\noom 2\noom_kill 1\n").unwrap();
    fs::write(path.join("pids.events"), "max 0\n").unwrap();
    fs::write(path.join("cpu.stat"), "usage_usec 1500\nuser_usec 1000\n").unwrap();
    fs::write(path.join("memory.peak"), "4096\n").unwrap();
    let taken = CgroupUsage {
        peak_bytes: Some(4096),
        killed_for_memory: true,
        refused_a_process: false,
        cpu: Some(Duration::from_micros(1500)),
    };
    assert_eq!(group.taken(), taken);
    fs::remove_dir_all(path).unwrap();
}

/// In a container the same program often has the same number again, and then who looks for what the
/// dead have left takes it for the living.
#[test]
fn what_a_program_of_the_same_number_left_behind_is_in_nobodys_way() {
    let fake = tempfile::tempdir().unwrap();
    let place = Some(CgroupParent { version: CgroupVersion::One, above: fake.path().to_owned() });
    for number in 0..100 {
        fs::create_dir(fake.path().join(format!("{PREFIX}{}-{number}", std::process::id()))).unwrap();
    }
    let group = Group::make(&Groups { cpu: place, ..Groups::default() }, &JailLimits::of(crate::jail::Profile::Code));
    assert_eq!(group.unwrap().made.len(), 1);
}

#[test]
fn a_group_outside_of_what_is_mounted_is_not_ours() {
    assert_eq!(Groups::located("3:pids:/../elsewhere", MOUNTS).processes, None);
    assert_eq!(Groups::located("3:pids:/box/8", MOUNTS).processes, None);
    assert_eq!(Groups::located("", "").memory, None);
}
