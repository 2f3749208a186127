//! What waits for people, and who is halted.

use super::Desk;

#[test]
fn gates_questions_and_halts_are_told_together() {
    let desk = Desk::new();
    let nothing = desk.run(&["status", "--waiting"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
    assert_eq!(nothing.stderr, "Nothing that you can see waits for a person, and nobody is halted.\n");
    desk.say(&["gate", "open", "Deploy 1.4.2"]);
    desk.say(&["ask", "May I?", "--type", "approval", "--agent", "a1", "--session", "s1"]);
    desk.say(&["halt", "all", "--reason", "the disk is full"]);
    for verb in [&["status"][..], &["status", "--waiting"]] {
        let said = desk.say(verb);
        assert!(said.contains("waiting 1 gate, 1 question\nhalted  everyone, session s1, agent a1\n"), "{said}");
        for part in ["Deploy 1.4.2", "May I?", "the disk is full"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let json = desk.json(verb);
        assert_eq!(
            (&json["gates"][0]["title"], &json["questions"][0]["text"]),
            (&"Deploy 1.4.2".into(), &"May I?".into())
        );
        assert_eq!(
            (&json["halts"]["system_halted"], &json["halts"]["halted_agents"]),
            (&true.into(), &serde_json::json!(["a1"]))
        );
    }
}
