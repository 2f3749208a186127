//! What a gate is, once more and independently: from the rules as DESIGN and the guides state them,
//! in plain words and numbers, sharing no line with the code that it is compared with.

use std::collections::{BTreeMap, BTreeSet};

/// No deadline.
pub(super) const NEVER: i64 = i64::MAX;

/// What somebody tries at a moment.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub at: i64,
    pub who: &'static str,
    pub gate: usize,
    pub wish: Wish,
}

#[derive(Clone, Debug)]
pub(super) enum Wish {
    Open(Asked),
    Amend {
        title: Option<&'static str>,
        summary: Option<&'static str>,
        risk: Option<usize>,
    },
    Decide(Said),
    Extend(i64),
    Cancel,
    /// The clock's, at any time.
    Expire,
}

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub title: Option<&'static str>,
    pub summary: &'static str,
    pub kind: &'static str,
    pub risk: usize,
    pub allowed: Option<Vec<&'static str>>,
    pub wait: Option<i64>,
    pub on_timeout: Option<&'static str>,
    pub reviewers: Option<Vec<&'static str>>,
    pub quorum: Option<u32>,
    pub reject_quorum: Option<u32>,
    pub self_review: Option<bool>,
    pub key: Option<&'static str>,
    pub behalf: Option<&'static str>,
    pub run: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub(super) struct Said {
    pub choice: &'static str,
    pub reason: &'static str,
    pub feedback: Option<&'static str>,
    pub edited: Option<&'static str>,
    /// The revision whose digest is named.
    pub seen: Option<usize>,
    pub force: bool,
    pub claims: Option<&'static str>,
}

/// The server's own words.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub wait: i64,
    pub on_timeout: &'static str,
    pub reviewers: Vec<&'static str>,
    pub quorum: u32,
    pub reject_quorum: u32,
    pub self_review: Option<bool>,
}

/// All that can be seen of a gate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    pub title: String,
    pub risk: usize,
    pub revision: usize,
    pub deadline: i64,
    pub escalated: bool,
    pub votes: Vec<(String, String)>,
    /// Word, by whom, when, on which revision, and what follows.
    pub decision: Option<(String, String, i64, usize, String)>,
}

#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub view: View,
    pub contents: Vec<(String, String, usize)>,
    pub by: &'static str,
    pub asked: Asked,
    initiator: Option<&'static str>,
    wait: i64,
    on_timeout: &'static str,
    reviewers: BTreeSet<&'static str>,
    allowed: BTreeSet<&'static str>,
    quorum: u32,
    reject_quorum: u32,
    self_review: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub rules: Rules,
    pub gates: BTreeMap<usize, Gate>,
    runs: BTreeMap<&'static str, &'static str>,
}

/// Every rule that a wish breaks; it is done if there is none.
type Broken = BTreeSet<&'static str>;

impl Gate {
    fn overdue(&self, now: i64) -> bool {
        self.view.decision.is_none() && self.view.deadline <= now
    }

    fn closed(&self, now: i64, broken: &mut Broken) {
        broken.extend(self.view.decision.is_some().then_some("gate_decided"));
        broken.extend(self.overdue(now).then_some("gate_overdue"));
    }

    fn close(&mut self, word: &str, by: &str, now: i64, next: &str) {
        let alone = matches!(word, "timed_out" | "cancelled") || self.quorum == 1 && self.reject_quorum == 1;
        if alone {
            self.view.votes.clear();
        }
        self.view.decision = Some((word.to_owned(), by.to_owned(), now, self.view.revision, next.to_owned()));
    }

    /// The timer came round, perhaps too early or too late.
    fn settle(&mut self, now: i64) {
        if !self.overdue(now) {
        } else if self.on_timeout == "escalate" && !self.view.escalated {
            (self.view.escalated, self.view.deadline) = (true, later(now, self.wait));
        } else {
            self.close("timed_out", "timeout", now, if self.on_timeout == "approve" { "proceed" } else { "stop" });
        }
    }

    fn same_as(&self, other: &Gate) -> bool {
        let all = |gate: &Gate| (gate.contents.last().cloned(), gate.asked.kind, gate.on_timeout, gate.quorum);
        all(self) == all(other) && self.allowed == other.allowed && self.reviewers == other.reviewers
    }
}

