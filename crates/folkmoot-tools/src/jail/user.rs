//! The user of a job. Never root.

use super::{JailError, folder::FolderAccess, wire::User};

/// Unused ids: systems assign none in this range. Each helper has its own, by its process id, so no
/// two jobs share a user.
const FIRST_ID: u32 = 1_879_048_192;
/// For containers with only 65536 ids: the range for temporary users.
const FIRST_ID_SMALL: u32 = 61_184;
const IDS_SMALL: u32 = 4_000;

/// The user id of this process.
pub(super) fn caller() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user for a job that root starts. Other callers run jobs as themselves, mapped to nobody.
pub(super) fn become_user(way: Option<&FolderAccess>, pid: u32) -> Result<Option<User>, JailError> {
    if caller() != 0 {
        return Ok(None);
    }
    if let Some(FolderAccess::Mounted { owner, group }) = way {
        return Ok(Some(User { uid: *owner, gid: *group }));
    }
    let map = std::fs::read_to_string("/proc/self/uid_map")
        .map_err(|error| JailError::NoJail(format!("/proc/self/uid_map: {error}")))?;
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    choose_user(&map, &users, pid)
}

fn choose_user(map: &str, users: &str, pid: u32) -> Result<Option<User>, JailError> {
    let ranges = map.lines().filter_map(|line| {
        let numbers = line.split_whitespace().map(|number| number.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
        Some((*numbers.first()?, *numbers.get(1)?, *numbers.get(2)?))
    });
    let ranges = ranges.collect::<Vec<_>>();
    let exists = |id: u32| ranges.iter().any(|(inside, _, count)| (*inside..inside + count).contains(&u64::from(id)));
    let taken = |id: u32| users.lines().any(|line| line.split(':').nth(2) == Some(id.to_string().as_str()));
    let chosen = [FIRST_ID.checked_add(pid), Some(FIRST_ID_SMALL + pid % IDS_SMALL)]
        .into_iter()
        .flatten()
        .find(|id| exists(*id) && !taken(*id));
    match (chosen, ranges.as_slice()) {
        (Some(id), _) => Ok(Some(User { uid: id, gid: id })),
        // Root in name only: outside this container it is an unprivileged user, and there is no
        // other.
        (None, [(0, outside, 1)]) if *outside != 0 => Ok(None),
        (None, _) => {
            Err(JailError::NoJail("root cannot become an unprivileged user here; run Folkmoot as one".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_becomes_somebody_whom_no_account_owns() {
        let whole = "         0          0 4294967295\n";
        let user = |id| Some(User { uid: id, gid: id });
        assert_eq!(choose_user(whole, "root:x:0:0::/:/bin/sh", 4711), Ok(user(FIRST_ID + 4711)));
        assert_eq!(
            choose_user(whole, &format!("a:x:{}:0::/:/bin/sh", FIRST_ID + 4711), 4711),
            Ok(user(FIRST_ID_SMALL + 711))
        );
        assert_eq!(choose_user("0 100000 65536", "", 4711), Ok(user(FIRST_ID_SMALL + 711)));
    }

    #[test]
    fn who_is_root_only_by_name_stays_who_it_is_and_real_root_never_does() {
        assert_eq!(choose_user("0 1000 1", "", 7), Ok(None));
        assert!(matches!(choose_user("0 0 1", "", 7), Err(JailError::NoJail(_))));
        assert!(matches!(choose_user("", "", 7), Err(JailError::NoJail(_))));
    }
}
