use std::{fs, path::Path};

use folkmoot_debate::{AgentRole, Domain};
use tempfile::TempDir;

use super::FILE_BYTES_MAX;
use crate::prompt::{PromptContext, PromptError, Prompts};

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn refusal(folder: &Path) -> String {
    Prompts::with_overrides(folder).unwrap_err().to_string()
}

#[test]
fn a_file_of_the_same_name_replaces_a_prompt_and_the_others_stay() {
    let folder =
        folder(&[("roles/critic.md", b"Find one fault.\n"), (".git/config", b"x"), ("roles/.critic.md.swp", b"x")]);
    let (ours, theirs) = (Prompts::embedded(), Prompts::with_overrides(folder.path()).unwrap());
    assert_eq!(theirs.render("roles/critic.md", &PromptContext::new()).unwrap(), "Find one fault.");
    for name in ["roles/judge.md", "parts/rules.md"] {
        assert_eq!(theirs.render(name, &PromptContext::new()), ours.render(name, &PromptContext::new()));
    }
    let system = theirs.system(AgentRole::Critic, Domain::General).unwrap();
    assert!(system.starts_with("Find one fault.\n\nRules for every answer:"), "{system}");
}

#[test]
fn what_changes_in_the_folder_later_has_no_effect() {
    let folder = folder(&[("roles/critic.md", b"Find one fault.\n")]);
    let prompts = Prompts::with_overrides(folder.path()).unwrap();
    fs::write(folder.path().join("roles/critic.md"), "{{ broken").unwrap();
    assert_eq!(prompts.render("roles/critic.md", &PromptContext::new()).unwrap(), "Find one fault.");
}

#[test]
fn an_empty_folder_changes_nothing_and_a_missing_one_is_refused() {
    let empty = TempDir::new().unwrap();
    Prompts::with_overrides(empty.path()).unwrap();
    assert!(refusal(&empty.path().join("missing")).contains("missing: cannot be read: "));
}

#[test]
fn a_file_that_replaces_nothing_is_refused_with_those_that_could() {
    for name in ["roles/critc.md", "critic.md", "roles/critic.md~", "poets/homer.md", "roles/old/critic.md"] {
        let folder = folder(&[(name, b"x")]);
        let error = Prompts::with_overrides(folder.path()).unwrap_err();
        assert!(matches!(error, PromptError::UnknownFile { .. }), "{name}: {error}");
        assert!(error.to_string().contains("roles/critic.md"), "{error}");
    }
}

#[test]
fn a_file_that_forgets_the_fence_fails_at_the_start() {
    let folder = folder(&[("debate/turn.md", b"Debate:\n\n{{ topic }}\n")]);
    let said = refusal(folder.path());
    assert!(
        said.starts_with("the prompt debate/turn.md, line 3: invalid operation: this is data; write it as"),
        "{said}"
    );
}

#[test]
fn a_file_that_does_not_compile_fails_at_the_start() {
    let folder = folder(&[("roles/judge.md", b"Judge.\n{% if x %}")]);
    let said = refusal(folder.path());
    assert!(said.starts_with("the prompt roles/judge.md, line 2: syntax error"), "{said}");
}

#[test]
fn a_file_that_cannot_be_a_prompt_is_refused() {
    let long = vec![b'x'; usize::try_from(FILE_BYTES_MAX).unwrap() + 1];
    assert!(refusal(folder(&[("roles/judge.md", &long)]).path()).contains("is longer than 262144 bytes"));
    assert!(refusal(folder(&[("roles/judge.md", b"\xff\xfe")]).path()).ends_with("is not UTF-8; save it as that"));
    assert!(refusal(folder(&[("roles/judge.md", b"")]).path()).contains("is empty"));
    assert!(refusal(folder(&[("roles/judge.md/x", b"")]).path()).ends_with("is not a file"));
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_refused_and_one_within_it_is_followed() {
    let outside = folder(&[("secret", b"x")]);
    let folder = folder(&[("roles/judge.md", b"Judge.\n")]);
    let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
    link(&folder.path().join("roles/judge.md"), "roles/critic.md");
    let prompts = Prompts::with_overrides(folder.path()).unwrap();
    assert_eq!(prompts.render("roles/critic.md", &PromptContext::new()).unwrap(), "Judge.");
    link(&outside.path().join("secret"), "roles/teacher.md");
    assert!(refusal(folder.path()).contains("leads out of the folder of prompts"));
    fs::remove_file(folder.path().join("roles/teacher.md")).unwrap();
    link(outside.path(), "parts");
    fs::write(outside.path().join("rules.md"), "No rules.").unwrap();
    fs::remove_file(outside.path().join("secret")).unwrap();
    assert!(refusal(folder.path()).contains("leads out of the folder of prompts"));
}
