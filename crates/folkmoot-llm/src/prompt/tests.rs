use std::{collections::BTreeSet, fs, path::Path};

use folkmoot_debate::{AgentRole, Domain, NoteKind, TurnPart};

use super::{PromptContext, PromptError, Prompts, catalogue::CATALOGUE};

/// The prompts, but with that text for one of them.
fn with(name: &str, source: &str) -> Result<Prompts, PromptError> {
    Prompts::load(|prompt| if prompt.name == name { source.to_owned() } else { prompt.source.to_owned() })
}

/// What is said of that text for a prompt with the data `tools` and the number `calls_left`.
fn refusal(source: &str) -> String {
    match with("parts/tool_use.md", source) {
        Ok(_) => panic!("taken: {source}"),
        Err(error) => error.to_string().replace("the prompt parts/tool_use.md", ""),
    }
}

#[test]
fn every_file_of_the_folder_is_built_in_and_nothing_else() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
    let mut files = Vec::new();
    for inner in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()) {
        for file in fs::read_dir(inner.path()).unwrap().map(|entry| entry.unwrap()) {
            files.push(format!("{}/{}", inner.file_name().display(), file.file_name().display()));
        }
    }
    files.sort();
    assert_eq!(Prompts::names().collect::<Vec<_>>(), files, "in the catalogue, and in the folder");
}

#[test]
fn every_role_and_every_domain_but_the_general_has_its_prompt() {
    let of = |folder: &str| -> BTreeSet<&str> {
        Prompts::names().filter_map(|name| name.strip_prefix(folder)?.strip_suffix(".md")).collect()
    };
    assert_eq!(of("roles/"), AgentRole::WORDS.iter().copied().collect());
    assert_eq!(of("domains/"), Domain::WORDS.iter().copied().filter(|word| *word != "general").collect());
}

#[test]
fn the_prompt_of_each_role_is_as_agreed() {
    let prompts = Prompts::embedded();
    for role in AgentRole::WORDS {
        let text = prompts.render(&format!("roles/{role}.md"), &PromptContext::new()).unwrap();
        insta::assert_snapshot!(format!("role_{role}"), text);
    }
}

#[test]
fn the_prompts_of_domains_and_the_rules_are_as_agreed() {
    let prompts = Prompts::embedded();
    for domain in Domain::WORDS.iter().filter(|word| **word != "general") {
        let text = prompts.render(&format!("domains/{domain}.md"), &PromptContext::new()).unwrap();
        insta::assert_snapshot!(format!("domain_{domain}"), text);
    }
    insta::assert_snapshot!("rest", prompts.render("parts/rest.md", &PromptContext::new()).unwrap());
    insta::assert_snapshot!("rules", prompts.render("parts/rules.md", &PromptContext::new()).unwrap());
}

#[test]
fn the_parts_with_data_are_as_agreed() {
    let prompts = Prompts::embedded();
    let repair = PromptContext::new()
        .data("problems", "line 1, column 13: expected a value")
        .data("schema", "{\"type\":\"object\"}");
    insta::assert_snapshot!("repair", prompts.render("parts/repair.md", &repair).unwrap());
    let tool_use = PromptContext::new()
        .data("tools", "[{\"name\":\"run_tests\"}]")
        .data("form", "{\"type\":\"string\"}")
        .number("calls_left", 4);
    insta::assert_snapshot!("tool_use", prompts.render("parts/tool_use.md", &tool_use).unwrap());
    let result = |left| {
        PromptContext::new().data("call", "{\"tool\":\"x\"}").data("result", "2 passed").number("calls_left", left)
    };
    insta::assert_snapshot!("tool_result", prompts.render("parts/tool_result.md", &result(3)).unwrap());
    insta::assert_snapshot!("tool_result_last", prompts.render("parts/tool_result.md", &result(0)).unwrap());
}

#[test]
fn what_a_turn_asks_for_is_as_agreed() {
    let prompts = Prompts::embedded();
    let text = |text: &str| PromptContext::new().data("text", text);
    let note = |kind: &'static str| PromptContext::new().word("kind", kind).data("text", "$ factor 91\n91: 7 13");
    for part in TurnPart::WORDS {
        let first = *part == "clarify";
        let context = PromptContext::new()
            .word("part", part)
            .data("topic", "Is 91 prime?")
            .list("notes", if first { vec![] } else { vec![note("guidance"), note("result")] })
            .list("answers", if first { vec![] } else { vec![text("Yes."), text("No: 7 * 13.")] });
        insta::assert_snapshot!(format!("turn_{part}"), prompts.render("debate/turn.md", &context).unwrap());
    }
    let notes = NoteKind::WORDS.iter().map(|kind| note(kind)).collect();
    let all =
        PromptContext::new().word("part", "proposal").data("topic", "x").list("notes", notes).list("answers", vec![]);
    insta::assert_snapshot!("turn_with_every_note", prompts.render("debate/turn.md", &all).unwrap());
}

