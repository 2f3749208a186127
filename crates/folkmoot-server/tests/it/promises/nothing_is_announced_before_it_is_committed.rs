//! Whatever a subscriber is told, a reader finds; on every node.

use folkmoot_core::gate::Choice;
use futures_util::StreamExt;

use crate::node::everywhere;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_announced_before_it_is_committed() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let mut feed = Box::pin(last.client("vera").events(None).await.unwrap());
        let reader = first.client("vera");
        let writer = async {
            for n in 0..50 {
                let gate = first.open(&format!("{n}")).await;
                last.say("alice", &gate, Choice::Approve).await.unwrap();
            }
        };
        let listener = async {
            let mut told = 0;
            while told < 100 {
                let event = feed.next().await.unwrap().unwrap();
                let gate = reader.gate(&event.stream.parse().unwrap()).await.unwrap();
                if event.kind == "gate.decided" {
                    assert!(gate.decision.is_some(), "announced at {} and not there", event.position);
                }
                told += 1;
            }
        };
        tokio::join!(writer, listener);
    }
}
