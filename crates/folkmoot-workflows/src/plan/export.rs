//! Exports a plan as Markdown or HTML, even if it is not complete.

use super::Plan;

/// The plan as Markdown, and where it comes from.
pub fn markdown(plan: &Plan) -> String {
    let goal = plan.goal.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = if plan.final_plan.is_empty() { unfinished(plan) } else { plan.final_plan.trim().to_owned() };
    let has_title = text.lines().any(|line| line.starts_with("# "));
    let title = if has_title { String::new() } else { format!("# {goal}\n\n") };
    format!(
        "{title}{text}\n\n---\n\n- Made for: {goal}\n- Iterations: {} of {} ({} insights, {} frameworks, {} data points)\n- Written by: {}\n",
        plan.iterations_completed,
        plan.total_iterations,
        plan.tally.insights,
        plan.tally.frameworks_evolved,
        plan.tally.data_points_collected,
        plan.provider,
    )
}

/// What there is of a plan without its final text.
fn unfinished(plan: &Plan) -> String {
    let mut parts = vec!["*This plan is not complete. It has no final text; below is what there is of it.*".to_owned()];
    if !plan.proposal.is_empty() {
        parts.push(format!("## Proposal\n\n{}", plan.proposal.trim()));
    }
    parts.extend(plan.strategy.iter().map(|change| format!("## Changed course\n\n{}", change.trim())));
    for shown in &plan.iterations {
        let state = if plan.undecided.contains(&shown.number) { "not decided on yet" } else { "accepted" };
        let (title, text) = match &shown.gave {
            Ok(iteration) => (iteration.title.trim(), iteration.markdown()),
            Err(why) => ("gave nothing", why.clone()),
        };
        parts.push(format!("## Iteration {}: {title} ({state})\n\n{}", shown.number, text.trim()));
    }
    parts.join("\n\n")
}

/// The plan as a self-contained HTML page. What a model wrote is only text there: it brings no
/// scripts, images or styles, and links only to the web and to mail addresses.
pub fn html(plan: &Plan) -> String {
    let options = pulldown_cmark::Options::ENABLE_TABLES | pulldown_cmark::Options::ENABLE_STRIKETHROUGH;
    let text = markdown(plan);
    let events = pulldown_cmark::Parser::new_ext(&text, options).map(|event| match event {
        pulldown_cmark::Event::Html(html) | pulldown_cmark::Event::InlineHtml(html) => {
            pulldown_cmark::Event::Text(html)
        }
        event => event,
    });
    let mut rendered = String::new();
    pulldown_cmark::html::push_html(&mut rendered, events);
    let body = ammonia::Builder::default()
        .rm_tags(["img"])
        .url_schemes(["http", "https", "mailto"].into())
        .url_relative(ammonia::UrlRelative::Deny)
        .clean(&rendered);
    let title = ammonia::clean_text(&plan.goal.split_whitespace().collect::<Vec<_>>().join(" "));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{HEAD}<title>{title}</title>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

const HEAD: &str = concat!(
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    "<meta name=\"viewport\" content=\"width=device-width\">\n",
    "<style>body { max-width: 44rem; margin: 3rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif }\n",
    "h1, h2, h3 { line-height: 1.25 } table { border-collapse: collapse } td, th { border: 1px solid #999; padding: .3rem .6rem }\n",
    "code, pre { font: .9em ui-monospace, monospace } pre { overflow: auto }\n",
    "@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } a { color: #8bf } }</style>\n",
);
