use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::agent::{AgentRole, Domain, Score, Share, choose, team::AGENTS_MAX};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// Agents as `id:role:score`, the last left out where it does not matter.
fn agents(said: &str) -> Vec<Agent> {
    let agent = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        let mut agent = Agent::new(name(parts[0]), parts[1].parse().unwrap(), Domain::General);
        if let Some(score) = parts.get(2) {
            agent.score = Score::tenths(score.parse().unwrap()).unwrap();
        }
        agent
    };
    said.split_whitespace().map(agent).collect()
}

fn network(topology: Topology, said: &str) -> Network {
    Network::new(topology, &agents(said), 8)
}

fn said(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(" ")
}

fn groups(network: &Network, phase: DebatePhase) -> String {
    network.groups(phase).iter().map(|group| said(group)).collect::<Vec<_>>().join(" | ")
}

fn route(network: &Network, from: &str, to: &str) -> String {
    network.route(&name(from), &name(to)).map_or_else(|error| error.code().to_owned(), |hops| said(&hops))
}

fn hears(network: &Network, id: &str) -> String {
    said(&network.hears(&name(id)))
}

/// Each node as `level:id:responsibility:children`.
fn tree(network: &Network) -> String {
    let node = |node: &TreeNode| {
        format!("{}:{}:{}:{}", node.level, node.agent_id, node.responsibility, said(&node.children).replace(' ', ","))
    };
    network.tree().iter().map(node).collect::<Vec<_>>().join(" ")
}

const FIVE: &str = "p:proposer c:critic m:moderator r:reviewer o:optimizer";

#[test]
fn in_a_mesh_everybody_hears_everybody() {
    let mesh = network(Topology::GraphMesh, FIVE);
    assert_eq!(route(&mesh, "p", "o"), "o");
    assert_eq!(hears(&mesh, "m"), "p c r o");
    assert_eq!(mesh.channels().len(), 20);
    assert_eq!(mesh.tree(), []);
}

#[test]
fn a_mesh_is_led_by_the_best_whom_the_phase_concerns() {
    let mesh = network(Topology::GraphMesh, FIVE);
    for (phase, leader) in [
        (DebatePhase::Dehallucination, "m"),
        (DebatePhase::SelfEvolvement, "p"),
        (DebatePhase::Proposal, "p"),
        (DebatePhase::Critique, "c"),
        (DebatePhase::Review, "r"),
        (DebatePhase::Optimization, "o"),
        // Nobody attacks or defends: the first of equals.
        (DebatePhase::Adversarial, "p"),
        (DebatePhase::Convergence, "m"),
    ] {
        assert_eq!(mesh.leader(phase).as_str(), leader, "{phase}");
    }
    let lead = |said: &str| network(Topology::GraphMesh, said).leader(DebatePhase::Critique).to_string();
    assert_eq!(lead("a:critic:70 b:critic:71"), "b", "the better one");
    assert_eq!(lead("a:security:71 b:critic:70"), "b", "a required role is worth 0.2");
    assert_eq!(lead("a:security:73 b:critic:70"), "a", "and no more");
    let mut pair = agents("a:critic b:critic");
    pair[1].domain = Domain::Security;
    assert_eq!(
        Network::new(Topology::GraphMesh, &pair, 1).leader(DebatePhase::Critique).as_str(),
        "b",
        "it knows more"
    );
    let mut pair = agents("a:critic b:critic");
    pair[1].confidence = Share::ONE;
    assert_eq!(Network::new(Topology::GraphMesh, &pair, 1).leader(DebatePhase::Critique).as_str(), "b", "it is surer");
}

