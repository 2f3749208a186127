//! Names of workflows, with their versions. A run keeps the version that it was started with.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// A workflow's name and version, such as `debate@1`. The version changes when the code does other
/// steps than before.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkflowName(Arc<str>);

crate::openapi!(
    WorkflowName,
    ["`debate@1`: a name, and a version that changes when the code does other steps than before."],
    crate::openapi::text("^[a-z0-9_-]+@[1-9][0-9]{0,8}$", WorkflowName::BYTES_MAX)
);

/// The text does not name a workflow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no workflow: write name@version, such as debate@1, of a-z 0-9 _ - and a number from 1")]
pub struct BadWorkflowName(String);

impl WorkflowName {
    /// The maximum length of a name with its version, so that it fits into the name of a principal.
    pub const BYTES_MAX: usize = 96;

    /// The name with its version.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without its version.
    pub fn name(&self) -> &str {
        self.0.split_once('@').map_or(&self.0, |(name, _)| name)
    }
}

impl FromStr for WorkflowName {
    type Err = BadWorkflowName;
    fn from_str(text: &str) -> Result<Self, BadWorkflowName> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        let well_formed = text.len() <= Self::BYTES_MAX
            && text.split_once('@').is_some_and(|(name, version)| {
                let number = version.parse::<u32>().is_ok_and(|n| n > 0 && n.to_string() == version);
                !name.is_empty() && name.bytes().all(plain) && number
            });
        if well_formed {
            return Ok(Self(text.into()));
        }
        Err(BadWorkflowName(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for WorkflowName {
    type Error = BadWorkflowName;
    fn try_from(text: String) -> Result<Self, BadWorkflowName> {
        text.parse()
    }
}

impl From<WorkflowName> for String {
    fn from(name: WorkflowName) -> String {
        name.0.as_ref().to_owned()
    }
}

impl fmt::Display for WorkflowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for WorkflowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
