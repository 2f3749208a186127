//! Reading what debates have kept.

use folkmoot_core::{Principal, Refusal, RunId, debate::record::StoredLine};
use folkmoot_store::{
    DebateQuery, DebateView, Error, LessonQuery, LessonView, LineQuery, Page, Store, TurnQuery, TurnView, VersionQuery,
    VersionView,
};

use crate::Engine;

impl Engine {
    /// One debate, if `principal` may know of it: agents see their own.
    pub async fn debate(&self, principal: &Principal, id: &RunId) -> Result<DebateView, Error> {
        let found = self.0.store.debate(id).await?;
        let is_theirs = |view: &DebateView| principal.role.sees_everything() || view.initiated_by == principal.name;
        Ok(found.filter(is_theirs).ok_or_else(|| Refusal::UnknownRun { run: id.clone() })?)
    }

    /// A page of the debates that `principal` may know of.
    pub async fn debates(&self, principal: &Principal, mut query: DebateQuery) -> Result<Page<DebateView>, Error> {
        if !principal.role.sees_everything() {
            query.initiated_by = Some(principal.name.clone());
        }
        self.0.store.debates(query).await
    }

    /// Part of the turns of a debate that `principal` may know of.
    pub async fn turns(&self, principal: &Principal, query: TurnQuery) -> Result<Vec<TurnView>, Error> {
        self.debate(principal, &query.debate).await?;
        self.0.store.turns(query).await
    }

    /// One turn of a debate that `principal` may know of; none where there is no such turn in it.
    pub async fn turn(&self, principal: &Principal, debate: &RunId, id: &str) -> Result<Option<TurnView>, Error> {
        self.debate(principal, debate).await?;
        Ok(self.0.store.turn(id).await?.filter(|view| view.turn.run_id == *debate))
    }

    /// Part of the versions of code of a debate that `principal` may know of.
    pub async fn versions(&self, principal: &Principal, query: VersionQuery) -> Result<Vec<VersionView>, Error> {
        self.debate(principal, &query.debate).await?;
        self.0.store.versions(query).await
    }

    /// Part of the lines of a debate that `principal` may know of.
    pub async fn debate_log(&self, principal: &Principal, query: LineQuery) -> Result<Vec<StoredLine>, Error> {
        self.debate(principal, &query.debate).await?;
        self.0.store.debate_log(query).await
    }

    /// The newest lessons of debates that `principal` may know of.
    pub async fn lessons(&self, principal: &Principal, mut query: LessonQuery) -> Result<Vec<LessonView>, Error> {
        if !principal.role.sees_everything() {
            query.initiated_by = Some(principal.name.clone());
        }
        self.0.store.lessons(query).await
    }
}
