use super::*;

#[test]
fn targets_are_read_and_nothing_else() {
    let text = "
CC := cc
FLAGS = a:b
.PHONY: build phantom
build test : dep # both
\t@echo lint: no
lint:: ; ruff
%.o: %.c
release: CFLAGS = -O2
$(NAME): x
define template
defined: x
endef
long: a \\
trap: b
export A := b
# commented: x
folder/file: x
";
    assert_eq!(targets(text).into_iter().collect::<Vec<_>>(), ["build", "lint", "long", "test"]);
}
