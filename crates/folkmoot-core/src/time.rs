//! Moments, deadlines and timeouts. A moment is an integer number of microseconds, and is written
//! as RFC 3339.

#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment, in microseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

crate::openapi!(Timestamp, ["A moment, as RFC 3339 writes it."], crate::openapi::moment());

impl Timestamp {
    /// The moment `micros` microseconds after 1970 began. Values outside the range that can be
    /// written as RFC 3339 are clamped.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(0, LAST_MICROS))
    }

    /// Microseconds since 1970.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// The moment `span` after this one, but at most 9999-12-30T22:00:00Z.
    pub fn plus(self, span: Duration) -> Self {
        let micros = i64::try_from(span.as_micros()).unwrap_or(LAST_MICROS);
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// The time from `earlier` to this moment; zero if `earlier` is not earlier.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

/// 9999-12-30T22:00:00Z, the last moment that jiff can write.
const LAST_MICROS: i64 = 253_402_207_200_000_000;

/// Always six decimals and `Z`, because this text is what the log's hash covers.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = jiff::Timestamp::from_microsecond(self.0).expect("held to four-digit years when it was made");
        write!(f, "{moment:.6}")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let moment: jiff::Timestamp = text
            .parse()
            .map_err(|_| de::Error::custom(format!("{text:?} is no moment; write 2026-01-31T12:00:00Z")))?;
        Ok(Self::from_micros(moment.as_microsecond()))
    }
}

/// Until when a gate can be decided, or something else can happen. The deadline itself is the first
/// moment that is too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deadline {
    /// The first moment that is too late.
    At(Timestamp),
    /// There is no deadline.
    Never,
}

crate::openapi!(Deadline, ["The first moment too late; null where there is none."], crate::openapi::moment_or_null());

impl Deadline {
    /// Whether `now` is too late.
    pub fn has_passed(self, now: Timestamp) -> bool {
        match self {
            Deadline::At(moment) => moment <= now,
            Deadline::Never => false,
        }
    }

    /// The value for a database column. `Never` is a sentinel, because it sorts last where NULL
    /// would not.
    pub fn as_micros(self) -> i64 {
        match self {
            Deadline::At(moment) => moment.as_micros(),
            Deadline::Never => i64::MAX,
        }
    }

    /// The inverse of [`Deadline::as_micros`].
    pub fn from_micros(micros: i64) -> Self {
        if micros == i64::MAX { Deadline::Never } else { Deadline::At(Timestamp::from_micros(micros)) }
    }

    /// The moment; `None` for `Never`.
    pub fn moment(self) -> Option<Timestamp> {
        match self {
            Deadline::At(moment) => Some(moment),
            Deadline::Never => None,
        }
    }
}

impl Serialize for Deadline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.moment().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Deadline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Deadline::Never, Deadline::At))
    }
}

/// How long a gate or question waits. Written as milliseconds, or `"never"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timeout {
    /// Counted from when the wait begins: for a gate when it is opened, extended or escalated.
    After(Duration),
    /// No deadline.
    Never,
}

crate::openapi!(Timeout, ["How long to wait: milliseconds, or `never`."], crate::openapi::millis_or_never());

impl Timeout {
    /// Whether the log and a row can store it exactly: a whole number of milliseconds, at least 1
    /// and less than `i64::MAX`, which stands for `Never` in the database.
    pub(crate) fn is_exact(self) -> bool {
        match self {
            Timeout::After(span) => {
                let whole = span.subsec_nanos().is_multiple_of(1_000_000);
                whole && i64::try_from(span.as_millis()).is_ok_and(|millis| (1..i64::MAX).contains(&millis))
            }
            Timeout::Never => true,
        }
    }

    /// The deadline of a wait that begins at `now`.
    pub fn deadline(self, now: Timestamp) -> Deadline {
        match self {
            Timeout::After(span) => Deadline::At(now.plus(span)),
            Timeout::Never => Deadline::Never,
        }
    }
}

impl From<Duration> for Timeout {
    fn from(span: Duration) -> Self {
        Timeout::After(span)
    }
}

impl Serialize for Timeout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Timeout::After(span) => serializer.serialize_u64(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)),
            Timeout::Never => serializer.serialize_str("never"),
        }
    }
}

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimeoutVisitor;
        impl de::Visitor<'_> for TimeoutVisitor {
            type Value = Timeout;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of milliseconds above zero, or \"never\"")
            }
            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Timeout, E> {
                if millis == 0 {
                    return Err(E::invalid_value(de::Unexpected::Unsigned(0), &self));
                }
                Ok(Timeout::After(Duration::from_millis(millis)))
            }
            fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Timeout, E> {
                let positive =
                    u64::try_from(millis).map_err(|_| E::invalid_value(de::Unexpected::Signed(millis), &self))?;
                self.visit_u64(positive)
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Timeout, E> {
                if word == "never" {
                    return Ok(Timeout::Never);
                }
                Err(E::invalid_value(de::Unexpected::Str(word), &self))
            }
        }
        deserializer.deserialize_any(TimeoutVisitor)
    }
}
