//! The inside of the jail as a separate program, for programs that cannot start themselves again,
//! such as tests.

fn main() -> std::process::ExitCode {
    folkmoot_tools::jail::inside()
}
