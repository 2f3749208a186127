//! Tests as transcripts: who said what when, and what the rules answered.
//!
//! ```text
//! policy quorum=2                                       what configuration says from here on
//! 09:00 bot opens deploy "Deploy 1.4.2" risk=high       → pending
//! 09:05 alice approves                                  → pending, alice approve
//! 09:06 bob rejects "not tested"                        → rejected by bob, stop
//! log                                                   → opened, vote, decided
//!
//! usual BLOCKING timeout=1h default=x                   the configuration of this type of question
//! 09:00 bot asks q1 APPROVAL session=s1 "May I?"        → pending, halts session
//! 09:01 ada halts h1 scope=agent agent=elf "budget"     → stands
//! clear elf session=s1                                  → q1, h1
//! 09:02 alice answers q1 "approve"                      → answered "approve" by alice
//! 09:03 ada lifts h1                                    → lifted by ada
//! log of=q1                                             → asked, agent.halted, session.halted, …
//! event 1 of=h1                                         → halt.raised {…}
//!
//! 09:00 bot starts r1 draft@1 steps=9 "[]"              → pending
//! 09:00 system beats n1 for=1m                          → unchanged: nothing
//! 09:01 system claims node=n1                           → running on n1, claim 1
//! 09:02 system records draft does "1"                   → done "1", 1 attempt
//! 09:02 system records ok opens g1 risk=high            → waiting for gate g1, 1 attempt
//! 09:03 system parks due=10:00                          → parked
//! 09:04 alice approves                                  → approved by alice, proceed
//! 09:05 system claims node=n2                           → running on n2, claim 2
//! 09:06 system ends "42" claim=1                        → refused: lease_lost
//! run                                                   → running, claim 2, 2 steps, active 180s
//! step draft                                            → done "1", 1 attempt
//! ```
//!
//! Workers speak as the system, and name the claim that counts unless `claim=` says another; a
//! person who records or ends does so as the owner. What is recorded is a verb of its own (`opens`,
//! `asks`, `starts`), or begins, does, retries, fails, sleeps or tells. `of=` names another run
//! than the one that was touched last.
//!
//! The cast: reviewers alice, bob, carol and dave; admins ada and max; agents bot and elf; mon, an
//! agent whose token can halt; vera, who only reads; and the system. Quoted text is the summary of
//! an opening or amendment, what is asked or answered, else a reason. `on=` names another gate than
//! the one opened last, `json=` an answer that is no text. In values `{nul}` is U+0000, `{nl}` a
//! new line, `{cr}` a carriage return, `{300}` three hundred x.

mod world;

use std::{collections::BTreeMap, fmt::Write as _, str::FromStr, time::Duration};

pub(crate) use world::World;

use serde_json::Value;

use crate::{
    Action, Actor, Capability, Deadline, Delivery, Digest, Gate, GateId, Halt, Hold, Name, Outcome, Principal,
    Question, QuestionId, Refusal, Role, Run, RunId, SessionId, Subject, Timeout, Timestamp, Webhook,
    delivery::{self, Abandonment, DeliveryResult, DeliveryState, RetryAdvice, Settlement, Subscription},
    gate::{self, Amendment, ArtifactRef, Choice, Extension, GateKind, GatePolicy, GateState, NewGate, Review, Risk},
    halt::{self, NewHalt},
    journal::{Entry, EntryKey, EntryKind, EntryState, Fence, JournalWrite, NewEntry, StepError, Waits, Write},
    node,
    question::{self, Close, NewQuestion, QuestionPolicy, Reply, TypeDefaults},
    run::{self, Conclusion, NewRun, Outage, ParkRequest, RunLimits, RunState},
    token::{self, NewToken},
    webhook::{self, NewWebhook, WebhookChange},
};

/// Plays a transcript, and compares every answer with the one that is written there.
pub(crate) fn check(transcript: &str) {
    let mut stage = Stage::default();
    let (mut told, mut wanted) = (String::new(), String::new());
    for line in transcript.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (said, answer) = line.split_once('→').unwrap_or((line, ""));
        let actual = stage.play(said);
        writeln!(told, "{said}→ {actual}").unwrap();
        writeln!(wanted, "{said}→ {}", answer.trim()).unwrap();
    }
    assert!(told == wanted, "\nThe rules said\n\n{told}\nbut the transcript says\n\n{wanted}");
}

/// Plays a transcript without answers, and gives what it leaves behind.
pub(crate) fn play(transcript: &str) -> World {
    let mut stage = Stage::default();
    transcript.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| drop(stage.play(line)));
    stage.world
}

/// Everybody who has a token from the start.
pub(crate) const CAST: [&str; 10] = ["alice", "bob", "carol", "dave", "ada", "max", "bot", "elf", "mon", "vera"];

