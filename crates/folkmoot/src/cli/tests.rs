use clap::{CommandFactory, Parser};
use folkmoot_mangle::check_text;

use super::Cli;
use crate::span;

#[test]
fn the_command_line_is_well_defined() {
    Cli::command().debug_assert();
}

#[test]
fn parsers_of_any_words_understand_or_explain() {
    let samples = [
        "gate open Deploy --wait --timeout 1h30m --risk high --artifact a=b --reviewer alice",
        "approve gate-1 --reason fine --digest sha256:00 --as you",
        "question ask --type BLOCKING Which? --option a --option b --timeout never",
        "serve --data /x --listen 127.0.0.1:0 --config folkmoot.toml",
        "audit verify --url http://127.0.0.1:7400 --token t --json",
        "token create alice --role reviewer --capability halt",
        "runs --status parked --limit 500 --cursor n~1~a",
        "halt agent builder --reason stop",
        "events --after 18446744073709551615",
    ];
    check_text("the command line", &samples, |line| {
        let words = std::iter::once("folkmoot").chain(line.split(' '));
        if let Err(error) = Cli::try_parse_from(words) {
            assert!(!error.to_string().trim().is_empty());
        }
    });
}

#[test]
fn parsers_of_any_span_of_time_understand_or_explain() {
    check_text("spans of time", &["90s", "1h30m", "2d", "500ms", "never", "18446744073709551615d"], |text| {
        if let Ok(span) = span::parse(text) {
            assert!(!span.is_zero());
            let _ = span::short(span);
        }
        let _ = span::parse_timeout(text);
    });
}
