//! The tree: a root, agents below it that each lead a concern, and agents that work for these
//! leads.

use folkmoot_core::{Name, vocabulary};
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, AgentRole, DebatePhase, choose::rank};

vocabulary! {
    /// What a part of the tree is responsible for.
    pub enum Responsibility {
        /// Everything; the responsibility of the root.
        Overall = "overall",
        /// Protection against attackers.
        Security = "security",
        /// Time and memory.
        Performance = "performance",
        /// Keeping the debate on its question.
        Coordination = "coordination",
        /// Faults of an answer.
        Quality = "quality",
        /// Whether an answer does what was asked.
        Review = "review",
        /// The first part, if nobody leads a concern.
        Alpha = "alpha",
        /// The second part.
        Beta = "beta",
        /// The third part.
        Gamma = "gamma",
    }
}

/// An agent's place in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNode {
    pub agent_id: Name,
    pub role: AgentRole,
    /// The agent that it reports to; `None` for the root.
    pub parent: Option<Name>,
    /// The agents that report to it.
    pub children: Vec<Name>,
    /// The distance from the root.
    pub level: u32,
    /// What it and all agents below it are responsible for.
    pub responsibility: Responsibility,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    root: Name,
    /// Every agent in a list of children has a node here, and every agent but the root is in
    /// exactly one such list.
    nodes: BTreeMap<Name, TreeNode>,
}

/// The roles that lead a concern.
const CONCERNS: [(AgentRole, Responsibility); 5] = [
    (AgentRole::Security, Responsibility::Security),
    (AgentRole::PerformanceAnalyzer, Responsibility::Performance),
    (AgentRole::Moderator, Responsibility::Coordination),
    (AgentRole::Critic, Responsibility::Quality),
    (AgentRole::Reviewer, Responsibility::Review),
];
/// What the best three agents lead if none of these roles is there.
const PARTS: [Responsibility; 3] = [Responsibility::Alpha, Responsibility::Beta, Responsibility::Gamma];

impl Tree {
    /// The root is the best architect, else the best designer, else the best agent. Below it is the
    /// best agent of each role that leads a concern or, if there are none, the best three agents.
    /// The others are assigned to these leads in turn.
    pub(super) fn new(agents: &[Agent]) -> Self {
        let mut left: Vec<&Agent> = agents.iter().collect();
        left.sort_by_key(|agent| rank(agent));
        let best = |role: AgentRole, left: &mut Vec<&Agent>| {
            let at = left.iter().position(|agent| agent.role == role)?;
            Some(Agent::clone(left.remove(at)))
        };
        let root = best(AgentRole::Architect, &mut left).or_else(|| best(AgentRole::Designer, &mut left));
        let root = root.unwrap_or_else(|| left.remove(0).clone());
        let mut leads: Vec<(Agent, Responsibility)> =
            CONCERNS.iter().filter_map(|(role, concern)| Some((best(*role, &mut left)?, *concern))).collect();
        if leads.is_empty() {
            let first = left.drain(..left.len().min(PARTS.len()));
            leads = first.cloned().zip(PARTS).collect();
        }
        let mut tree = Self { root: root.id.clone(), nodes: BTreeMap::new() };
        tree.add(&root, None, Responsibility::Overall);
        for (lead, concern) in &leads {
            tree.add(lead, Some(&root.id), *concern);
        }
        for (agent, (lead, concern)) in left.into_iter().zip(leads.iter().cycle()) {
            tree.add(agent, Some(&lead.id), *concern);
        }
        tree.settle();
        tree
    }

    fn add(&mut self, agent: &Agent, parent: Option<&Name>, responsibility: Responsibility) {
        let node = TreeNode {
            agent_id: agent.id.clone(),
            role: agent.role,
            parent: None,
            children: Vec::new(),
            level: 0,
            responsibility,
        };
        self.nodes.insert(agent.id.clone(), node);
        if let Some(parent) = parent {
            self.put_beneath(&agent.id, parent);
        }
    }

    fn put_beneath(&mut self, child: &Name, parent: &Name) {
        if let Some(node) = self.nodes.get_mut(parent) {
            node.children.push(child.clone());
        }
        if let Some(node) = self.nodes.get_mut(child) {
            node.parent = Some(parent.clone());
        }
    }

