//! Our count of reads against the system calls themselves.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::process::Command;

use common::{alone, runs};

#[test]
fn our_count_of_reads_is_the_kernels() {
    let _alone = alone();
    if Command::new("strace").arg("-V").output().is_err() {
        println!("SKIPPED(strace is not installed: apt-get install strace)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (out, trace) = (folder.path().join("results"), folder.path().join("trace"));
    let status = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=recvmsg", "-e", "signal=none", "-o"])
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_holdup"))
        .args(["measure", "--runs", "1", "--endpoints", "direct,haproxy", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&trace).unwrap_or_default();
    if text.is_empty() {
        println!("SKIPPED(strace may not trace here: {})", common::stderr(&status).trim());
        return;
    }
    // A call that is interrupted by another thread's line ends on one that says "resumed".
    let returned: Vec<i64> = text
        .lines()
        .filter(|line| line.contains("recvmsg") && !line.contains("<unfinished"))
        .filter_map(|line| line.rsplit_once(" = ")?.1.split(' ').next()?.parse().ok())
        .collect();
    let by_kernel = returned.iter().filter(|bytes| **bytes > 0).count();
    let bytes_by_kernel: i64 = returned.iter().filter(|bytes| **bytes > 0).sum();
    let runs = runs(&out);
    let deliveries = || runs.iter().flat_map(|run| &run.arrivals.deliveries);
    let by_us = deliveries().count();
    let bytes_by_us: u64 = deliveries().filter_map(|delivery| delivery.bytes).sum();
    println!("reads: {by_us} by our count, {by_kernel} by the kernel; {bytes_by_us} bytes");
    assert!(by_us > 41, "{by_us}");
    assert_eq!(by_us, by_kernel);
    assert_eq!(bytes_by_us, bytes_by_kernel as u64);
}
