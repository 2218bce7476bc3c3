//! stealbench: plan, measure, decide, record, report.
