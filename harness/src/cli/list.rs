//! harness/src/cli/list.rs: what there is. Question: which names may be typed, and who runs what?

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};
use serde_json::{Map, Value, json};
use stealbench_workloads::{
    Params, RuntimeInfo, Size, Support, Workload, policy, runtimes, workloads,
};

use super::{Format, What, print};
use crate::error::Result;

/// Prints the list.
pub(super) fn list(what: What, format: Format) -> Result<u8> {
    if format == Format::Json {
        let value = match what {
            What::Workloads => workloads().iter().map(|w| workload(*w)).collect::<Vec<_>>(),
            What::Runtimes => runtimes().iter().map(runtime).collect(),
            What::Policies => policies().map(|(n, a)| json!({"name": n, "about": a})).collect(),
        };
        return print(&format!("{:#}\n", Value::from(value)));
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    match what {
        What::Workloads => {
            table.set_header(["id", "name", "group", "unit", "what it is", "runs on"]);
            for w in workloads() {
                let on: Vec<_> = runtimes().iter().filter(|r| runs(&w.support(r.name))).collect();
                let on = on.iter().map(|r| r.name).collect::<Vec<_>>().join(" ");
                table.add_row([w.id(), w.name(), w.group(), w.unit(), w.about(), &on]);
            }
        }
        What::Runtimes => {
            table.set_header(["name", "version", "what it is", ""]);
            for r in runtimes() {
                table.add_row([r.name, r.version, r.about, r.label]);
            }
        }
        What::Policies => {
            table.set_header(["name", "what it is"]);
            for (name, about) in policies() {
                table.add_row([name.as_str(), about]);
            }
        }
    }
    print(&format!("{table}\n"))
}

/// As they are typed: on the command line commas part policies, and a plus sign joins switches.
fn policies() -> impl Iterator<Item = (String, &'static str)> {
    policy::known().into_iter().map(|(name, about)| (name.replace(',', "+"), about))
}

fn runs(support: &Support) -> bool {
    matches!(support, Support::Idiomatic | Support::Literal)
}

fn words(support: Support) -> String {
    match support {
        Support::Idiomatic => "idiomatic".to_string(),
        Support::Literal => "literal".to_string(),
        Support::NotExpressible(why) => format!("not expressible: {why}"),
        Support::Absent(why) => format!("absent: {why}"),
    }
}

fn workload(w: &dyn Workload) -> Value {
    let sets = |size| w.variants(size).iter().map(|p: &Params| p.to_string()).collect::<Vec<_>>();
    let on: Map<String, Value> =
        runtimes().iter().map(|r| (r.name.to_string(), words(w.support(r.name)).into())).collect();
    json!({
        "id": w.id(), "name": w.name(), "group": w.group(), "unit": w.unit(), "about": w.about(),
        "sizes": {"smoke": sets(Size::Smoke), "std": sets(Size::Std), "large": sets(Size::Large)},
        "runtimes": on,
    })
}

fn runtime(r: &RuntimeInfo) -> Value {
    json!({
        "name": r.name, "version": r.version, "about": r.about, "label": r.label,
        "policies": r.policies, "fixed_workers": r.fixed_workers,
    })
}