impl Model {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, gates: BTreeMap::new(), runs: BTreeMap::new() }
    }

    /// Does it, or says which rules it breaks.
    pub(super) fn take(&mut self, step: &Step) -> Result<(), Broken> {
        let (who, now, mut broken) = (step.who, step.at, Broken::new());
        if let Wish::Open(asked) = &step.wish {
            return self.open(step.gate, who, asked, now);
        }
        let Some(gate) = self.gates.get_mut(&step.gate) else {
            return if matches!(step.wish, Wish::Expire) { Ok(()) } else { Err(Broken::from(["unknown_gate"])) };
        };
        let hidden = agent(who) && gate.by != who && gate.initiator != Some(who);
        if hidden && !matches!(step.wish, Wish::Decide(_) | Wish::Expire) {
            return Err(Broken::from(["unknown_gate"]));
        }
        match &step.wish {
            Wish::Open(_) => unreachable!("above"),
            Wish::Expire => gate.settle(now),
            Wish::Cancel | Wish::Extend(_) => {
                gate.closed(now, &mut broken);
                broken.extend((who == "vera").then_some("role_may_not"));
                broken.extend((agent(who) && gate.by != who).then_some("not_requester"));
                let Wish::Extend(wait) = step.wish else {
                    return done(broken, || gate.close("cancelled", who, now, "stop"));
                };
                broken.extend((wait == 0).then_some("invalid"));
                broken.extend((later(now, wait) <= gate.view.deadline).then_some("deadline_not_later"));
                return done(broken, || gate.view.deadline = later(now, wait));
            }
            Wish::Amend { title, summary, risk } => {
                gate.closed(now, &mut broken);
                broken.extend((gate.by != who).then_some("not_requester"));
                let (was, old, stakes) = gate.contents.last().expect("there is one").clone();
                let new = summary.map_or(old.clone(), str::to_owned);
                let follows = title.is_none() && first_line(&old) == was;
                let named = title.map_or(was, |title| title.trim().to_owned());
                let named = if follows { first_line(&new) } else { named };
                let stake = risk.unwrap_or(stakes);
                broken.extend((new.trim().is_empty() || named.is_empty() || named.contains('\n')).then_some("invalid"));
                broken.extend((stake < stakes).then_some("weakens_policy"));
                let content = (named, new, stake);
                if broken.is_empty() && gate.contents.last() != Some(&content) {
                    (gate.view.title, gate.view.risk) = (content.0.clone(), stake);
                    gate.contents.push(content);
                    gate.view.revision += 1;
                    gate.view.votes.clear();
                    if gate.on_timeout == "approve" {
                        gate.view.deadline = gate.view.deadline.max(later(now, gate.wait));
                    }
                }
            }
            Wish::Decide(said) => {
                if !decides(who) {
                    return Err(Broken::from(["role_may_not"]));
                }
                gate.closed(now, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                let mut breaks = |rule, holds: bool| broken.extend(holds.then_some(rule));
                breaks("not_you", said.claims.is_some_and(|name| name != who));
                breaks("own_gate", gate.by == who);
                breaks("self_review", gate.initiator == Some(who) && !gate.self_review);
                breaks("role_may_not", said.force && !admin(who));
                let stranger = !gate.reviewers.is_empty() && !gate.reviewers.contains(who);
                let objects = gate.on_timeout == "approve" && said.choice == "reject";
                breaks("not_a_reviewer", !said.force && stranger && !objects);
                let stale = said.seen.is_some_and(|n| gate.contents.get(n - 1) != gate.contents.last());
                breaks("stale_digest", stale && !objects);
                let unseen = said.seen.is_none() && (gate.view.risk == 3 || gate.view.revision > 1);
                breaks("digest_required", unseen && !objects);
                breaks("decision_not_allowed", !gate.allowed.contains(said.choice));
                breaks("invalid", said.force && !matches!(said.choice, "approve" | "reject"));
                breaks("invalid", said.edited.is_some() && said.choice != "adjust");
                let mute = said.reason.trim().is_empty();
                breaks("reason_required", mute && (said.force || said.choice == "reject"));
                let filled = |text: Option<&str>| text.is_some_and(|text| !text.trim().is_empty());
                breaks("feedback_required", said.choice == "adjust" && !filled(said.feedback) && !filled(said.edited));
                let votes = &mut gate.view.votes;
                breaks("already_voted", !said.force && votes.iter().any(|(name, _)| name == who));
                if !broken.is_empty() {
                    return Err(broken);
                }
                votes.retain(|(name, _)| name != who);
                votes.push((who.to_owned(), said.choice.to_owned()));
                let objects = |choice: &str| matches!(choice, "reject" | "adjust");
                let same = |choice: &str| choice == said.choice || objects(choice) && objects(said.choice);
                let count = votes.iter().filter(|(_, choice)| same(choice)).count() as u32;
                let needed = if objects(said.choice) { gate.reject_quorum } else { gate.quorum };
                let (word, next) = match said.choice {
                    "approve" if said.force => ("override", "proceed"),
                    "approve" => ("approved", "proceed"),
                    "pause" => ("paused", "proceed"),
                    "reject" => ("rejected", "stop"),
                    _ if gate.asked.kind == "checkpoint" => ("adjust_strategy", "retry"),
                    _ => ("adjust_requested", "retry"),
                };
                if said.force || count >= needed {
                    gate.close(word, who, now, next);
                }
            }
        }
        done(broken, || ())
    }

    fn open(&mut self, id: usize, who: &'static str, asked: &Asked, now: i64) -> Result<(), Broken> {
        let (rules, mut broken) = (&self.rules, Broken::new());
        let mut breaks = |rule, holds: bool| broken.extend(holds.then_some(rule));
        let run = asked.run.and_then(|run| self.runs.get(run).copied());
        breaks("role_may_not", who == "vera");
        breaks("not_your_run", agent(who) && run.is_some_and(|initiator| initiator != who));
        let usual = rules.self_review.unwrap_or(asked.risk != 3);
        let gate = Gate {
            view: View {
                title: asked.title.map_or_else(|| first_line(asked.summary), |title| title.trim().to_owned()),
                risk: asked.risk,
                revision: 1,
                deadline: later(now, asked.wait.unwrap_or(rules.wait)),
                escalated: false,
                votes: Vec::new(),
                decision: None,
            },
            contents: Vec::new(),
            by: who,
            initiator: run.or(asked.run.map(|_| who)),
            wait: asked.wait.unwrap_or(rules.wait),
            on_timeout: asked.on_timeout.unwrap_or(rules.on_timeout),
            reviewers: asked.reviewers.as_ref().unwrap_or(&rules.reviewers).iter().copied().collect(),
            allowed: match (&asked.allowed, asked.kind) {
                (Some(allowed), _) => allowed.iter().copied().collect(),
                (None, "proposal") => BTreeSet::from(["approve", "reject", "adjust"]),
                (None, "checkpoint") => BTreeSet::from(["approve", "reject", "adjust", "pause"]),
                (None, _) => BTreeSet::from(["approve", "reject"]),
            },
            quorum: asked.quorum.unwrap_or(rules.quorum),
            reject_quorum: asked.reject_quorum.unwrap_or(rules.reject_quorum),
            self_review: asked.self_review.unwrap_or(usual),
            asked: asked.clone(),
        };
        let gate = Gate { contents: vec![(gate.view.title.clone(), asked.summary.to_owned(), asked.risk)], ..gate };
        let silence = gate.on_timeout == "approve";
        breaks("weakens_policy", agent(who) && silence && rules.on_timeout != "approve");
        breaks("weakens_policy", agent(who) && silence && gate.wait < rules.wait);
        let chooses = gate.reviewers != rules.reviewers.iter().copied().collect()
            || (gate.quorum, gate.reject_quorum) != (rules.quorum, rules.reject_quorum)
            || asked.behalf.is_some();
        breaks("weakens_policy", agent(who) && silence && chooses);
        breaks("names_person", asked.behalf.is_some_and(|name| decides(name) && name != who));
        let outside = gate.reviewers.is_empty() || gate.reviewers.iter().any(|name| !rules.reviewers.contains(name));
        breaks("weakens_policy", agent(who) && !rules.reviewers.is_empty() && outside);
        breaks("weakens_policy", agent(who) && gate.quorum < rules.quorum);
        breaks("weakens_policy", agent(who) && gate.reject_quorum > rules.reject_quorum);
        breaks("weakens_policy", agent(who) && gate.self_review && !usual);
        breaks("invalid", gate.on_timeout == "retry" || gate.wait == 0 || !gate.allowed.contains("reject"));
        breaks(
            "invalid",
            asked.summary.trim().is_empty() || gate.view.title.is_empty() || gate.view.title.contains('\n'),
        );
        breaks("invalid", gate.quorum == 0 || gate.reject_quorum == 0);
        let barred = [Some(who), run.filter(|_| !gate.self_review)];
        let free = gate.reviewers.iter().filter(|name| !barred.contains(&Some(**name))).count() as u32;
        breaks("invalid", !gate.reviewers.is_empty() && gate.quorum + gate.reject_quorum > free + 1);

        let is_pending_duplicate =
            |gate: &&mut Gate| gate.by == who && gate.asked.key == asked.key && gate.view.decision.is_none();
        let pending_duplicate = self.gates.values_mut().filter(|_| asked.key.is_some()).find(is_pending_duplicate);
        if let Some(pending_duplicate) = pending_duplicate {
            // Once its time is over, that is settled first; only a gate that still waits is asked
            // once.
            let mut settled = pending_duplicate.clone();
            settled.settle(now);
            let waits = settled.view.decision.is_none();
            breaks("dedupe_conflict", waits && !settled.same_as(&gate));
            if broken.is_empty() {
                *pending_duplicate = settled;
            }
            if waits {
                return done(broken, || ());
            }
        }
        done(broken, || {
            if let Some(run) = asked.run {
                self.runs.entry(run).or_insert(who);
            }
            self.gates.insert(id, gate);
        })
    }
}

fn done(broken: Broken, work: impl FnOnce()) -> Result<(), Broken> {
    if !broken.is_empty() {
        return Err(broken);
    }
    work();
    Ok(())
}

fn agent(who: &str) -> bool {
    matches!(who, "bot" | "elf")
}

fn admin(who: &str) -> bool {
    matches!(who, "ada" | "max")
}

fn decides(who: &str) -> bool {
    admin(who) || matches!(who, "alice" | "bob" | "carol")
}

fn later(now: i64, wait: i64) -> i64 {
    if wait == NEVER { NEVER } else { now + wait }
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().trim().to_owned()
}
