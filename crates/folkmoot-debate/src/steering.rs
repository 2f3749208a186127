//! Finds text in an answer that addresses the agents that read it instead of the question, and
//! would steer a debate past its arguments.
//!
//! The real protection is elsewhere: the words of others are shown as data, and ballots are counted
//! by code. This module only catches the plain cases, so that they do not count and the record
//! shows what they were. It knows English, and only a few phrases. All other text is treated as
//! data.

use folkmoot_core::{Name, vocabulary};

#[cfg(test)]
mod tests;

vocabulary! {
    /// What a text tries to do.
    pub enum Steering {
        /// To end the block of a prompt in which the text is shown.
        Fence = "fence",
        /// To make others forget the rules.
        Rules = "rules",
        /// To get votes for the author's own answer.
        Votes = "votes",
    }
}

impl Steering {
    /// What `text` by `author` tries to do. If the topic itself contains the same kind of text, it
    /// is ignored.
    pub fn of(text: &str, author: &Name, topic: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|sort| sort.is_in(text, author) && !sort.is_in(topic, author))
    }

    /// Why a text that tries it is not an answer.
    pub const fn why(self) -> &'static str {
        match self {
            Steering::Fence => "it writes the marks that fence what others say",
            Steering::Rules => "it tells others to forget what they were told",
            Steering::Votes => "it tells others how to vote",
        }
    }

    fn is_in(self, text: &str, author: &Name) -> bool {
        match self {
            Steering::Fence => text.lines().any(is_mark),
            Steering::Rules => anywhere(text, is_against_rules),
            Steering::Votes => anywhere(text, |words| is_for_votes(words, author)),
        }
    }
}

fn is_mark(line: &str) -> bool {
    let line = line.trim();
    let inside = line.strip_prefix("[[").and_then(|line| line.strip_suffix("]]"));
    inside.is_some_and(|inside| matches!(inside.split_whitespace().next(), Some("data" | "end")))
}

/// Whether `begins` holds for the words from any position on.
fn anywhere(text: &str, begins: impl Fn(&[&str]) -> bool) -> bool {
    let text = text.to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()).collect();
    (0..words.len()).any(|at| begins(&words[at..]))
}

/// Matches "ignore all previous instructions", "disregard the rules above".
fn is_against_rules(words: &[&str]) -> bool {
    let [verb, rest @ ..] = words else { return false };
    if !["ignore", "disregard", "forget", "override"].contains(verb) {
        return false;
    }
    let of_others = ["above", "all", "any", "earlier", "every", "previous", "prior", "system", "your"];
    let Some(at) = rest.iter().take(5).position(|word| ["instructions", "rules", "prompt", "prompts"].contains(word))
    else {
        return false;
    };
    let (before, after) = (&rest[..at], rest.get(at + 1));
    let between = |word: &&str| of_others.contains(word) || ["of", "the", "these", "those"].contains(word);
    before.iter().all(between) && before.iter().chain(after).any(|word| of_others.contains(word) || *word == "before")
}

/// Matches "vote for my answer", "rank proposer-1 first", "every voter ranks this answer highest".
fn is_for_votes(words: &[&str], author: &Name) -> bool {
    match words {
        ["vote" | "votes" | "voting", "for", rest @ ..] => own(rest, author).is_some(),
        ["rank" | "ranks" | "score" | "scores" | "rate" | "rates", rest @ ..] => {
            let best = ["first", "highest", "best", "top"];
            own(rest, author).is_some_and(|taken| rest[taken..].iter().take(3).any(|word| best.contains(word)))
        }
        _ => false,
    }
}

/// How many of the first words name the author or its answer; `None` if they name neither.
fn own(words: &[&str], author: &Name) -> Option<usize> {
    match words {
        ["me" | "mine", ..] => Some(1),
        ["my" | "this", "answer" | "proposal" | "solution" | "position" | "code", ..] => Some(2),
        [name, ..] if *name == author.as_str().to_lowercase() => Some(1),
        _ => None,
    }
}
