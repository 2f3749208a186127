//! What is configured is used or refused.

use folkmoot_mangle::check_text;
use folkmoot_server::{Config, DataFolder};

#[test]
fn any_configuration_is_used_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("folkmoot.toml");
    let samples = [
        "[gates]\nquorum = 2\ntimeout_ms = 3600000\non_timeout = \"reject\"\n[limits]\nbody_bytes = 4194304\nconnections = 100\n",
        "[questions.BLOCKING]\ntimeout_ms = \"never\"\n[questions.DECISION]\ndefault = \"yes\"\ntimeout_ms = 60000\n",
        "provider = \"a\"\n[providers.a]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n[budget]\nrun_usd = 1.5\n",
        "[mcp.files]\ncommand = [\"mcp-files\", \"--root\", \".\"]\n[jail]\nmemory_mb = 512\n",
    ];
    check_text("folkmoot.toml", &samples, |text| {
        std::fs::write(&path, text).unwrap();
        let mut config = Config::new(DataFolder::at(folder.path()));
        if let Err(error) = config.read_file(Some(path.clone())) {
            assert!(error.to_string().contains("folkmoot.toml"), "{error}");
        }
    });
}

#[test]
fn any_bootstrap_tokens_are_used_or_refused_and_no_error_repeats_a_secret() {
    let samples = [
        "admin:root=s3cr3t-s3cr3t,reviewer:alice=s3cr3t-s3cr3t",
        "agent+halt:monitor=s3cr3t-s3cr3t",
        "viewer:vera=a=b",
    ];
    check_text("bootstrap tokens", &samples, |text| {
        let mut config = Config::new(DataFolder::at(std::path::Path::new("/nowhere")));
        let read = config.read_environment(|name| (name == "FOLKMOOT_BOOTSTRAP_TOKENS").then(|| text.to_owned()));
        // A secret begins behind the first `=` of an entry; what stands before it may be shown.
        let secret = text
            .split(',')
            .any(|entry| entry.trim().split_once('=').is_some_and(|(who, _)| who.contains("s3cr3t-s3cr3t")));
        if let Err(error) = read
            && !secret
        {
            assert!(!error.to_string().contains("s3cr3t-s3cr3t"), "{error}");
        }
    });
    check_text("the rate limit", &["2000", "0", "4294967296"], |text| {
        let mut config = Config::new(DataFolder::at(std::path::Path::new("/nowhere")));
        let _ = config.read_environment(|name| (name == "FOLKMOOT_RATE_LIMIT").then(|| text.to_owned()));
    });
}