#[test]
fn in_a_mesh_those_whom_the_phase_concerns_speak_first_then_attack_and_defence() {
    let team = "p:proposer x:red_team c:critic b:blue_team s:security r:reviewer";
    let mesh = network(Topology::GraphMesh, team);
    assert_eq!(groups(&mesh, DebatePhase::Proposal), "p | x b s | c r");
    assert_eq!(groups(&mesh, DebatePhase::Critique), "x c s | b | p r");
    let narrow = Network::new(Topology::GraphMesh, &agents(team), 2);
    assert_eq!(groups(&narrow, DebatePhase::Proposal), "p | x b | s | c r");
    let nobody_at_a_time = Network::new(Topology::GraphMesh, &agents("p:proposer c:critic"), 0);
    assert_eq!(groups(&nobody_at_a_time, DebatePhase::Proposal), "p | c");
}

#[test]
fn a_link_of_a_mesh_is_worth_more_between_those_who_differ() {
    let weight = |said: &str, two: Domain| {
        let mut pair = agents(said);
        pair[1].domain = two;
        let (from, to) = (pair[0].id.clone(), pair[1].id.clone());
        Network::new(Topology::GraphMesh, &pair, 8).channel(&from, &to).unwrap().weight
    };
    assert_eq!(weight("a:critic:80 b:critic:60", Domain::General), 70);
    assert_eq!(weight("a:critic:80 b:critic:60", Domain::Code), 80);
    assert_eq!(weight("a:critic:80 b:judge:60", Domain::General), 85);
    assert_eq!(weight("a:critic:100 b:judge:100", Domain::Code), 125);
}

#[test]
fn in_a_star_the_moderator_passes_everything_on() {
    let star = network(Topology::Star, FIVE);
    assert_eq!(route(&star, "p", "o"), "m o", "it arrives at whom it is for");
    assert_eq!(route(&star, "p", "m"), "m");
    assert_eq!(route(&star, "m", "p"), "p");
    assert_eq!(hears(&star, "o"), "p c m r");
    assert_eq!(hears(&star, "m"), "p c r o");
    assert_eq!(groups(&star, DebatePhase::Critique), "p c r o | m");
    assert_eq!(star.channels().len(), 8);
    assert!(DebatePhase::ALL.iter().all(|phase| star.leader(*phase).as_str() == "m"));
    assert_eq!(groups(&Network::new(Topology::Star, &agents(FIVE), 3), DebatePhase::Critique), "p c r | o | m");
}

#[test]
fn the_best_moderator_moderates_and_without_one_the_best_agent() {
    let moderator = |said: &str| network(Topology::Star, said).leader(DebatePhase::Proposal).to_string();
    assert_eq!(moderator("a:moderator:60 b:moderator:61 c:critic:99"), "b");
    assert_eq!(moderator("a:critic:60 b:reviewer:61"), "b");
    let star = network(Topology::Star, "a:moderator:60 b:moderator:61 c:critic:99");
    let star = star.without(&name("b")).unwrap();
    assert_eq!(star.leader(DebatePhase::Proposal).as_str(), "a");
    assert_eq!(star.without(&name("a")).unwrap().leader(DebatePhase::Proposal).as_str(), "c");
}

#[test]
fn in_a_chain_each_hears_the_one_before_it_and_the_first_the_last() {
    let chain = network(Topology::Chain, FIVE);
    assert_eq!(groups(&chain, DebatePhase::Review), "p | c | r | o | m");
    assert_eq!(hears(&chain, "c"), "p");
    assert_eq!(hears(&chain, "p"), "m");
    assert_eq!(route(&chain, "c", "o"), "r o");
    assert_eq!(route(&chain, "o", "c"), "m p c", "by the way back");
    let weight = |from: &str, to: &str| chain.channel(&name(from), &name(to)).unwrap().weight;
    assert_eq!((weight("p", "c"), weight("m", "p")), (100, 50));
    assert_eq!(chain.channels().len(), 5);
    let gap = chain.without(&name("c")).unwrap();
    assert_eq!(hears(&gap, "r"), "p");
    let pair = network(Topology::Chain, "a:proposer b:critic");
    assert_eq!((hears(&pair, "a"), hears(&pair, "b")), ("b".to_owned(), "a".to_owned()));
}

