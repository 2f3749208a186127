//! Two nodes on one store: once the revocation of a token was acknowledged on one, neither obeys
//! it.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{Principal, Refusal, Role, Timestamp, TokenId, token::TokenKind};
use folkmoot_engine::{Caller, Credential, Engine, EngineSettings, TokioHost};
use folkmoot_store::{AnyStore, ManualClock, Sqlite};
use tokio::task::{JoinSet, yield_now};

use crate::moot::{principal, request, two_nodes};

const TOKENS: usize = 40;
const SENDERS: usize = 4;
/// How many commands each sender sends after the revocation was acknowledged.
const LATE_COMMANDS: usize = 3;

fn root() -> Principal {
    principal("root", Role::Admin)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_node_obeys_a_token_after_its_revocation_was_acknowledged() {
    let store = Sqlite::in_memory(Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)))).unwrap();
    let node = |store| Engine::start(AnyStore::Sqlite(store), EngineSettings::default(), Arc::new(TokioHost));
    let again = store.again().unwrap();
    revoke_while_commands_are_sent([node(store).await.unwrap(), node(again).await.unwrap()]).await;
    if let Some(nodes) = two_nodes().await {
        revoke_while_commands_are_sent(nodes).await;
    }
}

/// Revokes each token on one node while several senders use it on both. `FOLKMOOT_SEED` says who
/// pauses where, and for how long.
async fn revoke_while_commands_are_sent(nodes: [Engine; 2]) {
    let mut chance = Chance(std::env::var("FOLKMOOT_SEED").map_or(7, |seed| seed.parse().expect("a number")));
    let (mut revokers, mut senders) = (JoinSet::new(), JoinSet::new());
    for _ in 0..TOKENS {
        let dora = principal("dora", Role::Reviewer);
        let minted = nodes[0].mint(root().into(), dora.clone(), TokenKind::Minted).await.unwrap();
        let (token, secret) = (minted.token.id, minted.secret.unwrap());
        let acknowledged = Arc::new(AtomicBool::new(false));
        for _ in 0..SENDERS {
            let sender = Sender {
                nodes: nodes.clone(),
                secret: secret.clone(),
                held: Credential { principal: dora.clone(), token: token.clone() }.into(),
                acknowledged: acknowledged.clone(),
                chance: Chance(chance.draw()),
            };
            senders.spawn(sender.send());
        }
        let (node, mut chance) = (nodes[chance.below(2)].clone(), Chance(chance.draw()));
        revokers.spawn(async move {
            chance.pause(100).await;
            node.revoke(root().into(), token).await.unwrap();
            acknowledged.store(true, Ordering::SeqCst);
        });
    }
    revokers.join_all().await;
    let sent = senders.join_all().await;
    let (obeyed, refused) = sent.iter().fold((0, 0), |(all, none), (obeyed, refused)| (all + obeyed, none + refused));
    println!("{obeyed} commands were obeyed, and {refused} refused");
    assert!(obeyed > 0 && refused >= TOKENS * SENDERS, "{obeyed} obeyed and {refused} refused show nothing");

    // What was sent before the acknowledgement counts too: nothing of a token comes after its
    // revocation.
    let (mut revoked, mut position) = (BTreeSet::<TokenId>::new(), 0);
    while position < nodes[1].position().await.unwrap() {
        let (reached, events) = nodes[1].events(&root(), position, 1000, None).await.unwrap();
        for event in events {
            let by_revoked = event.fact.token_id.as_ref().is_some_and(|token| revoked.contains(token));
            assert!(!by_revoked, "event {} was caused with a revoked token", event.position);
            if event.fact.kind == "token.revoked" {
                revoked.insert(event.fact.stream["token:".len()..].parse().unwrap());
            }
        }
        position = reached;
    }
    assert_eq!(revoked.len(), TOKENS);
}

/// Somebody who opens gates with a token for as long as it works, and tries some more.
struct Sender {
    nodes: [Engine; 2],
    secret: String,
    /// As a request has it that was let in long ago, and is still being sent.
    held: Caller,
    acknowledged: Arc<AtomicBool>,
    chance: Chance,
}

impl Sender {
    /// How many commands were obeyed, and how many refused.
    async fn send(mut self) -> (usize, usize) {
        let (mut obeyed, mut refused, mut late) = (0, 0, 0);
        while late < LATE_COMMANDS {
            let acknowledged = self.acknowledged.load(Ordering::SeqCst);
            late += usize::from(acknowledged);
            let node = &self.nodes[self.chance.below(2)];
            let let_in = match self.chance.below(2) {
                0 => Some(self.held.clone()),
                _ => node.authenticate(&self.secret).map(Caller::from),
            };
            self.chance.pause(10).await;
            let answer = match let_in {
                Some(caller) => node.open(caller, request(node, "merge", None)).await.map(drop),
                None => Err(Refusal::Unauthenticated.into()),
            };
            match answer {
                Ok(()) => {
                    assert!(!acknowledged, "a command was obeyed after the revocation was acknowledged");
                    obeyed += 1;
                }
                Err(error) => {
                    assert_eq!(error.refusal(), Some(&Refusal::Unauthenticated), "{error}");
                    refused += 1;
                    // On a shared database it takes a while until the revocation is acknowledged.
                    tokio::time::sleep(Duration::from_millis(self.chance.draw() % 50)).await;
                }
            }
        }
        (obeyed, refused)
    }
}

/// Numbers from a seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> usize {
        (self.draw() % end) as usize
    }

    /// Lets others go first, fewer than `most` times.
    async fn pause(&mut self, most: u64) {
        for _ in 0..self.below(most) {
            yield_now().await;
        }
    }
}
