use folkmoot_tools::jail::*;
#[tokio::test]
async fn first() {
    let jail = Jail::probe_driver(Helper::at(env!("CARGO_BIN_EXE_folkmoot-jail")), Driver::Namespaces).await;
    println!("{:#?}", jail.describe().await);
    let t = std::time::Instant::now();
    let r = jail.run(Job::new(Profile::Code, ["sh", "-c", "id; cat /proc/self/status | grep -E 'Cap|NoNew|Secc'; cat /proc/self/uid_map; ls -la / /job /dev /etc; ps aux; env; ls -l /proc/self/fd; cat /proc/self/mountinfo; ip a"])).await;
    println!("{:?}", t.elapsed());
    match r {
        Ok(r) => println!(
            "{:?} {:?} {:?} {:?}\n{}\n{}",
            r.end,
            r.cpu,
            r.wall,
            r.peak_memory_bytes,
            String::from_utf8_lossy(&r.stdout),
            String::from_utf8_lossy(&r.stderr)
        ),
        Err(e) => println!("{e}"),
    }
}