#[test]
fn a_chain_has_its_order_from_the_roles() {
    let roles = AgentRole::ALL.iter().rev().map(|role| format!("{role}:{role}")).collect::<Vec<_>>().join(" ");
    assert_eq!(
        groups(&network(Topology::Chain, &roles), DebatePhase::Review).replace(" | ", " "),
        "proposer architect critic red_team reviewer blue_team optimizer test_agent security validator teacher moderator \
         generator refactorer performance_analyzer compiler executor judge implementer designer"
    );
    assert_eq!(groups(&network(Topology::Chain, "a:critic:60 b:critic:61"), DebatePhase::Review), "b | a");
}

#[test]
fn a_chain_is_led_by_the_first_whom_the_phase_concerns() {
    let chain = network(Topology::Chain, FIVE);
    let lead = |phase| chain.leader(phase).to_string();
    assert_eq!(lead(DebatePhase::Review), "r");
    assert_eq!(lead(DebatePhase::Convergence), "m");
    assert_eq!(lead(DebatePhase::Adversarial), "p", "nobody is concerned: the first");
}

const TWELVE: &str = "a:architect s:security f:performance_analyzer m:moderator c:critic r:reviewer p:proposer g:generator \
                      o:optimizer x:red_team b:blue_team v:validator";

#[test]
fn a_tree_has_a_root_leads_and_those_who_work_for_them() {
    let network = network(Topology::Tree, TWELVE);
    assert_eq!(
        tree(&network),
        "0:a:overall:s,f,m,c,r 1:s:security:p,b 1:f:performance:g 1:m:coordination:o 1:c:quality:v 1:r:review:x \
         2:p:security: 2:b:security: 2:g:performance: 2:o:coordination: 2:v:quality: 2:x:review:"
    );
    assert_eq!(groups(&network, DebatePhase::Proposal), "a | s p b | f g | m o | c v | r x");
    assert_eq!(groups(&network, DebatePhase::Convergence), "s p b | f g | m o | c v | r x | a");
    for phase in DebatePhase::ALL {
        let leader = match phase {
            DebatePhase::Critique | DebatePhase::Adversarial => "s",
            DebatePhase::Optimization => "f",
            _ => "a",
        };
        assert_eq!(network.leader(*phase).as_str(), leader, "{phase}");
    }
}

#[test]
fn in_a_tree_one_hears_parent_children_and_siblings() {
    let network = network(Topology::Tree, TWELVE);
    assert_eq!(hears(&network, "a"), "s f m c r");
    assert_eq!(hears(&network, "s"), "a f m c r p b");
    assert_eq!(hears(&network, "p"), "s b");
    assert_eq!(hears(&network, "g"), "f");
    assert_eq!(route(&network, "p", "b"), "s b", "siblings by their parent");
    assert_eq!(route(&network, "p", "g"), "s a f g", "others by the root, and on");
    assert_eq!(route(&network, "a", "x"), "r x");
    assert_eq!(route(&network, "x", "a"), "r a");
}

#[test]
fn a_tree_without_an_architect_or_a_lead_is_a_tree_all_the_same() {
    assert_eq!(
        tree(&network(Topology::Tree, "p:proposer d:designer:10 j:judge")).split(' ').next(),
        Some("0:d:overall:p,j")
    );
    assert_eq!(
        tree(&network(Topology::Tree, "a:judge:90 b:teacher:80 c:teacher:70 d:teacher:60 e:teacher:50 f:teacher:40")),
        "0:a:overall:b,c,d 1:b:alpha:e 1:c:beta:f 1:d:gamma: 2:e:alpha: 2:f:beta:"
    );
    assert_eq!(tree(&network(Topology::Tree, "m:moderator")), "0:m:overall:");
    assert_eq!(tree(&network(Topology::Tree, "a:moderator b:moderator")), "0:a:overall:b 1:b:coordination:");
}

