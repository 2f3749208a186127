//! Before the first answers, one agent asks what is unclear, and another agent or a person answers.

use folkmoot_core::{Name, question::QuestionType};
use folkmoot_debate::{NoteKind, TurnPart, agent::Share};
use folkmoot_engine::{Ctx, Failure, QuestionSpec};
use serde_json::{Value, json};

use super::{
    super::{
        DebateContext, Instructor, PhaseAttempt,
        parts::{ClarifyAnswerPart, ClarifyPart},
        state::DebateState,
        turn::TurnRequest,
    },
    PhaseReport, count,
};

/// An agent that is more confident than this that it understands the topic asks no more.
const SURE: u8 = 90;

impl DebateContext {
    pub(in super::super) async fn dehallucination(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        let assistant = |state: &DebateState| self.answerers(at, state).into_iter().flatten().next();
        let leader = |state: &DebateState| Some(state.network.leader(at.phase).clone());
        let Some(first) = assistant(state) else { return Ok(PhaseReport::note("nobody is there to ask".to_owned())) };
        self.begin(ctx, at, &[vec![first], leader(state).into_iter().collect()], state).await?;
        let (mut asked, mut answered, mut messages) = (0, 0, 0);
        for round in 1..=self.config.clarification_rounds {
            let metadata = json!({ "clarification_round": round });
            let ask = |request, state: &DebateState| {
                let notes = state.notes_for(TurnPart::Clarify);
                (ClarifyPart, TurnRequest { notes, attempt: round - 1, metadata: metadata.clone(), ..request })
            };
            let turn = self.ask_or_next(ctx, at, &format!("ask/{round}"), assistant, ask, state).await?;
            let Some(turn) = turn else { break };
            let Some(answer) = turn.answer else { break };
            let sure = turn.confidence.is_some_and(|sure| sure > Share::hundredths(SURE).unwrap_or(Share::ONE));
            let mut questions: Vec<_> = answer.questions.iter().map(|one| (one.priority, one.text())).collect();
            questions.sort();
            let questions: Vec<String> = questions.into_iter().map(|(_, text)| text).collect();
            if questions.is_empty() || sure {
                break;
            }
            asked += count(questions.len());
            messages += 2;
            let (given, answers) = match self.config.instructor {
                Instructor::Person => self.answered_by_a_person(ctx, at, round, &turn.agent, &questions).await?,
                Instructor::Agent => {
                    let notes = || questions.iter().map(|question| (NoteKind::Question, question.clone()));
                    let ask = |request, state: &DebateState| {
                        let request = TurnRequest {
                            notes: state.notes_for(TurnPart::ClarifyAnswer).into_iter().chain(notes()).collect(),
                            given: json!({ "questions": questions }),
                            attempt: round - 1,
                            metadata: metadata.clone(),
                            ..request
                        };
                        (ClarifyAnswerPart { questions: questions.len() }, request)
                    };
                    let turn = self.ask_or_next(ctx, at, &format!("answer/{round}"), leader, ask, state).await?;
                    let Some(answer) = turn.and_then(|turn| turn.answer) else { break };
                    state.ambiguities = answer.remaining_ambiguities;
                    let answers: Vec<String> = answer.answers.into_iter().map(|given| given.answer).collect();
                    (count(answers.len()), answers)
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
        Ok(PhaseReport { messages, insights: asked, ..self.optional_phase(at, 1, note, state) })
    }

    /// Asks people through the question queue. The debate waits for the answers as long as it
    /// takes.
    async fn answered_by_a_person(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        round: u32,
        assistant: &Name,
        questions: &[String],
    ) -> Result<(u32, Vec<String>), Failure> {
        let (mut given, mut answers) = (0, Vec::new());
        for (number, question) in questions.iter().enumerate() {
            // The run asks, not the agent: every debate has agents of the same names, and a
            // question in one debate must not halt the others.
            let text = format!("{question}\n\n{assistant} asks, before the debate on: {}", self.config.title());
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
