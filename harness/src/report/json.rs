//! harness/src/report/json.rs: the report for programs. Schema `stealbench.report/1`: fields are added,
//! never renamed. Times are ns, ratios are plain numbers, what is missing says why.

use serde_json::{Map, Value, json};

use super::{Report, audit, words};
use crate::verdict::{Ratio, Row};

/// The report as one JSON object.
pub fn json(report: &Report) -> Value {
    let cells: Vec<Value> = (0..report.plan.cells.len()).map(|i| cell(report, i)).collect();
    let plan = &report.plan;
    json!({
        "schema": "stealbench.report/1",
        "session": {
            "id": report.session.session_id, "started": report.started, "mode": plan.mode,
            "seed": plan.seed, "status": report.status, "parts": report.parts,
            "epochs": report.epochs, "version": report.session.version,
            "command": report.session.command, "confidence": plan.confidence,
        },
        "machine": machine(report),
        "reference": report.reference().id,
        "null_arm": words::null_arm_json(report),
        "margin": report.margin,
        "cells": cells,
        "left_out": plan.left_out,
        "failures": report.failures().into_iter().map(|(arm, cell, what)| {
            json!({"contender": arm, "cell": cell, "what": what})
        }).collect::<Vec<_>>(),
        "losses": words::losses(report).iter().map(|l| {
            json!({"cell": l.cell, "contender": l.contender, "ratio": l.ratio.estimate})
        }).collect::<Vec<_>>(),
        "audit": audit::audit(report).iter().map(|a| {
            json!({"question": a.question, "answer": a.answer, "finding": a.finding})
        }).collect::<Vec<_>>(),
    })
}

fn machine(report: &Report) -> Value {
    let mut out: Map<String, Value> =
        report.env.facts.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    out.insert("class".to_string(), report.env.class.clone().into());
    Value::Object(out)
}

fn cell(report: &Report, index: usize) -> Value {
    let (cell, result) = (&report.plan.cells[index], &report.results[index]);
    let contenders: Vec<Value> =
        result.rows.iter().map(|row| contender(report, index, row)).collect();
    json!({
        "workload": cell.workload, "name": cell.name, "group": cell.group,
        "params": cell.params, "workers": cell.workers, "placement": cell.placement,
        "unit": "ns/unit", "unit_name": cell.unit, "better": "lower",
        "clock": if cell.cpu_clock { "cpu" } else { "wall" },
        "iters": cell.iters, "ceiling": or_missing(cell.ceiling, "no model"),
        "epochs": result.kept, "void_epochs": result.void,
        "blocks": result.blocks, "dropped_blocks": result.dropped,
        "measurable": result.measurable,
        "contenders": contenders, "absent": cell.absent, "failed": cell.failed,
    })
}

fn contender(report: &Report, index: usize, row: &Row) -> Value {
    let (cell, result) = (&report.plan.cells[index], &report.results[index]);
    let arm = report.arm(row);
    let lane = cell.entries.iter().find(|e| e.arm == row.arm).map_or("", |e| &e.lane);
    let policy = arm.policy.as_deref().map_or(Value::Null, Value::from);
    if let Some(fault) = &row.fault {
        return json!({
            "runtime": arm.runtime, "arm": arm.id, "policy": policy, "lane": lane,
            "answer_ok": fault.what != "wrong answer",
            "failed": {"what": fault.what, "detail": fault.detail},
        });
    }
    let to_reference = if row.arm == report.plan.reference {
        json!({"estimate": 1.0, "lo": 1.0, "hi": 1.0, "confidence": 1.0})
    } else {
        ratio(row.ratio.as_ref())
    };
    json!({
        "runtime": arm.runtime, "arm": arm.id, "policy": policy, "version": arm.version,
        "label": arm.label, "null": arm.null, "lane": lane,
        "median": or_missing(row.unit_ns, "no epoch counts"),
        "median_interval": row.unit_interval.map_or(
            json!({"missing": "too few epochs"}), |i| json!({"lo": i.lo, "hi": i.hi})),
        "answer_ok": true, "units": cell.units,
        "ratio_to_reference": to_reference,
        "speedup": ratio(row.speedup.as_ref()),
        "verdict": row.verdict.as_ref().map_or(Value::Null, |v| v.0.word().into()),
        "epochs": result.kept,
        "cpus_used": or_missing(row.cpus_used, "not reported"),
        "latency_ns": row.latency_ns, "counters_per_iteration": row.counters,
        "states": row.states,
    })
}

fn ratio(ratio: Option<&Ratio>) -> Value {
    ratio.map_or(json!({"missing": "too few epochs, or no such pair"}), |r| {
        let i = &r.interval;
        json!({"estimate": i.estimate, "lo": i.lo, "hi": i.hi, "confidence": i.confidence,
               "hodges_lehmann": r.secondary})
    })
}

fn or_missing(value: Option<f64>, reason: &str) -> Value {
    value.map_or(json!({ "missing": reason }), Value::from)
}
