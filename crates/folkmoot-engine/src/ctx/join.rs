//! Parallel branches.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{Ctx, PassEnd};
use crate::Failure;

impl Ctx {
    /// Runs a branch for each item, all concurrently, and returns their results in the order of the
    /// items. Each branch has its own keys: two branches can use the same ones. All branches run to
    /// their end; then the join fails with the first failure in the order of the items.
    pub async fn join<I, T, F>(
        &self,
        key: impl AsRef<str>,
        items: impl IntoIterator<Item = I>,
        branch: impl Fn(Ctx, I) -> F,
    ) -> Result<Vec<T>, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.pass.must_be_polled(key.as_ref());
        self.pass.must_be_allowed().await;
        self.pass.must_not_only_join(key.as_ref()).await;
        let name = format!("{}{}", self.branch, key.as_ref());
        // The join uses a key too, so that no two joins have branches of the same name.
        let used = match format!("{name}.").parse() {
            Ok(key) => self.pass.use_key(&key),
            Err(error) => return self.pass.end(PassEnd::stop("invalid_key", error.to_string())).await,
        };
        if !used {
            let message = format!("this workflow uses the key {name:?} twice; give each join a key of its own");
            return self.pass.end(PassEnd::stop("key_used_twice", message)).await;
        }
        let branches = items.into_iter().enumerate().map(|(n, item)| {
            let branch_name = format!("{name}.{}/", n + 1).into();
            branch(Ctx { pass: self.pass.clone(), branch: branch_name, calls: Arc::default() }, item)
        });
        join_all(branches).await.into_iter().collect()
    }
}