/// A principal of the cast.
pub(crate) fn principal(name: &str) -> Principal {
    let role = match name {
        "alice" | "bob" | "carol" | "dave" => Role::Reviewer,
        "ada" | "max" => Role::Admin,
        "bot" | "elf" | "mon" => Role::Agent,
        "vera" => Role::Viewer,
        _ => panic!("{name} is not in the cast"),
    };
    let capabilities = if name == "mon" { vec![Capability::Halt] } else { Vec::new() };
    Principal { capabilities, ..Principal::new(parse(name), role) }
}

/// A moment of the day on which every transcript plays.
pub(crate) fn time(text: &str) -> Timestamp {
    let mut parts = text.split([':', '.']);
    let mut part = || parts.next().map_or(0, |part| part.parse::<i64>().unwrap());
    let (hours, minutes, seconds, micros) = (part(), part(), part(), part());
    Timestamp::from_micros(MIDNIGHT + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros)
}

/// Spans of so many minutes, in milliseconds.
fn minutes(spans: Option<Vec<u64>>) -> Vec<u64> {
    spans.unwrap_or_default().into_iter().map(|minutes| minutes * 60_000).collect()
}

/// 2026-01-31.
const MIDNIGHT: i64 = 1_769_817_600_000_000;

/// Where a transcript is played, line by line.
#[derive(Default)]
pub(crate) struct Stage {
    pub world: World,
    policy: GatePolicy,
    now: Option<Timestamp>,
    defaults: QuestionPolicy,
    gate: Option<GateId>,
    question: Option<QuestionId>,
    run: Option<RunId>,
    digests: BTreeMap<(GateId, u32), Digest>,
}

impl Stage {
    pub(crate) fn play(&mut self, said: &str) -> String {
        let mut words = Words::read(said);
        if words.bare[0].contains(':') {
            self.now = Some(time(&words.next()));
        }
        let answer = match words.next().as_str() {
            "policy" => self.set_policy(&mut words),
            "usual" => self.set_usual(&mut words),
            "log" => self.log(&mut words),
            "event" => self.event(&mut words),
            "clear" => {
                let (agent, session): (Name, Option<SessionId>) = (parse(&words.next()), words.get("session"));
                let covering = self.world.covering(&agent, session.as_ref());
                let ids = |holds: &[Hold]| list(holds.iter().map(|hold| hold.id.as_str()));
                if covering.is_empty() { "yes".to_owned() } else { ids(&covering) }
            }
            "closure" => json(&self.world.questions[&self.asked(&mut words)].closure()),
            "timer" => self.timer(&mut words),
            "wakes" => list(self.world.wakes.iter().map(|(run, n)| match n {
                1 => run.to_string(),
                n => format!("{run} {n} times"),
            })),
            "runs" => list(self.world.runs.values().map(|run| {
                let start = &run.start;
                format!("{}: session {}, {}'s {}", start.id, start.session_id, start.initiator, start.kind)
            })),
            "run" => {
                let run = &self.world.runs[&self.ran(&mut words)];
                let active = run.active(self.now.expect("a transcript says when"));
                let (claim, steps, bytes) = (run.epoch, run.steps, run.journal_bytes);
                format!("{}, claim {claim}, {steps} steps, {bytes} bytes, active {active:?}", run.status())
            }
            "step" => {
                let key: EntryKey = parse(&words.next());
                let run = self.ran(&mut words);
                self.step(&self.world.journals[&run][&key])
            }
            "sessions" => list(self.world.sessions.keys()),
            // Configuration: a channel, and what it is told.
            "channel" => {
                let (channel, events) = (words.next(), words.list("events").unwrap_or_default());
                self.world.subscriptions.push(Subscription { channel, events });
                String::new()
            }
            "delivery" => delivery_state(self.delivery(&mut words)),
            "outbox" => {
                let told = self.world.outbox.iter();
                list(told.map(|delivery| format!("{} {} {}", delivery.channel, delivery.subject, delivery.kind)))
            }
            "decision" => {
                let gate = &self.world.gates[&self.named(&mut words)];
                short(&json(&gate.decision()).replace(&gate.digest.to_string(), "its digest"))
            }
            "content" => short(&json(&self.world.gates[&self.named(&mut words)].content)),
            who => self.act(who, &mut words),
        };
        assert!(words.is_spent(), "nobody understood {words:?} in {said:?}");
        answer
    }