#[test]
fn who_worked_for_a_lost_lead_works_for_its_siblings_in_turn_or_for_its_parent() {
    let network = network(
        Topology::Tree,
        "a:architect s:security m:moderator c:critic p:proposer:90 g:generator:80 o:optimizer:70 t:teacher:60",
    );
    assert_eq!(
        tree(&network),
        "0:a:overall:s,m,c 1:s:security:p,t 1:m:coordination:g 1:c:quality:o 2:p:security: 2:t:security: \
         2:g:coordination: 2:o:quality:"
    );
    let lost = network.without(&name("s")).unwrap();
    assert_eq!(
        tree(&lost),
        "0:a:overall:m,c 1:m:coordination:g,p 1:c:quality:o,t 2:g:coordination: 2:p:coordination: 2:o:quality: 2:t:quality:"
    );
    assert_eq!(lost.leader(DebatePhase::Critique).as_str(), "a", "its concern is the root's now");
    let lost = lost.without(&name("m")).unwrap();
    assert_eq!(tree(&lost), "0:a:overall:c 1:c:quality:o,t,g,p 2:o:quality: 2:t:quality: 2:g:quality: 2:p:quality:");
    let lost = lost.without(&name("c")).unwrap();
    assert_eq!(tree(&lost), "0:a:overall:o,t,g,p 1:o:quality: 1:t:quality: 1:g:quality: 1:p:quality:");
}

#[test]
fn a_lost_root_is_followed_by_its_best_child_and_levels_are_counted_anew() {
    let network = network(Topology::Tree, "a:architect s:security:50 m:moderator:90 p:proposer:80 g:generator:70");
    assert_eq!(tree(&network), "0:a:overall:s,m 1:s:security:p 1:m:coordination:g 2:p:security: 2:g:coordination:");
    let lost = network.without(&name("a")).unwrap();
    assert_eq!(tree(&lost), "0:m:overall:g,s 1:g:coordination: 1:s:security:p 2:p:security:");
    assert_eq!(lost.leader(DebatePhase::Proposal).as_str(), "m");
    assert_eq!(lost.leader(DebatePhase::Critique).as_str(), "s");
    assert_eq!(route(&lost, "p", "g"), "s m g");
    let lost = lost.without(&name("m")).unwrap();
    assert_eq!(tree(&lost), "0:g:overall:s 1:s:security:p 2:p:security:", "by score, not the first of the team");
}

#[test]
fn what_is_refused_says_why() {
    let chain = network(Topology::Chain, "a:proposer b:critic c:reviewer");
    assert_eq!(route(&chain, "a", "b"), "b");
    assert_eq!(route(&chain, "a", "x"), "AGENT_NOT_FOUND");
    assert_eq!(route(&chain, "x", "a"), "AGENT_NOT_FOUND");
    assert_eq!(route(&chain, "a", "a"), "INVALID_MESSAGE");
    assert!(chain.channel(&name("a"), &name("b")).is_ok());
    assert_eq!(chain.channel(&name("b"), &name("a")).unwrap_err().code(), "CHANNEL_NOT_FOUND");
    assert_eq!(chain.channel(&name("b"), &name("x")).unwrap_err().code(), "AGENT_NOT_FOUND");
    assert_eq!(chain.without(&name("x")).unwrap_err().code(), "AGENT_NOT_FOUND");
    assert_eq!(hears(&chain, "x"), "");
    for topology in Topology::ALL {
        let alone = network(*topology, "a:proposer");
        assert_eq!(alone.without(&name("a")).unwrap_err().code(), "TOPOLOGY_CLOSED", "{topology}");
        assert_eq!(hears(&alone, "a"), "", "{topology}");
        assert_eq!((alone.channels().len(), groups(&alone, DebatePhase::Proposal)), (0, "a".to_owned()), "{topology}");
        assert!(DebatePhase::ALL.iter().all(|phase| alone.messages(*phase) == 0), "{topology}");
    }
}

