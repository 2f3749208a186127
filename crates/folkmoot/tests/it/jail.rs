//! The jail whose inside is the real executable, with its own allocator.

use folkmoot_server::workflows::tools::{
    Jail, JailJob, JailLimits, JobEnd, Profile,
    jail::{Driver, Helper},
};

#[tokio::test]
async fn programs_are_executed_within_little_memory() {
    let helper = Helper::folkmoot(env!("CARGO_BIN_EXE_folkmoot"));
    let mut jails = vec![Jail::probe_driver(helper.clone(), Driver::Namespaces).await];
    assert_eq!(jails[0].driver(), Driver::Namespaces, "{:?}", jails[0].describe().await.refusal);
    jails.push(Jail::probe_driver(helper, Driver::Bubblewrap).await);
    for jail in jails.iter().filter(|jail| jail.driver() != Driver::Refuse) {
        // By its name and by its path: std starts the two in different ways.
        for program in ["echo", "/bin/echo"] {
            let limits = JailLimits { memory_bytes: 64 << 20, ..JailLimits::of(Profile::Code) };
            let job = JailJob { limits, ..JailJob::new(Profile::Code, [program, "hello"]) };
            let report = jail.run(job).await.unwrap_or_else(|error| panic!("{program} by {}: {error}", jail.driver()));
            assert_eq!((report.end, report.stdout.as_slice()), (JobEnd::Exited(0), &b"hello\n"[..]), "{program}");
        }
    }
}