    fn act(&mut self, who: &str, words: &mut Words) -> String {
        let by = if who == "system" { Actor::System } else { Actor::Principal(principal(who)) };
        let action = self.action(&by, words);
        let logged = self.world.log.len();
        let result = self.world.execute(by, action, self.now.expect("a transcript says when"));
        if let Ok(Outcome::Gate(gate) | Outcome::Existing(gate)) = &result {
            self.gate = Some(gate.id.clone());
            self.digests.insert((gate.id.clone(), gate.revision), gate.digest);
        }
        if let Ok(Outcome::Question(question)) = &result {
            self.question = Some(question.id.clone());
        }
        match &result {
            Ok(Outcome::Run(run)) => self.run = Some(run.start.id.clone()),
            Ok(Outcome::Entry(entry) | Outcome::Stands(entry)) => match &entry.state {
                EntryState::Waiting(Waits::Gate(gate)) => self.gate = Some(gate.clone()),
                EntryState::Waiting(Waits::Question(question)) => self.question = Some(question.clone()),
                _ => {}
            },
            _ => {}
        }
        match result {
            Ok(outcome) if self.world.log.len() == logged => format!("unchanged: {}", self.describe(&outcome)),
            Ok(outcome) => self.describe(&outcome),
            Err(refusal) => format!("refused: {}", why(&refusal)),
        }
    }

    fn action(&mut self, by: &Actor, words: &mut Words) -> Action {
        let verb = words.next();
        match verb.as_str() {
            "opens" => self.opens(words),
            "amends" => {
                let (artifacts, contents) = artifacts(words).unzip();
                let amendment = Amendment {
                    gate: self.named(words),
                    title: words.text("title"),
                    summary: words.quoted.take(),
                    risk: words.get("risk"),
                    artifacts,
                };
                let (policy, contents) = (self.policy.clone(), contents.unwrap_or_default());
                Action::Gate(gate::Action::Amend { amendment, policy, contents })
            }
            "approves" => self.says(Choice::Approve, false, words),
            "overrides" => self.says(Choice::Approve, true, words),
            "rejects" => self.says(Choice::Reject, false, words),
            "adjusts" => self.says(Choice::Adjust, false, words),
            "pauses" => self.says(Choice::Pause, false, words),
            "forces" => {
                let choice = words.get("choice").unwrap();
                self.says(choice, true, words)
            }
            "extends" => Action::Gate(gate::Action::Extend(Extension {
                gate: self.named(words),
                timeout: words.text("by").map(|text| timeout(&text)).unwrap(),
            })),
            "cancels" => Action::Gate(gate::Action::Cancel {
                gate: self.named(words),
                reason: words.quoted.take().unwrap_or_default(),
            }),
            "expires" => Action::Gate(gate::Action::TimerDue { gate: self.named(words) }),
            "asks" => self.asks(words),
            "answers" => {
                let answer = words.json("json").or_else(|| words.quoted.take().map(Value::from)).unwrap();
                self.closes(Close::Answer(answer), words)
            }
            "denies" => self.closes(Close::Deny, words),
            "skips" => self.closes(Close::Skip, words),
            "cancels-question" => self.closes(Close::Cancel, words),
            "fetches" => Action::Question(question::Action::Fetch {
                question: self.asked(words),
                reason: words.quoted.take().unwrap_or_default(),
            }),
            "lapses" => Action::Question(question::Action::TimerDue { question: self.asked(words) }),
            "halts" => Action::Halt(halt::Action::Raise(NewHalt {
                id: parse(&words.next()),
                scope: words.get("scope").unwrap(),
                agent_id: words.get("agent"),
                session_id: words.get("session"),
                reason: words.quoted.take().unwrap_or_default(),
            })),
            "lifts" => Action::Halt(halt::Action::Lift { halt: parse(&words.next()) }),
            "mints" => Action::Token(token::Action::Mint(NewToken {
                id: words.get("id").unwrap(),
                principal: Principal {
                    capabilities: words.list("can").unwrap_or_default(),
                    ..Principal::new(words.get("name").unwrap(), words.get("role").unwrap())
                },
                hash: [7; 32],
                kind: words.get("kind").unwrap_or_default(),
            })),
            "revokes" => Action::Token(token::Action::Revoke { token: words.get("id").unwrap() }),
            "starts" => Action::Run(run::Action::Start(Box::new(starts(words)))),
            "claims" => Action::Run(run::Action::Claim { run: self.ran(words), node: words.get("node").unwrap() }),
            "records" => self.records(by, words),
            "parks" => self.parks(words),
            "wakes" => Action::Run(run::Action::TimerDue { run: self.ran(words) }),
            "stops" => {
                let run = self.ran(words);
                let code = words.text("code").unwrap_or_else(|| "stuck".to_owned());
                let message = words.quoted.take().unwrap_or_default();
                Action::Run(run::Action::Stop { epoch: self.epoch(&run, words), run, code, message })
            }
            "ends" => {
                let run = self.ran(words);
                let said = words.quoted.take().unwrap_or_default();
                let conclusion = match words.text("code") {
                    Some(code) => Conclusion::Failed { code, message: said },
                    None => Conclusion::Completed { output: said },
                };
                Action::Run(run::Action::End { fence: self.fence(by, &run, words), run, conclusion })
            }
            "cancels-run" => Action::Run(run::Action::Cancel {
                run: self.ran(words),
                reason: words.quoted.take().unwrap_or_default(),
            }),
            "resumes" => Action::Run(run::Action::Resume { run: self.ran(words) }),
            "beats" => Action::Node(node::Action::Heartbeat {
                node: parse(&words.next()),
                span: span(&words.text("for").unwrap()),
                alone: words.get("alone").unwrap_or(false),
            }),
            "leaves" => Action::Node(node::Action::Leave { node: parse(&words.next()) }),
            "hooks" => {
                let name: Name = parse(&words.next());
                let id = words.get("id").unwrap_or_else(|| parse(name.as_str()));
                let url = words.text("url").unwrap_or_else(|| "https://example.com".to_owned());
                let key = words.get("key").unwrap_or_else(|| parse("key-1"));
                Action::Webhook(webhook::Action::Create(Box::new(NewWebhook {
                    id,
                    name,
                    url,
                    events: words.list("events"),
                    key,
                })))
            }
            "rehooks" => Action::Webhook(webhook::Action::Change(Box::new(WebhookChange {
                webhook: parse(&words.next()),
                url: words.text("url"),
                events: words.list("events"),
                disabled: words.get("disabled"),
                rotate: words.get("rotate"),
            }))),
            "unhooks" => Action::Webhook(webhook::Action::Remove { webhook: parse(&words.next()) }),
            "takes" => Action::Delivery(delivery::Action::Take {
                channel: words.next(),
                limit: words.get("limit").unwrap_or(100),
                lease: span("1m"),
            }),
            "settles" => {
                let Delivery { id, epoch, .. } = self.delivery(words).clone();
                let again = match words.text("again").as_deref() {
                    Some("never") => RetryAdvice::Never,
                    Some(after) => RetryAdvice::After(span(after)),
                    None => RetryAdvice::Later,
                };
                let failed = words.quoted.take().map(|reason| DeliveryResult::Failed { reason, again });
                let result = failed.unwrap_or(DeliveryResult::Delivered);
                let epoch = words.get("epoch").unwrap_or(epoch);
                Action::Delivery(delivery::Action::Settle(Box::new(Settlement { delivery: id, epoch, result })))
            }
            "abandons" => {
                let overdue = words.text("overdue").map(|overdue| span(&overdue));
                let reason = words.quoted.take().unwrap_or_default();
                let lost = |channel: &str| Abandonment { channel: channel.to_owned(), reason: reason.clone(), overdue };
                Action::Delivery(delivery::Action::Abandon(words.next().split(',').map(lost).collect()))
            }
            "resends" => Action::Delivery(delivery::Action::Resend { delivery: self.delivery(words).id.clone() }),
            _ => panic!("{verb} is no verb"),
        }
    }

