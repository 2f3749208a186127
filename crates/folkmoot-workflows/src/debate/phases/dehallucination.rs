//! Before anybody answers: what is unclear is asked, and answered, until nothing is.

use folkmoot_core::{
    Name,
    agent::Share,
    debate::{NoteKind, TurnPart},
    question::QuestionType,
};
use folkmoot_engine::{Ctx, Failure, QuestionSpec};
use serde_json::{Value, json};

use super::{
    super::{
        Instructor, forms,
        room::{At, Room, TurnRequest},
        state::DebateState,
    },
    PhaseReport, no_rule,
};

/// Whoever is surer than this that it understands asks no more.
const SURE: u8 = 90;

impl Room {
    pub(in super::super) async fn dehallucination(
        &self,
        ctx: &Ctx,
        at: At,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        let assistant = |state: &DebateState| self.answerers(at, state).into_iter().flatten().next();
        let leader = |state: &DebateState| Some(state.network.leader(at.phase).clone());
        let Some(first) = assistant(state) else { return Ok(PhaseReport::said("nobody is there to ask".to_owned())) };
        self.begin(ctx, at, &[vec![first], leader(state).into_iter().collect()], state).await?;
        let (mut asked, mut answered, mut messages) = (0, 0, 0);
        for round in 1..=self.debating.clarification_rounds {
            let asking = |agent, state: &DebateState| TurnRequest {
                at,
                key: String::new(),
                agent,
                part: TurnPart::Clarify,
                notes: state.notes_for(TurnPart::Clarify),
                answers: Vec::new(),
                schema: forms::clarify(),
                given: Value::Null,
                attempt: round - 1,
                rule: &no_rule,
                results: Value::Null,
                metadata: json!({ "clarification_round": round }),
            };
            let spoken = self.speak_or_next(ctx, &format!("ask/{round}"), assistant, asking, state).await?;
            let Some(spoken) = spoken.filter(|spoken| spoken.answered().is_some()) else { break };
            let value = &spoken.value;
            let sure = spoken.confidence.is_some_and(|sure| sure > Share::hundredths(SURE).unwrap_or(Share::ONE));
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
            let (given, answers) = match self.debating.instructor {
                Instructor::Person => self.answered_by_a_person(ctx, at, round, &spoken.agent, &questions).await?,
                Instructor::Agent => {
                    let notes = || questions.iter().map(|question| (NoteKind::Question, question.clone()));
                    let asking = |agent, state: &DebateState| TurnRequest {
                        at,
                        key: String::new(),
                        agent,
                        part: TurnPart::ClarifyAnswer,
                        notes: state.notes_for(TurnPart::ClarifyAnswer).into_iter().chain(notes()).collect(),
                        answers: Vec::new(),
                        schema: forms::clarify_answer(questions.len()),
                        given: json!({ "questions": questions }),
                        attempt: round - 1,
                        rule: &no_rule,
                        results: Value::Null,
                        metadata: json!({ "clarification_round": round }),
                    };
                    let spoken = self.speak_or_next(ctx, &format!("answer/{round}"), leader, asking, state).await?;
                    let Some(spoken) = spoken.filter(|spoken| spoken.answered().is_some()) else { break };
                    let value = &spoken.value;
                    let unclear = value["remaining_ambiguities"].as_array().into_iter().flatten();
                    state.ambiguities = unclear.filter_map(Value::as_str).map(str::to_owned).collect();
                    let answers = value["answers"].as_array().into_iter().flatten();
                    let answers: Vec<String> =
                        answers.map(|answer| answer["answer"].as_str().unwrap_or_default().to_owned()).collect();
                    (u32::try_from(answers.len()).unwrap_or(u32::MAX), answers)
                }
            };
            answered += given;
            let pairs = questions.iter().zip(answers);
            state
                .notes
                .extend(pairs.map(|(question, answer)| (NoteKind::Clarification, format!("{question}\n{answer}"))));
        }
        let note = match state.ambiguities.len() {
            0 => format!("{answered} of {asked} questions were answered"),
            left => format!("{answered} of {asked} questions were answered; still unclear: {left}"),
        };
        Ok(PhaseReport { messages, insights: asked, ..self.helps(at, 1, note, state) })
    }

    /// Through the queue of questions; the debate waits there as long as it takes.
    async fn answered_by_a_person(
        &self,
        ctx: &Ctx,
        at: At,
        round: u32,
        assistant: &Name,
        questions: &[String],
    ) -> Result<(u32, Vec<String>), Failure> {
        let (mut given, mut answers) = (0, Vec::new());
        for (number, question) in questions.iter().enumerate() {
            // The run itself asks: every debate has agents of the same names, and what one asks
            // must hold none of the others.
            let text = format!("{question}\n\n{assistant} asks, before the debate on: {}", self.debating.title());
            let ask = QuestionSpec::new(QuestionType::Blocking, text);
            let answer = ctx.ask(at.key(&format!("person/{round}/{}", number + 1)), ask).await?;
            given += u32::from(answer.is_given());
            answers.push(match answer.closure.answer.clone().filter(|_| answer.is_given()) {
                Some(Value::String(text)) => text,
                Some(value) => value.to_string(),
                None => "Nobody answered this; assume what most people who ask for this would expect.".to_owned(),
            });
        }
        Ok((given, answers))
    }
}