    /// The tree without `agent`; `left` are the remaining agents.
    pub(super) fn without(&self, agent: &Name, left: &[Agent]) -> Self {
        let mut tree = self.clone();
        let Some(gone) = tree.nodes.remove(agent) else { return tree };
        match gone.parent {
            Some(parent) => {
                let siblings = match tree.nodes.get_mut(&parent) {
                    Some(node) => {
                        node.children.retain(|child| child != agent);
                        node.children.clone()
                    }
                    None => Vec::new(),
                };
                let heirs = if siblings.is_empty() { vec![parent] } else { siblings };
                for (orphan, heir) in gone.children.iter().zip(heirs.iter().cycle()) {
                    tree.put_beneath(orphan, heir);
                }
            }
            None => {
                let best =
                    left.iter().filter(|agent| gone.children.contains(&agent.id)).min_by_key(|agent| rank(agent));
                let Some(heir) = best.map(|agent| agent.id.clone()) else { return tree };
                if let Some(node) = tree.nodes.get_mut(&heir) {
                    node.parent = None;
                    node.responsibility = Responsibility::Overall;
                }
                for child in gone.children.iter().filter(|child| **child != heir) {
                    tree.put_beneath(child, &heir);
                }
                tree.root = heir;
            }
        }
        tree.settle();
        tree
    }

    /// Sets each agent's distance from the root, and gives each agent below a lead the lead's
    /// concern.
    fn settle(&mut self) {
        for id in self.downwards() {
            let parent = self.nodes.get(&id).and_then(|node| node.parent.as_ref()).and_then(|id| self.nodes.get(id));
            let (level, responsibility) = match parent {
                None => (0, Some(Responsibility::Overall)),
                // Each child of the root keeps its own concern.
                Some(root) if root.level == 0 => (1, None),
                Some(parent) => (parent.level + 1, Some(parent.responsibility)),
            };
            if let Some(node) = self.nodes.get_mut(&id) {
                node.level = level;
                node.responsibility = responsibility.unwrap_or(node.responsibility);
            }
        }
    }

    /// All agents, level by level.
    fn downwards(&self) -> Vec<Name> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut next = VecDeque::from([&self.root]);
        while let Some(id) = next.pop_front() {
            order.push(id.clone());
            next.extend(self.children(id));
        }
        order
    }

    pub(super) fn nodes(&self) -> Vec<TreeNode> {
        self.downwards().iter().filter_map(|id| self.nodes.get(id)).cloned().collect()
    }

    fn children(&self, id: &Name) -> &[Name] {
        self.nodes.get(id).map_or(&[], |node| &node.children)
    }

    fn parent(&self, id: &Name) -> Option<&Name> {
        self.nodes.get(id)?.parent.as_ref()
    }

    /// The best agent that leads the phase's concern, else the root.
    pub(super) fn leader(&self, agents: &[Agent], phase: DebatePhase) -> &Name {
        let concern = match phase {
            DebatePhase::Critique | DebatePhase::Adversarial => Responsibility::Security,
            DebatePhase::Optimization => Responsibility::Performance,
            DebatePhase::Dehallucination
            | DebatePhase::SelfEvolvement
            | DebatePhase::Proposal
            | DebatePhase::Review
            | DebatePhase::Convergence => return &self.root,
        };
        let leads =
            |id: &Name| self.nodes.get(id).is_some_and(|node| node.level == 1 && node.responsibility == concern);
        let lead = agents.iter().filter(|agent| leads(&agent.id)).min_by_key(|agent| rank(agent));
        lead.and_then(|agent| self.nodes.get_key_value(&agent.id)).map_or(&self.root, |(id, _)| id)
    }

    /// The root, then each lead with all agents below it. In the convergence phase, which decides,
    /// the root speaks last.
    pub(super) fn groups(&self, phase: DebatePhase) -> Vec<Vec<Name>> {
        let mut groups: Vec<Vec<Name>> = self.children(&self.root).iter().map(|lead| self.beneath(lead)).collect();
        let at = if phase == DebatePhase::Convergence { groups.len() } else { 0 };
        groups.insert(at, vec![self.root.clone()]);
        groups
    }

    fn beneath(&self, id: &Name) -> Vec<Name> {
        let below = self.children(id).iter().flat_map(|child| self.beneath(child));
        std::iter::once(id.clone()).chain(below).collect()
    }

    /// The next hop: down if `to` is below `at`, else up.
    pub(super) fn next(&self, at: &Name, to: &Name) -> Option<&Name> {
        let mut below = self.nodes.get_key_value(to)?.0;
        while let Some(parent) = self.parent(below) {
            if parent == at {
                return Some(below);
            }
            below = parent;
        }
        self.parent(at)
    }

    pub(super) fn is_link(&self, one: &Name, two: &Name) -> bool {
        self.parent(one) == Some(two) || self.parent(two) == Some(one)
    }

    /// Whether one is a parent, a child or a sibling of the other.
    pub(super) fn is_near(&self, one: &Name, two: &Name) -> bool {
        let parent = self.parent(one);
        self.is_link(one, two) || (parent.is_some() && parent == self.parent(two))
    }
}
