//! Embeddings: what all vendors share.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{call_timer::CallTimer, fault::VendorFault, http::Http};

pub(super) type Embedding = Vec<f32>;

/// Texts per request. Gemini accepts a hundred.
const BATCH: usize = 64;
/// The maximum size of a vector: more than eight thousand numbers with all digits.
const VECTOR_BYTES_MAX: usize = 256 * 1024;

/// A vendor's response to one batch.
pub(super) trait Vectors: DeserializeOwned {
    fn in_order(self) -> Result<Vec<Embedding>, VendorFault>;
}

/// Requests vectors for `texts` in consecutive batches at `path`. `body` makes each request.
pub(super) async fn embed<T: Vectors>(
    http: &Http,
    texts: &[String],
    path: &str,
    body: impl Fn(&[String]) -> Value,
) -> Result<Vec<Embedding>, VendorFault> {
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(BATCH) {
        let patience = CallTimer::of(&http.endpoint);
        let post = http.post(path, body(batch).to_string());
        let answer: T = http.fetch(post, &patience, batch.len() * VECTOR_BYTES_MAX).await?;
        let found = answer.in_order()?;
        // Check each batch, or the next vectors would be assigned to the wrong texts.
        if found.len() != batch.len() {
            return Err(VendorFault::malformed(format!("answered {} vectors for {} texts", found.len(), batch.len())));
        }
        vectors.extend(found);
    }
    must_be_alike(&vectors)?;
    Ok(vectors)
}

fn must_be_alike(vectors: &[Embedding]) -> Result<(), VendorFault> {
    let length = vectors.first().map_or(0, Vec::len);
    if vectors.iter().any(|vector| vector.is_empty() || vector.len() != length) {
        return Err(VendorFault::malformed("answered vectors of different lengths, or without numbers"));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err(VendorFault::malformed("answered a vector with a number that is not finite"));
    }
    Ok(())
}