#[test]
fn a_system_prompt_is_the_role_the_domain_and_the_rules() {
    let prompts = Prompts::embedded();
    insta::assert_snapshot!("system_critic_of_security", prompts.system(AgentRole::Critic, Domain::Security).unwrap());
    let general = prompts.system(AgentRole::Critic, Domain::General).unwrap();
    let role = prompts.render("roles/critic.md", &PromptContext::new()).unwrap();
    let rules = prompts.render("parts/rules.md", &PromptContext::new()).unwrap();
    assert_eq!(general, format!("{role}\n\n{rules}"));
    for role in AgentRole::ALL {
        for domain in Domain::ALL {
            assert!(prompts.system(*role, *domain).unwrap().ends_with(&rules));
        }
    }
}

#[test]
fn each_role_is_short_says_what_to_answer_with_and_plays_no_theatre() {
    for prompt in CATALOGUE.iter().filter(|prompt| prompt.name.starts_with("roles/")) {
        let (name, text) = (prompt.name, prompt.source.to_lowercase());
        assert!(text.starts_with("your role: "), "{name}");
        assert!(text.contains("\nanswer with"), "{name}");
        assert!(text.split_whitespace().count() <= 160, "{name}");
        for theatre in
            ["world-class", "you are a ", "you are an ", "expert", "genius", "years of experience", "renowned"]
        {
            assert!(!text.contains(theatre), "{name}: {theatre}");
        }
    }
}

#[test]
fn data_is_written_fenced_or_not_at_all() {
    assert_eq!(
        refusal("one\n{{ tools }}"),
        r#", line 2: invalid operation: this is data; write it as {{ name | fence("label") }}"#
    );
    for (source, line) in [
        ("{{ tools|fence('t') }}\n{{ tools ~ '' }}", ", line 2"),
        ("{{ tools|fence('t') }}\n{{ '' ~ [tools] }}\n", ", line 2"),
        ("{{ tools|fence('t') }}\n{% if tools in 'yes' %}{% endif %}\n{{ calls_left }}", ", line 3"),
        ("{{ tools|fence('t') }}\n{% set copy = {'a': tools} ~ '' %}", ""),
    ] {
        let said = refusal(source);
        let expected = "here or above, data is compared, or pasted to something else; write it as {{ name | fence(";
        assert!(said.starts_with(line) && said.contains(expected), "{source}: {said}");
    }
    let compares =
        "{{ topic|fence('t') }}{% for a in answers %}{{ a.text|fence('a') }}{{ a.text == topic }}{% endfor %}";
    let said = with("debate/turn.md", compares).unwrap_err().to_string();
    assert!(said.contains("data is compared"), "{said}");
    for source in [
        "{% set copy %}{{ tools }}{% endset %}{{ copy }}",
        "{{ [tools] }}",
        "{{ {'a': tools} }}",
        "{{ tools + tools }}",
        "{{ tools * 2 }}",
        "{{ tools[0] }}",
        "{{ tools[:5] }}",
        "{{ tools.text }}",
        "{{ tools() }}",
        "{{ tools.upper() }}",
        "{{ tools | upper }}",
        "{{ tools | safe }}",
        "{% for letter in tools %}{{ letter }}{% endfor %}",
        "{{ tools|fence(tools) }}",
        "{{ tools|fence }}",
        "{% if calls_left == 5 %}{{ tools }}{% endif %}{{ tools|fence('t') }}",
        "{% if not tools %}{{ tools }}{% endif %}{{ tools|fence('t') }}",
    ] {
        let said = refusal(source);
        assert!(said.starts_with(", line 1: "), "{source}: {said}");
        assert!(!said.contains("sample"), "an error tells nothing of the data: {said}");
    }
}

#[test]
fn only_data_is_fenced_and_under_a_plain_label() {
    assert!(refusal("{{ calls_left|fence('n') }}").contains("only data is fenced, and this number is not data"));
    assert!(refusal("{{ tools|fence('t')|fence('t') }}").contains("this string is not data"));
    for label in ["", "]]", "a\\nb", "ü", &"l".repeat(65)] {
        let said = refusal(&format!("{{{{ tools|fence(\"{label}\") }}}}"));
        assert!(said.contains("the label of a fence is up to 64 letters"), "{label}: {said}");
    }
}

#[test]
fn what_does_not_compile_is_refused_with_its_line() {
    for source in ["\n\n{{ tools", "\n\n{% if %}", "\n\n{{.Topic}}", "\n\n{% endfor %}"] {
        let said = refusal(source);
        assert!(said.starts_with(", line 3: syntax error"), "{source}: {said}");
    }
}

