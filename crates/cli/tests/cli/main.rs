//! The binary from outside: one program for all of its tests but those that measure.

mod blindfold;
mod capture;
mod capture_page;
mod catalogue;
mod clocks_set;
mod commands;
mod company;
mod compare;
mod damaged_records;
mod examples;
mod explained;
mod exports;
mod full_disk_outputs;
mod hosts;
mod kills;
mod large;
mod ledger;
mod messages;
mod old_records;
mod pcap;
mod pcap_clock;
mod pcap_joined;
mod pcap_others;
mod pictures;
#[path = "../pipefill/mod.rs"]
mod pipefill;
mod schemas;
mod serve;
mod shards;
mod sharers;
mod studies;
mod sweep;
mod verdicts;
mod view;
mod watch;
mod why;