#[test]
fn turns_are_the_groups_of_those_who_speak() {
    let all = agents("p:proposer x:red_team c:critic b:blue_team");
    let mesh = Network::new(Topology::GraphMesh, &all, 8);
    let turns = |speakers: &[&Agent]| mesh.turns(DebatePhase::Proposal, speakers);
    assert_eq!(turns(&[&all[3], &all[0]]), [vec![name("p")], vec![name("b")]]);
    assert_eq!(turns(&[]), Vec::<Vec<Name>>::new());
}

#[test]
fn whom_a_phase_requires_it_also_concerns() {
    for phase in DebatePhase::ALL {
        assert!(phase.rule().required.iter().all(|role| concern::roles(*phase).contains(role)), "{phase}");
    }
}

#[test]
fn a_topology_is_selected_by_what_was_said_first_and_counted_next() {
    let select = |said: &str, agents, max_parallel| {
        let has = |word| said.contains(word);
        let (hierarchical, ordered, centralized) = (has("hierarchical"), has("ordered"), has("centralized"));
        let traits = Traits { hierarchical, ordered, centralized, ..Traits::of(agents, max_parallel) };
        let TopologyChoice { topology, reason } = Topology::select(traits);
        format!("{topology} {reason}")
    };
    assert_eq!(select("hierarchical ordered centralized", 2, 1), "tree hierarchical");
    assert_eq!(select("ordered centralized", 12, 8), "chain ordered");
    assert_eq!(select("centralized", 12, 8), "star centralized");
    assert_eq!(select("", 3, 8), "chain few_agents");
    assert_eq!(select("", 4, 2), "star little_parallel");
    assert_eq!(select("", 6, 2), "star little_parallel");
    assert_eq!(select("", 6, 3), "graph_mesh many_agents");
    assert_eq!(select("", 7, 1), "graph_mesh many_agents");
}

fn any_agents() -> impl Strategy<Value = Vec<Agent>> {
    let agent = (prop::sample::select(AgentRole::ALL), prop::sample::select(Domain::ALL), 0..=3u8, 0..=2u8);
    prop::collection::vec(agent, 1..=AGENTS_MAX).prop_map(|agents| {
        let agent = |(number, (role, domain, score, confidence))| Agent {
            score: Score::tenths(score * 30).unwrap(),
            confidence: Share::hundredths(confidence * 50).unwrap(),
            ..Agent::new(format!("agent-{number}").parse().unwrap(), role, domain)
        };
        agents.into_iter().enumerate().map(agent).collect()
    })
}

/// What holds of every network, whatever happened to it.
fn check(network: &Network, phase: DebatePhase, max_parallel: usize) -> Result<(), TestCaseError> {
    let ids: BTreeSet<Name> = network.ids().cloned().collect();
    let links: BTreeSet<(Name, Name)> =
        network.channels().into_iter().map(|channel| (channel.from, channel.to)).collect();
    prop_assert!(ids.contains(network.leader(phase)));

    let groups = network.groups(phase);
    let members: Vec<Name> = groups.iter().flatten().cloned().collect();
    prop_assert_eq!(members.len(), ids.len(), "nobody is in two groups");
    prop_assert_eq!(&members.into_iter().collect::<BTreeSet<_>>(), &ids, "everybody is in one");
    prop_assert!(groups.iter().all(|group| (1..=max_parallel).contains(&group.len())));

    let speakers = choose(phase, &network.agents, &groups);
    let mut carried = BTreeSet::new();
    for from in &ids {
        for to in ids.iter().filter(|to| *to != from) {
            let route = network.route(from, to).unwrap();
            prop_assert_eq!(route.last(), Some(to), "it arrives");
            let way: Vec<&Name> = std::iter::once(from).chain(&route).collect();
            prop_assert_eq!(way.iter().collect::<BTreeSet<_>>().len(), way.len(), "nobody is passed twice");
            let hops: Vec<(Name, Name)> = way.windows(2).map(|hop| (hop[0].clone(), hop[1].clone())).collect();
            prop_assert!(hops.iter().all(|hop| links.contains(hop)), "each hop is a link");
            if network.hears(to).contains(from) && speakers.agents.iter().any(|agent| agent.id == *from) {
                carried.extend(hops);
            }
        }
        prop_assert_eq!(network.hears(from).is_empty(), ids.len() == 1, "nobody is alone among others");
    }
    prop_assert!(carried.len() <= network.messages(phase), "{} of {}", carried.len(), network.messages(phase));
    prop_assert!(network.messages(phase) <= links.len());
    Ok(())
}

