//! harness/tests/report.rs: what every report must and must not hold, whatever was measured.

mod common;

use common::{World, epochs, journal, plan};
use stealbench::plan::Plan;
use stealbench::report::{self, Report};
use stealbench::store;

fn made() -> (tempfile::TempDir, Plan) {
    let plan = plan(&["alpha", "beta", "gamma", "serial"], &["even", "skewed"], &[1, 2, 4], 2026);
    let world = World { drift: 0.05, noise: 0.006, seed: 9, ..World::default() };
    let epochs = epochs(&plan, world, |arm, cell| {
        let n = cell.workers.min(2) as f64;
        1e6 * match arm.runtime.as_str() {
            "alpha" => 1.0 / n.powf(0.9),
            "beta" => 0.85 / n.powf(0.8),
            "gamma" => 12.0 / n,
            _ => 0.9,
        }
    });
    let dir = tempfile::tempdir().unwrap();
    journal(dir.path(), &plan, epochs);
    // For looking at it: STEALBENCH_TEST_PAGE=FILE cargo test --test report
    if let Some(path) = std::env::var_os("STEALBENCH_TEST_PAGE") {
        std::fs::write(path, report::html(&read(dir.path())).unwrap()).unwrap();
    }
    (dir, plan)
}

fn read(dir: &std::path::Path) -> Report {
    Report::build(store::load(dir).unwrap()).unwrap()
}

#[test]
fn the_same_journal_gives_the_same_bytes() {
    let (dir, _) = made();
    let all =
        |r: &Report| (report::html(r).unwrap(), report::markdown(r), report::json(r).to_string());
    assert_eq!(all(&read(dir.path())), all(&read(dir.path())));
}

/// No script, no network: nothing that a browser would run or fetch.
#[test]
fn the_page_is_self_contained_and_escaped() {
    let (dir, _) = made();
    let page = report::html(&read(dir.path())).unwrap();
    for bad in
        ["<script", "http://", "https://", "url(", "@import", "<link", "<img", "src=", "onload"]
    {
        assert!(!page.contains(bad), "{bad}");
    }
    assert!(page.contains("a made-up &#60;CPU&#62;") || page.contains("a made-up &lt;CPU&gt;"));
    assert!(page.matches("<svg").count() >= 5, "pictures are missing");
}

/// The null arm comes before the first ratio; losses, self-audit and the command are there.
#[test]
fn the_page_says_what_it_must_in_the_right_order() {
    let (dir, _) = made();
    let page = report::html(&read(dir.path())).unwrap();
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    assert!(at("The null arm") < at("Where alpha loses"));
    assert!(at("Idle cost") < at("Where alpha loses"), "idle cost stands beside throughput");
    assert!(page.contains("<td>beta</td><td class=\"n\">1.25 %</td>"), "of every contender");
    assert!(at("Where alpha loses") < at("<h2 id=\"X00"));
    assert!(at("Self-audit") < at("stealbench run"));
    assert!(page.contains("10 % or more"), "a loss of 15 % is marked");
}

#[test]
fn losses_are_found_from_the_data_and_the_null_arm_is_not_one() {
    let (dir, _) = made();
    let value = report::json(&read(dir.path()));
    let losses = value["losses"].as_array().unwrap();
    let to = |name: &str| losses.iter().filter(|l| l["contender"] == name).count();
    assert!(to("beta") >= 2, "{losses:?}");
    assert_eq!(to("gamma"), 0);
    assert!(losses.iter().all(|l| !l["contender"].as_str().unwrap().contains("null")));
}

/// The fields that other tools rely on.
#[test]
fn the_json_has_the_promised_shape() {
    let (dir, plan) = made();
    let value = report::json(&read(dir.path()));
    assert_eq!(value["schema"], "stealbench.report/1");
    assert!(value["machine"].is_object());
    let cells = value["cells"].as_array().unwrap();
    assert_eq!(cells.len(), plan.cells.len());
    for cell in cells {
        assert_eq!(cell["unit"], "ns/unit");
        assert!(cell["workload"].is_string() && cell["params"].is_object());
        assert!(cell["workers"].is_u64() && cell["placement"] == "none");
        for c in cell["contenders"].as_array().unwrap() {
            assert!(c["runtime"].is_string() && c["median"].as_f64().unwrap() > 0.0);
            assert_eq!((c["answer_ok"].as_bool(), c["epochs"].as_u64()), (Some(true), Some(8)));
            assert_eq!(c["units"], 1000);
            let r = &c["ratio_to_reference"];
            let n = |k: &str| r[k].as_f64().unwrap();
            assert!(
                n("lo") <= n("estimate") && n("estimate") <= n("hi") && n("confidence") >= 0.99
            );
        }
    }
}

/// Every figure of a ratio stands beside its interval, in the table and in Markdown.
#[test]
fn tables_show_intervals_and_fit_their_width() {
    let (dir, _) = made();
    let report = read(dir.path());
    let text = report::table(&report, Some(120), false);
    assert!(text.contains("faster") && text.contains("slower"));
    assert!(!text.contains('\u{1b}'), "no colour was asked for");
    for line in text.lines().filter(|l| l.starts_with('│') && l.contains("faster")) {
        assert!(line.contains('['), "{line}");
        assert!(line.chars().count() <= 120, "{line}");
    }
    assert!(text.contains("Idle cost, at rest: alpha 0.200 %, beta 1.25 %, gamma 100 %"), "{text}");
    let md = report::markdown(&report);
    assert!(md.contains("| 2 | beta |") && md.contains("## Self-audit"));
}
