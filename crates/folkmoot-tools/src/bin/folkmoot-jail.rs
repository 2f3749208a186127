//! The inside of the jail as a program of its own, for those whose own program cannot be started a
//! second time, as tests.

fn main() -> std::process::ExitCode {
    folkmoot_tools::jail::inside()
}