    /// The delivery of this number.
    fn delivery(&self, words: &mut Words) -> &Delivery {
        let number: usize = parse(&words.next());
        &self.world.outbox[number - 1]
    }

    fn opens(&self, words: &mut Words) -> Action {
        let (artifacts, contents) = artifacts(words).unwrap_or_default();
        let new_gate = NewGate {
            id: parse(&words.next()),
            run_id: words.get("run"),
            session_id: words.get("session"),
            title: words.text("title"),
            summary: words.quoted.take().unwrap_or_else(|| "Deploy 1.4.2".to_owned()),
            phase: words.get("phase").unwrap_or_else(|| parse("merge")),
            kind: words.get("kind").unwrap_or(GateKind::Custom),
            risk: words.get("risk").unwrap_or(Risk::Medium),
            artifacts,
            allowed: words.list("allowed"),
            timeout: words.text("timeout").map(|text| timeout(&text)),
            on_timeout: words.get("on_timeout"),
            reviewers: words.list("reviewers"),
            quorum: words.get("quorum"),
            reject_quorum: words.get("reject_quorum"),
            self_review: words.get("self_review"),
            dedupe_key: words.text("key"),
            notification_channels: words.list("tell").unwrap_or_default(),
            on_behalf_of: words.get("for"),
        };
        Action::Gate(gate::Action::Open { new_gate: Box::new(new_gate), policy: self.policy.clone(), contents })
    }

    /// `digest=r2` is the digest that the gate had at revision 2.
    fn says(&self, choice: Choice, force: bool, words: &mut Words) -> Action {
        let gate = self.named(words);
        let digest = words.text("digest").map(|text| {
            let revision = text.strip_prefix('r').unwrap().parse().unwrap();
            self.digests[&(gate.clone(), revision)]
        });
        Action::Gate(gate::Action::Decide(Review {
            gate,
            choice,
            reason: words.quoted.take().unwrap_or_default(),
            feedback: words.text("feedback"),
            edited: words.text("edited"),
            digest,
            force,
            reviewer: None,
        }))
    }