#[test]
fn an_unknown_variable_is_refused_wherever_it_stands() {
    assert_eq!(
        refusal("{{ tools|fence('t') }}\n{{ topic }}"),
        ", line 2: uses `topic`, which is not one of tools, form, calls_left"
    );
    let unseen = "{{ tools|fence('t') }}\n{% if calls_left > 1000000 %}\n{{ topic }}\n{% endif %}";
    assert_eq!(refusal(unseen), ", line 3: uses `topic`, which is not one of tools, form, calls_left");
    let error = with("roles/critic.md", "Criticise {{ topic }}.").unwrap_err().to_string();
    assert_eq!(error, "the prompt roles/critic.md, line 1: uses `topic`, and this prompt has no variables");
    assert!(refusal("{% for n in range(9) %}{% endfor %}").contains("uses `range`"));
    let error =
        with("debate/turn.md", "{{ topic|fence('t') }}{% for a in answers %}\n{{ a.txet|fence('a') }}{% endfor %}");
    let said = error.unwrap_err().to_string();
    assert!(said.starts_with("the prompt debate/turn.md, line 2: undefined"), "{said}");
}

#[test]
fn a_prompt_that_forgets_its_data_is_refused() {
    assert_eq!(
        refusal("Use the tools. Calls left: {{ calls_left }} {{ form|fence('f') }}"),
        ": never writes `tools`, without which no model knows what it is about"
    );
    let error = with("debate/turn.md", "{{ topic|fence('t') }}{% for r in notes %}{{ r.text|fence('r') }}{% endfor %}");
    let said = error.unwrap_err().to_string();
    assert!(said.contains("never writes `answers.text`"), "{said}");
    assert_eq!(refusal(" \n"), ": is empty; say something, or remove the file");
}

#[test]
fn a_prompt_includes_prompts_and_nothing_else() {
    let prompts = with("roles/critic.md", "Be brief.\n{% include 'domains/code.md' %}").unwrap();
    let text = prompts.render("roles/critic.md", &PromptContext::new()).unwrap();
    assert!(text.starts_with("Be brief.\nThis debate is about code."), "{text}");
    for outside in ["../../Cargo.toml", "/etc/hostname", "roles/unknown.md", "roles/../parts/rules.md"] {
        let said = refusal(&format!("{{% include '{outside}' %}}{{{{ tools|fence('t') }}}}"));
        assert!(said.contains("template not found"), "{said}");
    }
    let error = with("parts/rules.md", "{% include 'parts/repair.md' %}").unwrap_err().to_string();
    assert!(error.starts_with("the prompt parts/repair.md, line 3: undefined value"), "{error}");
}

#[test]
fn no_template_runs_for_ever_or_without_bounds() {
    for source in [
        "{% for a in [1] * 1000 %}{% for b in [1] * 1000 %}{{ b }}{% endfor %}{% endfor %}",
        "{% include 'parts/tool_use.md' %}",
        "{{ 'x' * 100000000000 }}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
        "{% for a in [1] * 900 %}{{ 'x' * 100000 }}{% endfor %}",
    ] {
        let said = refusal(source);
        assert!(!said.contains("never writes"), "{source}: {said}");
    }
}

#[test]
fn a_context_has_exactly_the_variables_of_its_prompt() {
    let prompts = Prompts::embedded();
    let said = |context: PromptContext| prompts.render("parts/tool_use.md", &context).unwrap_err().to_string();
    let full = PromptContext::new().data("tools", "[]").data("form", "{}").number("calls_left", 1);
    assert!(said(PromptContext::new()).ends_with("its variable `tools` is missing"));
    assert!(said(full.clone().data("topic", "x")).ends_with("its variable `topic` is not a variable of this prompt"));
    assert!(said(full.clone().word("tools", "none")).ends_with("its variable `tools` is of another kind"));
    assert!(said(full.data("calls_left", "1")).ends_with("its variable `calls_left` is of another kind"));
    let turn = |part, answer| {
        PromptContext::new().word("part", part).data("topic", "x").list("answers", vec![answer]).list("notes", vec![])
    };
    let said = |context: PromptContext| prompts.render("debate/turn.md", &context).unwrap_err().to_string();
    assert!(
        said(turn("lunch", PromptContext::new().data("text", "x"))).contains("`part` is \"lunch\", not one of clarify")
    );
    assert!(said(turn("review", PromptContext::new())).ends_with("its variable `text` is missing"));
    assert!(
        said(turn("review", PromptContext::new().word("text", "x")))
            .ends_with("its variable `text` is of another kind")
    );
}

#[test]
fn a_prompt_that_is_not_there_is_refused_with_those_that_are() {
    let error = Prompts::embedded().render("roles/poet.md", &PromptContext::new()).unwrap_err().to_string();
    assert!(
        error.starts_with(r#"there is no prompt "roles/poet.md"; there are debate/turn.md, domains/architecture.md, "#),
        "{error}"
    );
}
