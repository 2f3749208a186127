//! Prompts: template files, built in, and replaceable by files of the same names.
//!
//! Text from outside (a topic, a model's output, a tool's output) enters a template as *data*. Data
//! can be written only as `{{ topic | fence("topic") }}`, between two marks that the text cannot
//! contain. Any other use is an error. Every template is rendered with samples when the prompts are
//! loaded, so a template that omits the fence fails at the start. The same context gives the same
//! prompt, byte for byte.
//!
//! A template sees only the variables that its line in `catalogue.rs` declares. It has no functions
//! and no filter except `fence`, reads no files, and includes only other prompts.

mod catalogue;
mod context;
mod error;
mod fence;
mod overrides;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, io, path::Path};

use folkmoot_debate::{AgentRole, Domain};
use minijinja::{
    Environment, ErrorKind, Output, State, UndefinedBehavior, Value, syntax::SyntaxConfig, value::ValueKind,
};

use catalogue::{CATALOGUE, Prompt};

pub use context::PromptContext;
pub use error::PromptError;

/// A prompt needs far fewer instructions; an answer in a list takes about twenty.
const FUEL: u64 = 100_000;

/// A longer prompt fits no model.
const PROMPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// All prompts. Each has been rendered once.
#[derive(Clone, Debug)]
pub struct Prompts {
    environment: Environment<'static>,
}

impl Prompts {
    /// The built-in prompts.
    pub fn embedded() -> Self {
        Self::load(|prompt| prompt.source.to_owned()).expect("a test loads the prompts that are built in")
    }

    /// The built-in prompts, with files of the same names in `folder` (`roles/critic.md`) replacing
    /// them. Names that begin with a dot are ignored. Everything is read and checked now; later
    /// changes in the folder have no effect.
    pub fn with_overrides(folder: &Path) -> Result<Self, PromptError> {
        let mut overrides = overrides::read(folder)?;
        Self::load(|prompt| overrides.remove(prompt.name).unwrap_or_else(|| prompt.source.to_owned()))
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        CATALOGUE.iter().map(|prompt| prompt.name)
    }

    /// Renders a prompt. The context must have exactly the variables that the prompt declares.
    pub fn render(&self, name: &str, context: &PromptContext) -> Result<String, PromptError> {
        let prompt = CATALOGUE
            .iter()
            .find(|prompt| prompt.name == name)
            .ok_or_else(|| PromptError::UnknownPrompt { name: name.to_owned(), known: Self::names().collect() })?;
        context.must_be(prompt.name, prompt.variables)?;
        self.render_checked(prompt, context)
    }

    /// An agent's system prompt: its role, its domain, and the rules for all agents. A replaced
    /// role file cannot remove the rules.
    pub fn system(&self, role: AgentRole, domain: Domain) -> Result<String, PromptError> {
        let mut parts = vec![self.render(&format!("roles/{role}.md"), &PromptContext::new())?];
        if domain != Domain::General {
            parts.push(self.render(&format!("domains/{domain}.md"), &PromptContext::new())?);
        }
        parts.push(self.render("parts/rules.md", &PromptContext::new())?);
        Ok(parts.join("\n\n"))
    }

    fn load(mut source: impl FnMut(&Prompt) -> String) -> Result<Self, PromptError> {
        let mut prompts = Self { environment: environment() };
        for prompt in CATALOGUE {
            let source = source(prompt);
            if source.trim().is_empty() {
                return Err(PromptError::template(prompt.name, None, "is empty; say something, or remove the file"));
            }
            prompts
                .environment
                .add_template_owned(prompt.name, source)
                .map_err(|error| PromptError::of(prompt.name, &error))?;
        }
        // After all are added, because prompts may include each other.
        for prompt in CATALOGUE {
            prompts.try_out(prompt)?;
        }
        Ok(prompts)
    }

    /// Renders a prompt with all samples, so that every branch that depends on its variables is
    /// executed.
    fn try_out(&self, prompt: &Prompt) -> Result<(), PromptError> {
        self.must_know_its_variables(prompt)?;
        let mut forgotten: BTreeSet<String> = context::data_of(prompt.variables).into_iter().collect();
        for sample in context::samples(prompt.variables) {
            let rendered = self.render_checked(prompt, &sample)?;
            forgotten.retain(|variable| !rendered.contains(&context::sample_of(variable)));
        }
        match forgotten.pop_first() {
            Some(variable) => {
                let problem = format!("never writes `{variable}`, without which no model knows what it is about");
                Err(PromptError::template(prompt.name, None, problem))
            }
            None => Ok(()),
        }
    }

    /// Rendering detects an unknown variable only when it is reached; this detects it anywhere.
    fn must_know_its_variables(&self, prompt: &Prompt) -> Result<(), PromptError> {
        let template = self.template(prompt)?;
        let used: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
        let known: Vec<&str> = prompt.variables.iter().map(|variable| variable.name).collect();
        let Some(unknown) = used.into_iter().find(|used| !known.contains(&used.as_str())) else {
            return Ok(());
        };
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let line = template.source().lines().position(|line| line.split(|c| !is_part(c)).any(|word| word == unknown));
        let problem = match known.is_empty() {
            true => format!("uses `{unknown}`, and this prompt has no variables"),
            false => format!("uses `{unknown}`, which is not one of {}", known.join(", ")),
        };
        Err(PromptError::template(prompt.name, line.map(|line| line + 1), problem))
    }

    fn render_checked(&self, prompt: &Prompt, context: &PromptContext) -> Result<String, PromptError> {
        let rendering = context.rendering();
        let mut written = LimitedWriter(Vec::new());
        self.template(prompt)?
            .render_captured_to(context.root(&rendering), &mut written)
            .map_err(|error| PromptError::of(prompt.name, &error))?;
        if rendering.has_spilled() {
            return Err(PromptError::template(prompt.name, None, fence::SPILLED));
        }
        String::from_utf8(written.0).map_err(|_| PromptError::template(prompt.name, None, "is not UTF-8"))
    }

    fn template(&self, prompt: &Prompt) -> Result<minijinja::Template<'_, '_>, PromptError> {
        self.environment.get_template(prompt.name).map_err(|error| PromptError::of(prompt.name, &error))
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_debug(false);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_syntax(
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().expect("the usual delimiters are valid"),
    );
    environment.set_formatter(write);
    environment.add_filter("fence", fence::fence);
    environment
}

/// Writes words and numbers, and nothing else.
fn write(out: &mut Output, state: &mut State, value: &Value) -> Result<(), minijinja::Error> {
    let refused = |problem: &str| Err(minijinja::Error::new(ErrorKind::InvalidOperation, problem.to_owned()));
    // Checked here for the line number; at the end there is none.
    if fence::has_spilled(state) {
        return refused(fence::SPILLED);
    }
    match value.kind() {
        ValueKind::String => Ok(out.write_str(value.as_str().unwrap_or_default())?),
        ValueKind::Number => Ok(out.write_str(&value.to_string())?),
        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
        _ if fence::is_data(value) => refused(&format!("this is data; {}", fence::HOW)),
        kind => refused(&format!("a {kind} cannot be written; write what is in it, piece by piece")),
    }
}

/// Limits the size of a prompt.
struct LimitedWriter(Vec<u8>);

impl io::Write for LimitedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > PROMPT_BYTES_MAX {
            let problem = format!("the prompt is longer than {PROMPT_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
