//! What is reported: metrics of a run, the runs of an experiment, connections, comparisons, expectations, advice.

pub mod advice;
pub mod changes;
pub mod conclusions;
pub mod confusion;
pub mod connections;
pub mod expect;
pub mod experiment;
pub mod finding;
pub mod fix;
pub mod headline;
pub mod intervals;
pub mod metrics;
pub mod paired_runs;
pub mod perturbation;
pub mod proposal;
pub mod reproduce;
pub(crate) mod result;
pub mod series;
pub mod times;
pub mod udp_socket_report;
pub mod verdict;
