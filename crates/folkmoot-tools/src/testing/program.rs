//! A test and its solution as one program.

use super::{Solution, TestCase};
use crate::jail::{JailLimits, Program, ProgramLanguage};

/// The program that runs a test. At the end of the test it prints its standard input, the mark.
pub(super) fn program(solution: &Solution, test: &TestCase, mark: &str, limits: JailLimits) -> Program {
    let (main, solution_file, test_file) = match solution.language {
        ProgramLanguage::Python => (PYTHON.to_owned(), "solution.py", Some("test.py")),
        ProgramLanguage::JavaScript => (JAVASCRIPT.to_owned(), "solution.mjs", Some("test.mjs")),
        ProgramLanguage::Bash => (BASH.to_owned(), "solution.sh", Some("test.sh")),
        ProgramLanguage::Go => (GO.to_owned(), "solution.go", Some("test.go")),
        ProgramLanguage::Rust => (format!("{RUST}fn check() {{\n{}\n}}\n", test.code), "solution.rs", None),
    };
    let mut files = vec![(solution_file.to_owned(), solution.code.clone().into_bytes())];
    files.extend(test_file.map(|name| (name.to_owned(), test.code.clone().into_bytes())));
    Program { files, stdin: mark.to_owned().into_bytes(), limits, ..Program::new(solution.language, main) }
}

const PYTHON: &str = r#"import runpy, sys
runpy.run_path("test.py", run_name="__main__")
sys.stdout.write("\n" + sys.stdin.read())
"#;

const JAVASCRIPT: &str = r#"import { readFileSync } from "node:fs";
await import("./test.mjs");
console.log("\n" + readFileSync(0, "utf8"));
"#;

const BASH: &str = "set -e\n. ./test.sh\nprintf '\\n'\ncat\n";

const GO: &str = r#"package main

import (
	"io"
	"os"
)

func main() {
	check()
	os.Stdout.WriteString("\n")
	io.Copy(os.Stdout, os.Stdin)
}
"#;

const RUST: &str = r#"#![allow(unused, reason = "a solution has more than one test uses")]
mod solution;

fn main() {
    check();
    println!("\n{}", std::io::read_to_string(std::io::stdin()).unwrap_or_default());
}

"#;
