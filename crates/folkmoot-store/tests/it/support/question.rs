//! Commands on questions and halts in one line each.

use folkmoot_core::{
    Actor, Command, Halt, HaltId, Outcome, Question, QuestionId, Scope,
    halt::{self, NewHalt},
    question::{self, Close, NewQuestion, QuestionPolicy, QuestionType, Reply},
};
use folkmoot_store::{Error, Store};

use super::{admin, agent, command, name, reviewer, unique};

/// What agent `a1` asks in session `s1`.
pub(crate) fn new_question(question_type: QuestionType) -> NewQuestion {
    NewQuestion {
        id: format!("question-{:06}", unique()).parse().unwrap(),
        agent_id: Some(name("a1")),
        run_id: None,
        session_id: Some("s1".parse().unwrap()),
        question_type,
        text: "May I?".to_owned(),
        options: Vec::new(),
        default: None,
        timeout: None,
        halts: None,
        priority: None,
    }
}

pub(crate) fn ask(new_question: NewQuestion) -> Command {
    let defaults = QuestionPolicy::default().defaults(new_question.question_type);
    command(agent("agent-a"), question::Action::Ask { new_question: Box::new(new_question), defaults })
}

pub(crate) fn answer(question: &QuestionId, answer: &str) -> Command {
    close(question, reviewer("alice"), Close::Answer(answer.into()))
}

pub(crate) fn close(question: &QuestionId, by: Actor, close: Close) -> Command {
    command(by, question::Action::Close(Reply { question: question.clone(), close, reason: "so".to_owned() }))
}

pub(crate) fn fetch(question: &QuestionId) -> Command {
    command(agent("agent-a"), question::Action::Fetch { question: question.clone(), reason: String::new() })
}

pub(crate) fn lapse(question: &QuestionId) -> Command {
    command(Actor::System, question::Action::TimerDue { question: question.clone() })
}

pub(crate) fn raise(scope: Scope) -> Command {
    command(
        admin("root"),
        halt::Action::Raise(NewHalt {
            id: format!("halt-{:06}", unique()).parse().unwrap(),
            scope,
            agent_id: (scope == Scope::Agent).then(|| name("a1")),
            session_id: (scope == Scope::Session).then(|| "s1".parse().unwrap()),
            reason: "smoke".to_owned(),
        }),
    )
}

pub(crate) fn lift(halt: &HaltId) -> Command {
    command(admin("root"), halt::Action::Lift { halt: halt.clone() })
}

pub(crate) async fn asked(store: &impl Store, new_question: NewQuestion) -> Question {
    question_of(store.execute(ask(new_question)).await)
}

pub(crate) fn question_of(outcome: Result<Outcome, Error>) -> Question {
    match outcome {
        Ok(Outcome::Question(question)) => *question,
        other => panic!("not a question: {other:?}"),
    }
}

pub(crate) fn halt_of(outcome: Result<Outcome, Error>) -> Halt {
    match outcome {
        Ok(Outcome::Halt(halt)) => *halt,
        other => panic!("not a halt: {other:?}"),
    }
}