fn check_tree(network: &Network) -> Result<(), TestCaseError> {
    let nodes = network.tree();
    let named = |id: &Name| nodes.iter().find(|node| node.agent_id == *id).unwrap();
    prop_assert_eq!(nodes.len(), network.agents.len());
    prop_assert_eq!(nodes.iter().filter(|node| node.parent.is_none()).count(), 1);
    prop_assert_eq!((nodes[0].level, nodes[0].responsibility), (0, Responsibility::Overall));
    for node in &nodes {
        prop_assert!(node.level <= 2, "a tree never grows deeper");
        prop_assert!(node.children.iter().all(|child| named(child).parent.as_ref() == Some(&node.agent_id)));
        let Some(parent) = node.parent.as_ref().map(named) else { continue };
        prop_assert_eq!(parent.children.iter().filter(|child| **child == node.agent_id).count(), 1);
        prop_assert_eq!(node.level, parent.level + 1);
        prop_assert!(node.responsibility != Responsibility::Overall);
        prop_assert!(parent.level == 0 || parent.responsibility == node.responsibility);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_network_holds_whoever_fails_in_whatever_order(
        agents in any_agents(),
        topology in prop::sample::select(Topology::ALL),
        phase in prop::sample::select(DebatePhase::ALL),
        max_parallel in 1..=8usize,
        removals in prop::collection::vec(any::<prop::sample::Index>(), AGENTS_MAX),
    ) {
        let mut network = Network::new(topology, &agents, max_parallel);
        for removal in removals {
            check(&network, phase, max_parallel)?;
            if topology == Topology::Tree {
                check_tree(&network)?;
            }
            let gone = removal.get(&network.agents).id.clone();
            match network.without(&gone) {
                Ok(smaller) => {
                    let left: Vec<&Name> = network.ids().filter(|id| **id != gone).collect();
                    prop_assert_eq!(smaller.ids().collect::<Vec<_>>(), left, "nobody else is lost");
                    network = smaller;
                }
                Err(error) => {
                    prop_assert_eq!(error, RoutingError::TopologyClosed { agent: gone });
                    prop_assert_eq!(network.agents.len(), 1);
                }
            }
        }
        prop_assert_eq!(network.agents.len(), 1);
    }

    #[test]
    fn the_order_of_the_team_changes_no_link_and_no_leader(
        (agents, shuffled) in any_agents().prop_flat_map(|agents| (Just(agents.clone()), Just(agents).prop_shuffle())),
        topology in prop::sample::select(Topology::ALL),
        gone in any::<prop::sample::Index>(),
    ) {
        let links = |network: &Network| -> BTreeSet<(Name, Name, u16)> {
            network.channels().into_iter().map(|channel| (channel.from, channel.to, channel.weight)).collect()
        };
        let gone = gone.get(&agents).id.clone();
        let mut both = [Network::new(topology, &agents, 3), Network::new(topology, &shuffled, 3)];
        for _ in 0..2 {
            let [one, two] = &both;
            prop_assert_eq!(links(one), links(two));
            prop_assert_eq!(one.tree(), two.tree());
            for phase in DebatePhase::ALL {
                prop_assert_eq!(one.leader(*phase), two.leader(*phase));
                prop_assert_eq!(one.messages(*phase), two.messages(*phase));
            }
            let (Ok(one), Ok(two)) = (one.without(&gone), two.without(&gone)) else { break };
            both = [one, two];
        }
    }
}
