//! `folkmoot protect`: encrypt your deciding token with a passphrase.

use anyhow::{Context as _, Result, bail};
use folkmoot_api::{
    Client,
    core::token::TokenKind,
    wire::{NewToken, Token},
};
use folkmoot_server::{LocalToken, LocalTokens, ProtectedToken};

use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit, terminal::tty::Terminal};

const CHARS_MIN: usize = 8;

/// Encrypt your deciding token with a passphrase, so that no program decides for you
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The data folder keeps your token. Unencrypted, any program that runs under your account can use it, including an agent. With a \
passphrase, the folder holds your token encrypted, and unencrypted only a token that can read but not decide. Each command that \
decides asks for the passphrase; it is not remembered in between.

If you forget the passphrase, another admin must create a new token for you.")]
pub(crate) struct Args {
    /// Undo it; asks for the passphrase
    #[arg(long)]
    remove: bool,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let Some(tokens) = connection.folder_tokens().cloned() else {
        bail!(
            "this is about the token that the data folder keeps for you; leave out --token, --url and their variables"
        )
    };
    match (args.remove, &tokens.protected) {
        (false, None) => protect(ctx, connection, tokens).await?,
        (true, Some(_)) => remove(ctx, connection, tokens).await?,
        (false, Some(_)) => bail!("it is protected already; `folkmoot protect --remove` undoes it"),
        (true, None) => bail!("it is not protected; `folkmoot protect` does it"),
    }
    Ok(Exit::Done)
}

async fn protect(ctx: &CliContext, connection: &mut Connection, tokens: LocalTokens) -> Result<()> {
    let terminal =
        Terminal::open().context("a passphrase is typed at a terminal, and there is none; run this in one")?;
    let passphrase = chosen(&terminal).await?;
    connection.answered().await?;
    let new = make(&connection.client(ActingAs::You)?, &tokens.you, TokenKind::Protected).await?;
    let (owner, secret) = (tokens.you.name.clone(), new.clone());
    // Encrypting is slow on purpose.
    let sealed = tokio::task::spawn_blocking(move || {
        let sealed = ProtectedToken::seal(&owner, &secret, &passphrase)?;
        // A token that cannot be decrypted would lock its owner out.
        let opened = sealed.open(&owner, &passphrase)?;
        anyhow::ensure!(opened == secret, "what was encrypted does not decrypt");
        Ok(sealed)
    });
    let sealed = sealed.await??;
    // If anything fails from here on, the folder still holds a deciding token: first the
    // unencrypted one beside the protected one, then only the protected one.
    let both = LocalTokens { protected: Some(sealed), ..tokens };
    ctx.data.write_tokens(&both)?;
    let you = connection.client(ActingAs::You)?.with_token(&new);
    let reading = make(&you, &both.you, TokenKind::Reading).await?;
    let owner = both.you.clone();
    ctx.data.write_tokens(&LocalTokens { you: LocalToken { token: reading, ..owner.clone() }, ..both })?;
    end(&you, &owner, &[TokenKind::Personal]).await?;
    ctx.screen.say("Your token is under the passphrase now. What lies in the data folder in the clear only reads.")?;
    ctx.screen.note("A program that watches you type, or changes the files of the data folder, is not kept out: see docs/security.md.");
    Ok(())
}

async fn remove(ctx: &CliContext, connection: &mut Connection, tokens: LocalTokens) -> Result<()> {
    connection.answered().await?;
    let token = make(&connection.client(ActingAs::You)?, &tokens.you, TokenKind::Personal).await?;
    let owner = LocalToken { token: token.clone(), ..tokens.you };
    ctx.data.write_tokens(&LocalTokens { you: owner.clone(), protected: None, ..tokens })?;
    let you = connection.client(ActingAs::You)?.with_token(&token).at_a_terminal();
    end(&you, &owner, &[TokenKind::Protected, TokenKind::Reading]).await?;
    Ok(ctx
        .screen
        .say("Your token lies in the data folder in the clear again. Deciding takes a terminal, and no passphrase.")?)
}

async fn chosen(terminal: &Terminal) -> Result<String> {
    const NOTHING: &str = "nothing was typed, so nothing was changed";
    let passphrase = terminal.secret("New passphrase:").await?.context(NOTHING)?;
    if passphrase.chars().count() < CHARS_MIN {
        bail!("that is shorter than {CHARS_MIN} characters, so nothing was changed; choose a longer one");
    }
    let again = terminal.secret("Once more:").await?.context(NOTHING)?;
    if passphrase != again {
        bail!("these are two different passphrases, so nothing was changed");
    }
    Ok(passphrase)
}

/// Creates a token for the folder's owner. Not retried: a token whose secret nobody has seen would
/// be worse than an error.
async fn make(client: &Client, owner: &LocalToken, kind: TokenKind) -> Result<String> {
    let request = NewToken { name: owner.name.clone(), role: owner.role, capabilities: Vec::new(), kind };
    client.create_token(&request).await?.token.context("the server did not say the new token")
}

/// Revokes all of the owner's tokens of these kinds.
async fn end(client: &Client, owner: &LocalToken, kinds: &[TokenKind]) -> Result<()> {
    let is_theirs =
        |token: &Token| token.name == owner.name && token.revoked_at.is_none() && kinds.contains(&token.kind);
    for token in client.tokens().await?.tokens.into_iter().filter(is_theirs) {
        client.revoke_token(&token.id).await?;
    }
    Ok(())
}
