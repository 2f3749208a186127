//! What is there and what is missing.

use folkmoot_workflows::{
    doctor::{Area, examine},
    equipment::EquipmentSettings,
};

use crate::workbench::equipment;

#[tokio::test]
async fn every_formatter_is_there_or_it_is_said_how_to_get_it() {
    let findings = examine(&equipment(EquipmentSettings::default())).await;
    let formatters: Vec<_> = findings.iter().filter(|finding| finding.name.starts_with("format, ")).collect();
    let names: Vec<&str> = formatters.iter().map(|finding| &finding.name["format, ".len()..]).collect();
    assert_eq!(names, ["rust", "python", "javascript", "typescript", "go", "shell"]);
    let programs = ["rustfmt", "black", "prettier", "prettier", "gofmt", "shfmt"];
    for (finding, program) in formatters.iter().zip(programs) {
        assert_eq!(finding.area, Area::Tools);
        let named = finding.detail.contains(program) || finding.detail.contains("ruff");
        assert!(
            named && (finding.ok || finding.detail.contains("get ") || finding.detail.contains("install")),
            "{finding:?}"
        );
    }
}