    fn asks(&self, words: &mut Words) -> Action {
        let new_question = NewQuestion {
            id: parse(&words.next()),
            question_type: parse(&words.next()),
            agent_id: words.get("agent"),
            session_id: words.get("session"),
            run_id: words.get("run"),
            text: words.quoted.take().unwrap_or_else(|| "May I?".to_owned()),
            options: words.list("options").unwrap_or_default(),
            default: words.text("default").map(Value::from).or_else(|| words.json("json")),
            timeout: words.text("timeout").map(|text| timeout(&text)),
            halts: words.get("halts"),
            priority: words.get("priority"),
        };
        let defaults = self.defaults.defaults(new_question.question_type);
        Action::Question(question::Action::Ask { new_question: Box::new(new_question), defaults })
    }

    fn records(&mut self, by: &Actor, words: &mut Words) -> Action {
        let run = words.get("of").unwrap_or_else(|| self.run.clone().expect("a run was started"));
        let now = self.now.expect("a transcript says when");
        let (key, verb) = (parse(&words.next()), words.next());
        let mut error = || StepError::new("broke", words.quoted.take().unwrap_or_default());
        let (defaults, write) = match verb.as_str() {
            "begins" => (EntryKind::Step, Write::Begin),
            "retries" => (EntryKind::Step, Write::Failing(error(), now.plus(Duration::from_secs(60)))),
            "fails" => (EntryKind::Step, Write::Failed(error())),
            "does" => (EntryKind::Step, Write::Done(words.quoted.take().unwrap())),
            "sleeps" => (EntryKind::Sleep, Write::Sleep(span(&words.text("for").unwrap()))),
            "tells" => {
                let kind = words.text("event").unwrap();
                let payload = words.quoted.take().unwrap_or_default();
                (EntryKind::Event, Write::Emit { kind, payload, records: Vec::new() })
            }
            _ => {
                words.bare.push_front(verb.clone());
                match self.action(by, words) {
                    Action::Gate(gate::Action::Open { new_gate, policy, contents }) => {
                        (EntryKind::Gate, Write::Open { new_gate, policy, contents, alone: None })
                    }
                    Action::Question(question::Action::Ask { new_question, defaults }) => {
                        (EntryKind::Question, Write::Ask { new_question, defaults })
                    }
                    Action::Run(run::Action::Start(new_run)) => (EntryKind::Run, Write::Start(new_run)),
                    _ => panic!("{verb} is nothing that is recorded"),
                }
            }
        };
        let entry = NewEntry {
            key,
            kind: words.get("as").unwrap_or(defaults),
            ordinal: words.get("call").unwrap_or(0),
            input: words.text("given").map(|text| Digest::of(text.as_bytes())),
            agent_id: words.get("worker"),
            began_at: words.text("began").map_or(now, |text| time(&text)),
        };
        let fence = self.fence(by, &run, words);
        self.run = Some(run.clone());
        Action::Run(run::Action::Record(Box::new(JournalWrite { run, fence, entry, write })))
    }

    /// The worker knows of all wake-ups unless `wakes=` says another number.
    fn parks(&self, words: &mut Words) -> Action {
        let run = self.ran(words);
        let of_run = self.world.runs.get(&run).map(|run| run.start.session_id.clone());
        Action::Run(run::Action::Park(ParkRequest {
            epoch: self.epoch(&run, words),
            wakes: words.get("wakes").or_else(|| self.world.wakes.get(&run).copied()).unwrap_or_default(),
            due: words.text("due").map_or(Deadline::Never, |text| Deadline::At(time(&text))),
            held: words.list("held").unwrap_or_default(),
            outages: words.text("away").map_or_else(Vec::new, |provider| {
                let retry_at = words.text("retry").map_or(Timestamp::from_micros(0), |text| time(&text));
                vec![Outage { provider, reason: "refused".to_owned(), retry_at }]
            }),
            session_id: of_run.unwrap_or_else(|| parse("none")),
            run,
        }))
    }

    fn fence(&self, by: &Actor, run: &RunId, words: &mut Words) -> Fence {
        match by {
            Actor::System => Fence::Epoch(self.epoch(run, words)),
            Actor::Principal(_) => Fence::Owner,
        }
    }

    fn epoch(&self, run: &RunId, words: &mut Words) -> u64 {
        words.get("claim").unwrap_or_else(|| self.world.runs.get(run).map_or(0, |run| run.epoch))
    }

    fn closes(&self, close: Close, words: &mut Words) -> Action {
        let said = words.text("reason").or_else(|| words.quoted.take());
        Action::Question(question::Action::Close(Reply {
            question: self.asked(words),
            close,
            reason: said.unwrap_or_default(),
        }))
    }

    fn set_usual(&mut self, words: &mut Words) -> String {
        let question_type = parse(&words.next());
        let defaults = self.defaults.defaults(question_type);
        let defaults = TypeDefaults {
            timeout: words.text("timeout").map_or(defaults.timeout, |text| timeout(&text)),
            default: words.text("default").map(Value::from).or_else(|| words.json("json")).or(defaults.default),
        };
        let refused = self.defaults.set(question_type, defaults).err();
        refused.map_or_else(String::new, |refusal| format!("refused: {}", why(&refusal)))
    }

