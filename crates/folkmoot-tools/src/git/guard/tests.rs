use super::*;

fn off(keys: &[&str]) -> Vec<(String, String)> {
    let keys = keys.join("\0");
    let off = drivers_off(keys.as_bytes()).unwrap().into_iter();
    off.map(|(key, value)| (key.into_string().unwrap(), value.into_string().unwrap())).collect()
}

#[test]
fn each_driver_is_switched_off_once_whatever_its_name() {
    let keys =
        ["core.bare", "filter.a.b=c.clean", "filter.a.b=c.required", "user.name", "merge.ours.driver", "filter", ""];
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        off(&keys),
        [
            pair("filter.a.b=c.clean", ""),
            pair("filter.a.b=c.smudge", ""),
            pair("filter.a.b=c.process", ""),
            pair("filter.a.b=c.required", "false"),
            pair("merge.ours.driver", "false"),
        ]
    );
}

#[test]
fn hooks_in_the_configuration_are_switched_off() {
    assert_eq!(off(&["hook.lint.command", "hook.lint.event"]), [("hook.lint.enabled".to_owned(), "false".to_owned())]);
}

#[test]
fn settings_of_a_section_as_a_whole_are_no_drivers() {
    assert_eq!(off(&["merge.conflictstyle", "merge.ff", "filter.x"]), []);
}

#[test]
fn more_drivers_than_anybody_has_are_refused() {
    let keys: Vec<String> = (0..=DRIVERS_MAX).map(|number| format!("filter.f{number}.clean")).collect();
    assert!(matches!(drivers_off(keys.join("\0").as_bytes()), Err(GitError::TooLarge(_))));
}
