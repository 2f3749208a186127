//! Closed vocabularies: enums in which each item has one word, with conversions both ways.
//! Database, wire and pages use these words.

/// A word that is not in a vocabulary, and the words that are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not one of {}", .known.join(", "))]
pub struct UnknownWord {
    pub word: String,
    /// Every word of the vocabulary.
    pub known: &'static [&'static str],
}

/// Defines an enum in which each item has one word, the same wherever it is written or read. The
/// enum's doc comment is also its description in the OpenAPI document.
#[macro_export]
macro_rules! vocabulary {
    ($(#[doc = $doc:literal])* $(#[derive($derive:ident)])? pub enum $name:ident { $($(#[$item_doc:meta])* $item:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash $(, $derive)?)]
        pub enum $name { $($(#[$item_doc])* $item,)+ }

        impl $name {
            /// Every word, in order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// Every item, in the order of `WORDS`.
            pub const ALL: &'static [$name] = &[$($name::$item,)+];

            pub const fn word(self) -> &'static str {
                match self { $($name::$item => $word,)+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::vocabulary::UnknownWord;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok($name::$item),)+
                    _ => Err($crate::vocabulary::UnknownWord { word: word.chars().take(80).collect(), known: Self::WORDS }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = std::borrow::Cow::<str>::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }

        $crate::openapi!($name, [$($doc),*], $crate::openapi::one_of(Self::WORDS));
    };
}
