//! Tokens.

use folkmoot_core::TokenId;
use reqwest::Method;

use super::{Client, Error};
use crate::wire::{NewToken, Token, TokenList};

impl Client {
    /// Creates a token. Only this response contains its secret.
    pub async fn create_token(&self, token: &NewToken) -> Result<Token, Error> {
        self.call(Method::POST, "/v1/tokens", token, None).await
    }

    /// All tokens.
    pub async fn tokens(&self) -> Result<TokenList, Error> {
        self.get("/v1/tokens", &()).await
    }

    /// Revokes a token.
    pub async fn revoke_token(&self, id: &TokenId) -> Result<Token, Error> {
        self.json(self.request(Method::DELETE, &format!("/v1/tokens/{id}")).timeout(super::ANSWER_TIMEOUT)).await
    }
}