    fn set_policy(&mut self, words: &mut Words) -> String {
        let defaults = GatePolicy::default();
        self.policy = GatePolicy {
            timeout: words.text("timeout").map_or(defaults.timeout, |text| timeout(&text)),
            on_timeout: words.get("on_timeout").unwrap_or(defaults.on_timeout),
            reviewers: words.list("reviewers").unwrap_or_default(),
            quorum: words.get("quorum").unwrap_or(defaults.quorum),
            reject_quorum: words.get("reject_quorum").unwrap_or(defaults.reject_quorum),
            self_review: words.get("self_review"),
            notification_channels: words.list("tell").unwrap_or_default(),
            remind_before_ms: minutes(words.list("remind")),
            escalate_before_ms: minutes(words.list("escalate")).pop(),
            escalate_to: words.list("escalate_to").unwrap_or_default(),
            presence: Default::default(),
        };
        self.policy.check().err().map_or_else(String::new, |refusal| format!("refused: {}", why(&refusal)))
    }

    fn log(&self, words: &mut Words) -> String {
        let stream = words.text("of").unwrap_or_else(|| self.named(words).to_string());
        list(self.world.stream(&stream).iter().map(|event| {
            let (noun, verb) = event.fact.kind.split_once('.').unwrap();
            let is_notice = ["agent", "session", "system"].contains(&noun);
            if is_notice { event.fact.kind.to_string() } else { verb.to_owned() }
        }))
    }

    /// One event of a stream: who, what, and what exactly.
    fn event(&self, words: &mut Words) -> String {
        let n: usize = parse(&words.next());
        let fact = &self.world.stream(&words.text("of").unwrap())[n - 1].fact;
        let speaks = fact.on_behalf_of.as_ref().map_or_else(String::new, |agent| format!(" for {agent}"));
        short(&format!("{}{speaks}: {} {}", fact.actor, fact.kind, fact.payload))
    }

    fn timer(&self, words: &mut Words) -> String {
        let subject = match (words.text("of"), words.get("run")) {
            (Some(question), _) => Subject::Question(parse(&question)),
            (None, Some(run)) => Subject::Run(run),
            (None, None) => Subject::Gate(self.named(words)),
        };
        let due = self.world.timers.get(&subject);
        due.map_or("none".to_owned(), |due| clock(*due))
    }

    fn named(&self, words: &mut Words) -> GateId {
        words.get("on").unwrap_or_else(|| self.gate.clone().expect("a gate was opened"))
    }

    fn asked(&self, words: &mut Words) -> QuestionId {
        let named = words.bare.pop_front().map(|id| parse(&id));
        named.unwrap_or_else(|| self.question.clone().expect("a question was asked"))
    }

    fn ran(&self, words: &mut Words) -> RunId {
        let named = words.bare.pop_front().map(|id| parse(&id));
        named.unwrap_or_else(|| self.run.clone().expect("a run was started"))
    }

    fn describe(&self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Nothing => "nothing".to_owned(),
            Outcome::Gate(gate) => state(gate),
            Outcome::Existing(gate) => format!("existing {}, {}", gate.id, state(gate)),
            Outcome::Question(question) => question_state(question),
            Outcome::Halt(halt) => halt_state(halt),
            Outcome::Run(run) | Outcome::Claimed(run, _) => run_state(run),
            Outcome::ExistingRun(run) => format!("existing, {}", run_state(run)),
            Outcome::Entry(entry) | Outcome::Stands(entry) => self.step(entry),
            Outcome::Erased(digests) => format!("{} erased", digests.len()),
            Outcome::Awake(wakes) => format!("awake, {wakes} wake-ups"),
            Outcome::Token(token) => {
                let Principal { name, role, capabilities } = &token.principal;
                let can: String = capabilities.iter().map(|capability| format!(", can {capability}")).collect();
                let revoked = token.revoked_at.map_or("", |_| ", revoked");
                format!("token of {name}, {role}{can}{revoked}")
            }
            Outcome::Webhook(webhook) => {
                let Webhook { name, url, events, .. } = webhook.as_ref();
                let removed = webhook.removed_at.map_or("", |_| ", removed");
                let disabled = if webhook.disabled { ", disabled" } else { "" };
                let events = list(events.iter().map(|pattern| pattern.as_str()));
                let key = webhook.key.as_ref().filter(|key| key.as_str() != "key-1");
                let key = key.map(|key| format!(" of {key}")).unwrap_or_default();
                let now = self.world.log.last().expect("it was made").fact.at;
                let both: Vec<String> = webhook.generations(now).map(|number| number.to_string()).collect();
                let secret = both.join(" and ");
                format!("{name} at {url} wants {events}, secret {secret}{key}{disabled}{removed}")
            }
            Outcome::Delivery(delivery) => delivery_state(delivery),
            Outcome::Deliveries(deliveries) => list(deliveries.iter().map(delivery_state)),
        }
    }

    fn step(&self, entry: &Entry) -> String {
        let state = match &entry.state {
            EntryState::Begun => "begun".to_owned(),
            EntryState::Failing { error, retry_at } => format!("failing \"{error}\" until {}", clock(*retry_at)),
            EntryState::Done { result, .. } => {
                format!("done \"{}\"", String::from_utf8_lossy(&self.world.artifacts[result]))
            }
            EntryState::Failed { error } => format!("failed \"{error}\""),
            EntryState::Waiting(Waits::Gate(id)) => format!("waiting for gate {id}"),
            EntryState::Waiting(Waits::Question(id)) => format!("waiting for question {id}"),
            EntryState::Waiting(Waits::Run(id)) => format!("waiting for run {id}"),
            EntryState::Waiting(Waits::Until(moment)) => format!("waiting until {}", clock(*moment)),
        };
        let times = if entry.attempts == 1 { "attempt" } else { "attempts" };
        format!("{state}, {} {times}", entry.attempts)
    }
}

