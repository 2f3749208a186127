//! Lists that alternate between principals, so that nobody's entries hide another's.

use folkmoot_core::Name;
use folkmoot_store::{Cursor, Error, Page};

/// The most urgent entry of each of these principals, then the second of each, and so on, at most
/// `limit`. `of` reads a page of one principal, `urgency` orders entries of the same rank.
pub(crate) async fn interleave<T, U: Ord, P: Future<Output = Result<Page<T>, Error>>>(
    principals: Vec<Name>,
    limit: u32,
    of: impl Fn(Name, u32, Option<Cursor>) -> P,
    urgency: impl Fn(&T) -> U,
) -> Result<Vec<T>, Error> {
    let each = limit.div_ceil(u32::try_from(principals.len()).unwrap_or(u32::MAX).max(1)).max(1);
    let mut pages = Vec::with_capacity(principals.len());
    for principal in principals {
        pages.push((principal.clone(), of(principal, each, None).await?));
    }
    let read = pages.iter().map(|(_, page)| page.items.len()).sum::<usize>();
    let mut missing = (limit as usize).saturating_sub(read);
    for (principal, page) in pages.iter_mut().filter(|(_, page)| page.next.is_some()) {
        if missing > 0 {
            let more = of(principal.clone(), missing as u32, page.next.take()).await?.items;
            missing -= more.len();
            page.items.extend(more);
        }
    }
    let mut ranked: Vec<(usize, T)> =
        pages.into_iter().flat_map(|(_, page)| page.items.into_iter().enumerate()).collect();
    ranked.sort_by_cached_key(|(rank, item)| (*rank, urgency(item)));
    ranked.truncate(limit as usize);
    Ok(ranked.into_iter().map(|(_, item)| item).collect())
}
