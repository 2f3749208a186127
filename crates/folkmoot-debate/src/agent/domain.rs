//! The domain of a debate, and how it is guessed from the words of the topic.

use folkmoot_core::vocabulary;
use std::collections::BTreeSet;

use serde::Serialize;

#[cfg(test)]
mod tests;

vocabulary! {
    /// What a debate is about.
    pub enum Domain {
        /// Writing and changing code.
        Code = "code",
        /// Protecting a system against attackers.
        Security = "security",
        /// How the parts of a system fit together.
        Architecture = "architecture",
        /// Finding out why something fails.
        Debug = "debug",
        /// Making something cheaper or faster.
        Optimization = "optimization",
        /// Drawing conclusions from what is known.
        Reasoning = "reasoning",
        /// Anything else.
        General = "general",
    }
}

/// A guessed domain, with every keyword that counted for it or for another domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Guess {
    /// The domain with the most keywords; `general` if there are none.
    pub domain: Domain,
    /// The keywords, each once, in alphabetical order.
    pub reasons: Vec<DomainKeyword>,
}

/// A word in a topic that points to a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DomainKeyword {
    /// In lower case.
    pub word: &'static str,
    pub domain: Domain,
}

impl Domain {
    /// Guesses from whole words, ignoring case. Each keyword counts once, however often it occurs.
    /// Between domains with equally many keywords the order is security, debug, optimization,
    /// architecture, reasoning, code. Code comes last because every technical topic has words of
    /// code, so they say the least.
    pub fn guess(topic: &str) -> Guess {
        let words: BTreeSet<String> = topic.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
        let known = KEYWORDS.iter().flat_map(|(domain, words)| words.split_whitespace().map(|word| (*domain, word)));
        let mut reasons: Vec<DomainKeyword> = known
            .filter(|(_, word)| words.contains(*word))
            .map(|(domain, word)| DomainKeyword { word, domain })
            .collect();
        reasons.sort();
        let speak_for = |domain: Domain| reasons.iter().filter(|reason| reason.domain == domain).count();
        let mut best = (Domain::General, 0);
        for (domain, _) in KEYWORDS {
            if speak_for(*domain) > best.1 {
                best = (*domain, speak_for(*domain));
            }
        }
        Guess { domain: best.0, reasons }
    }
}

/// Each word belongs to one domain. Between domains with equally many words, the first one wins.
const KEYWORDS: &[(Domain, &str)] = &[
    (
        Domain::Security,
        "attack attacker auth authentication authorization certificate cipher credential credentials csrf cve \
         decrypt encrypt encryption exploit firewall injection jwt malicious oauth owasp password passwords \
         permission permissions sandbox secret secrets secure security ssrf threat tls vulnerability \
         vulnerabilities xss",
    ),
    (
        Domain::Debug,
        "backtrace broken bug bugs crash crashes deadlock debug debugging diagnose error errors exception \
         exceptions fail failing fails failure fault flaky hang hangs panic panics regression reproduce \
         segfault stacktrace traceback wrong",
    ),
    (
        Domain::Optimization,
        "allocation allocations benchmark bottleneck cache cpu efficient fast faster latency memory optimise \
         optimising optimization optimize optimizing performance profile profiler profiling quicker slow \
         slower speed speedup throughput",
    ),
    (
        Domain::Architecture,
        "architecture boundaries component components coupling database decompose decomposition design \
         diagram distributed event events gateway interface interfaces microservice microservices migration \
         modular module modules monolith queue scalability scale schema service services system topology",
    ),
    (
        Domain::Reasoning,
        "argue argument compare conclude decide deduce ethics evidence explain infer logic logical math \
         mathematics prove proof puzzle reason reasoning theorem tradeoff tradeoffs",
    ),
    (
        Domain::Code,
        "algorithm api class cli code compile compiler endpoint function functions golang implement \
         implementation java javascript kotlin library method parse parser program programming python \
         refactor regex rust script sql swift test tests typescript unit",
    ),
];