fn delivery_state(delivery: &Delivery) -> String {
    let Delivery { channel, kind, attempts, .. } = delivery;
    let why = delivery.last_error.as_ref().map_or_else(String::new, |why| format!(" after \"{why}\""));
    let state = match delivery.state {
        DeliveryState::Waiting { due } => format!("waiting until {}", clock(due)),
        DeliveryState::Sending { until } => format!("sending until {}", clock(until)),
        DeliveryState::Delivered { .. } => "delivered".to_owned(),
        DeliveryState::Dead { .. } => "dead".to_owned(),
    };
    format!("{kind} to {channel} {state}{why} ({attempts})")
}

fn run_state(run: &Run) -> String {
    match &run.state {
        RunState::Pending => "pending".to_owned(),
        RunState::Outside => "outside".to_owned(),
        RunState::Running { node, .. } => format!("running on {node}, claim {}", run.epoch),
        RunState::Parked(_) => "parked".to_owned(),
        RunState::Stopped { code, .. } => format!("stopped {code}"),
        RunState::Ended(ending) => format!("{} by {}", ending.outcome, ending.by),
    }
}

fn starts(words: &mut Words) -> NewRun {
    let defaults = RunLimits::default();
    NewRun {
        id: parse(&words.next()),
        workflow: words.bare.pop_front().map(|name| parse(&name)),
        title: words.text("title").unwrap_or_default(),
        session_id: words.get("session"),
        input: words.quoted.take(),
        limits: RunLimits {
            steps_max: words.get("steps").unwrap_or(defaults.steps_max),
            journal_bytes_max: words.get("bytes").unwrap_or(defaults.journal_bytes_max),
            active_ms_max: words.get("active_ms").unwrap_or(defaults.active_ms_max),
        },
    }
}

fn question_state(question: &Question) -> String {
    let mut text = question.status().to_string();
    match question.closure() {
        None => {
            if let Some(scope) = question.halts {
                write!(text, ", halts {scope}").unwrap();
            }
            if question.reminders > 0 {
                write!(text, ", reminded {}", question.reminders).unwrap();
            }
        }
        Some(closure) => {
            if let Some(answer) = &closure.answer {
                write!(text, " {answer}").unwrap();
            }
            write!(text, " by {}", closure.by).unwrap();
            if closure.fetched_at.is_some() {
                text.push_str(", fetched");
            }
        }
    }
    text
}

fn halt_state(halt: &Halt) -> String {
    halt.lifted.as_ref().map_or("stands".to_owned(), |lifting| format!("lifted by {}", lifting.by))
}

fn state(gate: &Gate) -> String {
    let votes = match &gate.state {
        GateState::Closed(decision) => {
            return format!("{} by {}, {}", decision.decision, decision.reviewer, decision.outcome);
        }
        GateState::Pending { votes } => votes,
    };
    let mut text = "pending".to_owned();
    if gate.revision > 1 {
        write!(text, ", revision {}", gate.revision).unwrap();
    }
    let counted = [("reminded", gate.reminders.reminded), ("escalated early", gate.reminders.escalations)];
    for (what, count) in counted.into_iter().filter(|(_, count)| *count > 0) {
        let times = if count == 1 { String::new() } else { format!(" {count} times") };
        write!(text, ", {what}{times}").unwrap();
    }
    if gate.escalated {
        text.push_str(", escalated");
    }
    for vote in votes {
        write!(text, ", {} {}", vote.reviewer, vote.choice).unwrap();
    }
    text
}

