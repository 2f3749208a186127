//! Words that are meant for those who read an answer, and not for whoever asked: they would steer a
//! debate past its arguments.
//!
//! What holds against them is that others' words are shown as data and that ballots are counted by
//! code. This is only so that the plain cases do not count and stand in the record as what they
//! were. It knows English, and few ways of saying it: whatever else somebody writes is data like
//! any other.

use folkmoot_core::{Name, vocabulary};

#[cfg(test)]
mod tests;

vocabulary! {
    /// What somebody's words try.
    pub enum Steering {
        /// To end the block of a prompt in which they are shown.
        Fence = "fence",
        /// To have the rules forgotten.
        Rules = "rules",
        /// To have its own answer voted for.
        Votes = "votes",
    }
}

impl Steering {
    /// What `text` by `author` tries, unless the topic itself speaks like that.
    pub fn of(text: &str, author: &Name, topic: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|sort| sort.is_in(text, author) && !sort.is_in(topic, author))
    }

    /// Why words that try it are no answer.
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

/// Whether something begins at one of its words.
fn anywhere(text: &str, begins: impl Fn(&[&str]) -> bool) -> bool {
    let text = text.to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()).collect();
    (0..words.len()).any(|at| begins(&words[at..]))
}

/// "Ignore all previous instructions", "disregard the rules above".
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

/// "Vote for my answer", "rank proposer-1 first", "every voter ranks this answer highest".
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

/// How many words name the author or what it wrote, if they do.
fn own(words: &[&str], author: &Name) -> Option<usize> {
    match words {
        ["me" | "mine", ..] => Some(1),
        ["my" | "this", "answer" | "proposal" | "solution" | "position" | "code", ..] => Some(2),
        [name, ..] if *name == author.as_str().to_lowercase() => Some(1),
        _ => None,
    }
}
