use clap::{CommandFactory, Parser};
use folkmoot_mangle::check_text;

use super::Cli;
use crate::terminal::span;

#[test]
fn the_command_line_is_well_defined() {
    Cli::command().debug_assert();
}

#[test]
fn the_short_help_names_every_verb_and_fits_on_a_screen_of_80_by_24() {
    let help = Cli::command().term_width(80).render_help().to_string();
    assert!(help.lines().count() < 24, "{help}");
    for line in help.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for verb in Cli::command().get_subcommands() {
        let name = verb.get_name();
        let groups =
            help.lines().filter(|line| line.get(13..).is_some_and(|names| names.split(", ").any(|n| n == name)));
        assert_eq!(groups.count(), 1, "{name} stands in one group of\n{help}");
    }
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