/// The stable code, and the part of the refusal that tells one case from another.
fn why(refusal: &Refusal) -> String {
    let code = refusal.code();
    match refusal {
        Refusal::Invalid { field, .. } | Refusal::WeakensPolicy { field, .. } => format!("{code} {field}"),
        Refusal::Decided { decision } => format!("{code} by {}", decision.reviewer),
        Refusal::QuestionClosed { closure, .. } => format!("{code} {} by {}", closure.status, closure.by),
        Refusal::HaltLifted { lifting, .. } => format!("{code} by {}", lifting.by),
        Refusal::HaltsAsker { verb, .. } => format!("{code} {verb}"),
        Refusal::DedupeConflict { gate } => format!("{code} {gate}"),
        Refusal::RoleMayNot { verb, .. } | Refusal::NotRequester { verb, .. } => format!("{code} {verb}"),
        _ => code.to_owned(),
    }
}

/// `artifacts=name:content,name:content`.
fn artifacts(words: &mut Words) -> Option<(Vec<ArtifactRef>, Vec<Vec<u8>>)> {
    let pairs = words.list::<String>("artifacts")?;
    let media_type = words.text("media_type").unwrap_or_else(|| "text/plain".to_owned());
    let read = |pair: String| {
        let (name, content) = pair.split_once(':').unwrap();
        let digest = Digest::of(content.as_bytes());
        let bytes = content.len() as u64;
        (ArtifactRef { name: name.to_owned(), media_type: media_type.clone(), digest, bytes }, content.into())
    };
    Some(pairs.into_iter().map(read).unzip())
}

fn timeout(text: &str) -> Timeout {
    if text == "never" { Timeout::Never } else { Timeout::After(span(text)) }
}

fn span(text: &str) -> Duration {
    let at = text.find(|c: char| !c.is_ascii_digit()).expect("a unit");
    let (number, unit) = (text[..at].parse().unwrap(), &text[at..]);
    match unit {
        "h" => Duration::from_secs(number * 3600),
        "m" => Duration::from_secs(number * 60),
        "s" => Duration::from_secs(number),
        "ms" => Duration::from_millis(number),
        "us" => Duration::from_micros(number),
        _ => panic!("{unit} is no unit"),
    }
}

fn clock(moment: Timestamp) -> String {
    moment.to_string()[11..].trim_end_matches(".000000Z").to_owned()
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// Digests cut to what the eye compares.
fn short(json: &str) -> String {
    let mut parts = json.split("sha256:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| format!("{text}sha256:{}…{}", &part[..8], &part[64..]))
}

fn parse<T: FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text:?} does not parse"))
}

/// A line's words: bare ones, one quoted text, and `key=value`.
#[derive(Debug, Default)]
struct Words {
    bare: std::collections::VecDeque<String>,
    quoted: Option<String>,
    keys: BTreeMap<String, String>,
}

impl Words {
    fn read(line: &str) -> Self {
        let mut words = Words::default();
        let (mut word, mut in_quotes, mut quoted) = (String::new(), false, false);
        for c in line.chars().chain([' ']) {
            if c == '"' {
                in_quotes = !in_quotes;
                quoted = true;
            } else if c.is_whitespace() && !in_quotes {
                words.add(std::mem::take(&mut word), std::mem::take(&mut quoted));
            } else {
                word.push(c);
            }
        }
        words
    }

    fn add(&mut self, word: String, quoted: bool) {
        match word.split_once('=') {
            Some((key, value)) => {
                self.keys.insert(key.to_owned(), expand(value));
            }
            None if quoted => self.quoted = Some(expand(&word)),
            None if word.is_empty() => {}
            None => self.bare.push_back(word),
        }
    }

    fn next(&mut self) -> String {
        self.bare.pop_front().expect("another word")
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.keys.remove(key)
    }

    fn get<T: FromStr>(&mut self, key: &str) -> Option<T> {
        self.text(key).map(|text| parse(&text))
    }

    fn json(&mut self, key: &str) -> Option<Value> {
        self.text(key).map(|text| serde_json::from_str(&text).unwrap())
    }

    fn list<T: FromStr>(&mut self, key: &str) -> Option<Vec<T>> {
        let text = self.text(key)?;
        Some(text.split(',').filter(|part| !part.is_empty()).map(parse).collect())
    }

    fn is_spent(&self) -> bool {
        self.bare.is_empty() && self.quoted.is_none() && self.keys.is_empty()
    }
}

fn expand(text: &str) -> String {
    let Some((before, rest)) = text.split_once('{') else { return text.to_owned() };
    let (what, after) = rest.split_once('}').expect("a closing brace");
    let filling = match what {
        "nul" => "\0".to_owned(),
        "nl" => "\n".to_owned(),
        "cr" => "\r".to_owned(),
        number => "x".repeat(number.parse().unwrap()),
    };
    format!("{before}{filling}{}", expand(after))
}
