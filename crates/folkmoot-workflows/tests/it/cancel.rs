//! Stop always works: cancelling a run reaches a model call in flight, down to the vendor's
//! connection.

use std::{sync::Arc, time::Duration};

use folkmoot_core::{Name, Principal, Role};
use folkmoot_engine::{Ctx, Engine, EngineSettings, Failure, Workflows};
use folkmoot_llm::{
    ModelRequest,
    budget::{Budget, SharedBudget},
    provider::{Endpoint, OpenAi},
};
use folkmoot_workflows::{ModelCall, OnExceeded, RunBudget};
use tokio::{io::AsyncReadExt, net::TcpListener, time::timeout};

const TEST_TIMEOUT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "a real vendor, in real time")]
async fn stop_always_works_on_a_model_call_in_flight() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let workflows = Workflows::new().with("ask@1", move |ctx: Ctx, question: String| {
        let model = Arc::new(OpenAi::new(Endpoint::new("silent", &url), Some("m".to_owned())).unwrap());
        async move {
            let spending = RunBudget::new(SharedBudget::new(Budget::default()), OnExceeded::Fail);
            let agent: Name = "asker".parse().unwrap();
            let call =
                ModelCall { key: "ask".to_owned(), agent, model, price: None, request: ModelRequest::new(question) };
            spending.call(&ctx, call).await.map(drop)?;
            Ok::<_, Failure>(())
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let settings = EngineSettings { workflows, ..EngineSettings::default() };
    let engine = Engine::on_file(folder.path().join("cancel.db"), settings).await.unwrap();
    let you = Principal::new("you".parse().unwrap(), Role::Admin);
    let run = engine.start_workflow(you.clone(), "ask@1", &"Well?").await.unwrap().start.id;

    // The vendor reads the question and says nothing.
    let (mut vendor, _) = timeout(TEST_TIMEOUT, listener.accept()).await.unwrap().unwrap();
    let mut read = [0; 4096];
    assert!(vendor.read(&mut read).await.unwrap() > 0);
    engine.cancel_run(you.clone().into(), run.clone(), String::new()).await.unwrap();
    let ended = engine.wait_for_end(&you, &run, TEST_TIMEOUT).await.unwrap();
    assert_eq!(ended.status().word(), "cancelled");
    let hung_up = async { while vendor.read(&mut read).await.is_ok_and(|bytes| bytes > 0) {} };
    timeout(TEST_TIMEOUT, hung_up).await.expect("the vendor is hung up on");
    engine.close().await;
}
