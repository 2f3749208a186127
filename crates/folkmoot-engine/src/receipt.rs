//! A receipt of one gate: everything that was shown, all events, the decision, and a checkpoint of
//! the log.

use std::collections::BTreeMap;

use folkmoot_core::{
    Digest, Event, GateId, Principal,
    checkpoint::Checkpoint,
    erase,
    receipt::{self, Receipt},
};
use folkmoot_store::{Error, Store};

use crate::Engine;

impl Engine {
    /// The receipt of a gate that `principal` may see, its events, and a checkpoint.
    pub async fn receipt(
        &self,
        principal: &Principal,
        id: &GateId,
    ) -> Result<(Receipt, Vec<Event>, Checkpoint), Error> {
        self.gate(principal, id).await?;
        let of_gate = self.0.store.streams(vec![id.to_string()]).await?;
        let digests: Vec<Digest> = receipt::digests(&of_gate).into_iter().collect();
        let contents = self.contents(digests.clone()).await?;
        let missing: Vec<Digest> =
            digests.iter().zip(&contents).filter(|(_, content)| content.is_none()).map(|(digest, _)| *digest).collect();
        let contents: BTreeMap<Digest, Vec<u8>> =
            digests.into_iter().zip(contents).filter_map(|(digest, content)| Some((digest, content?))).collect();
        let mut events = self.erasures_of(&missing).await?;
        // After everything else was read.
        let checkpoint = self.own_checkpoint().await?;
        let unreadable = |broken| Error::Unreadable(format!("the events of {id} do not make a gate: {broken}"));
        let receipt = Receipt::new(&of_gate, &contents, checkpoint.at).map_err(unreadable)?;
        events.extend(of_gate);
        events.sort_by_key(|event| event.position);
        Ok((receipt, events, checkpoint))
    }

    async fn erasures_of(&self, digests: &[Digest]) -> Result<Vec<Event>, Error> {
        let mut events = self.0.store.streams(digests.iter().map(|digest| erase::stream(*digest)).collect()).await?;
        let known: Vec<Digest> = events.iter().flat_map(erase::by).map(|(digest, _)| digest).collect();
        if digests.iter().any(|digest| !known.contains(digest)) {
            // One event retires many contents.
            events.extend(self.0.store.retirements(digests).await?);
        }
        Ok(events)
    }
}
