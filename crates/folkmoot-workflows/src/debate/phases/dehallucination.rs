//! Before anybody answers: what is unclear is asked, and answered, until nothing is.

use folkmoot_core::{
    agent::Share,
    debate::{Note, Part},
    question::QuestionType,
};
use folkmoot_engine::{Ask, Ctx, Failure};
use serde_json::{Value, json};

use super::{
    super::{
        Instructor, forms,
        room::{Asking, At, Room},
        state::State,
    },
    Phase, no_rule,
};

/// Whoever is surer than this that it understands asks no more.
const SURE: u8 = 90;

impl Room {
    pub(in super::super) async fn dehallucination(
        &self,
        ctx: &Ctx,
        at: At,
        state: &mut State,
    ) -> Result<Phase, Failure> {
        let assistant = self.answerers(at, state).into_iter().flatten().next();
        let Some(assistant) = assistant else { return Ok(Phase::said("nobody is there to ask".to_owned())) };
        let leader = state.network.leader(at.phase).clone();
        self.begin(ctx, at, &[vec![assistant.clone()], vec![leader.clone()]], state).await?;
        let (assistant, leader) = (self.agent(&assistant)?, self.agent(&leader)?);
        let (mut asked, mut messages) = (0, 0);
        for round in 1..=self.debating.clarification_rounds {
            let asking = Asking {
                at,
                key: at.key(&format!("ask/{round}")),
                agent: assistant,
                part: Part::Clarify,
                notes: state.notes_for(Part::Clarify),
                answers: Vec::new(),
                schema: forms::clarify(),
                given: Value::Null,
                attempt: round - 1,
                rule: &no_rule,
                results: Value::Null,
                metadata: json!({ "clarification_round": round }),
            };
            let spoken = self.speak(ctx, asking).await?;
            self.hear(ctx, at, std::slice::from_ref(&spoken), state).await?;
            let Some(value) = spoken.answered() else { break };
            let sure = spoken.confidence.is_some_and(|sure| sure >= Share::hundredths(SURE).unwrap_or(Share::ONE));
            let mut questions: Vec<(u64, String)> = value["questions"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|question| {
                    let text = question["question"].as_str().unwrap_or_default();
                    (
                        question["priority"].as_u64().unwrap_or(5),
                        format!("({}) {text}", question["category"].as_str().unwrap_or_default()),
                    )
                })
                .collect();
            questions.sort();
            let questions: Vec<String> = questions.into_iter().map(|(_, text)| text).collect();
            if questions.is_empty() || sure {
                break;
            }
            asked += u32::try_from(questions.len()).unwrap_or(u32::MAX);
            messages += 2;
            let answers = match self.debating.instructor {
                Instructor::Person => self.answered_by_a_person(ctx, at, round, assistant, &questions).await?,
                Instructor::Agent => {
                    let notes = questions.iter().map(|question| (Note::Question, question.clone()));
                    let asking = Asking {
                        at,
                        key: at.key(&format!("answer/{round}")),
                        agent: leader,
                        part: Part::ClarifyAnswer,
                        notes: state.notes_for(Part::ClarifyAnswer).into_iter().chain(notes).collect(),
                        answers: Vec::new(),
                        schema: forms::clarify_answer(questions.len()),
                        given: json!({ "questions": questions }),
                        attempt: round - 1,
                        rule: &no_rule,
                        results: Value::Null,
                        metadata: json!({ "clarification_round": round }),
                    };
                    let spoken = self.speak(ctx, asking).await?;
                    self.hear(ctx, at, std::slice::from_ref(&spoken), state).await?;
                    let Some(value) = spoken.answered() else { break };
                    let answers = value["answers"].as_array().into_iter().flatten();
                    answers.map(|answer| answer["answer"].as_str().unwrap_or_default().to_owned()).collect()
                }
            };
            let pairs = questions.iter().zip(answers);
            state.notes.extend(pairs.map(|(question, answer)| (Note::Clarification, format!("{question}\n{answer}"))));
        }
        let too_few = self.too_few(at, 1, state);
        Ok(Phase { too_few, messages, insights: asked, ..Phase::said(format!("{asked} questions were answered")) })
    }

    /// Through the queue of questions; the debate waits there as long as it takes.
    async fn answered_by_a_person(
        &self,
        ctx: &Ctx,
        at: At,
        round: u32,
        assistant: &folkmoot_core::Agent,
        questions: &[String],
    ) -> Result<Vec<String>, Failure> {
        let mut answers = Vec::new();
        for (number, question) in questions.iter().enumerate() {
            let ask = Ask::new(
                QuestionType::Blocking,
                format!("{}\n\nBefore the debate on: {}", question, self.debating.title()),
            )
            .agent(assistant.id.clone());
            let answer = ctx.ask(at.key(&format!("person/{round}/{}", number + 1)), ask).await?;
            answers.push(
                match answer.closure.answer.filter(|_| answer.closure.status != folkmoot_core::question::Status::Denied)
                {
                    Some(Value::String(text)) => text,
                    Some(value) => value.to_string(),
                    None => "Nobody answered this; assume what most people who ask for this would expect.".to_owned(),
                },
            );
        }
        Ok(answers)
    }
}
