# SPDX-License-Identifier: MIT OR Apache-2.0
# make demo   set up, build, simulate a shipped workload under several policies
# make test   set up, then every test and lint
# make lint   formats, clippy and licence lines only
# make fmt    format Rust and BPF C in place
# make bench  set up, then the benchmarks
# make pictures  draw those of the documentation again

.PHONY: demo test lint fmt bench pictures setup
.DEFAULT_GOAL := demo

demo test lint fmt bench pictures setup:
	@scripts/$@
