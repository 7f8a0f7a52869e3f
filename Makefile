# SPDX-License-Identifier: MIT OR Apache-2.0
# make demo   set up, build, simulate a shipped workload under several policies
# make check  formats, clippy, rustdoc and unit tests, without a network
# make test   set up, then every test and lint
# make vm-test  run the policies in real kernels, in QEMU; make test has a little of it
# make schedulers-test  run the objects of all sched_ext crates, fetched by cargo
# make boost-test  boost threads of this computer, and cheat (root, five minutes)
# make machines-test  load and run the computers of hwloc's own tests
# make lint   formats, clippy, rustdoc and licence lines only
# make fmt    format Rust and BPF C in place
# make fuzz   set up, then some minutes of fuzzing; RUNS=1000000 make fuzz for more
# make bench  set up, then the benchmarks, and what a decision takes on a grid (hours; CONTRIBUTING.md)
# make bench-compare COMMIT=HEAD~20  that grid, with an older commit in turn
# make what-if  guesses about programs, compared with this computer (root, half an hour)
# make pictures  draw those of the documentation again
# make screenshots  take pictures of reports, to look at
# make site   the documentation as a site, in target/site
# make install    install below PREFIX (/usr/local), settings in SYSCONFDIR (/etc);
#                 DESTDIR is put before both. make uninstall removes it again
# make deb        build the Debian package
# make wheel    build the Python package
# make wheel-test  install it on each Python from 3.11 to 3.14, without a compiler, and use it
# make profile    note what rota does when it is used, for the compiler: PROFILE=… make static
# make static     build rota without shared libraries
# make release       profiled static binary, Debian package with it, sources and checksums in target/dist
# make release-test  install and run those on Debian 12 and 13, and without glibc (root)
# make publish-check  can the crates be published, and built without clang?
# make objects    compile the BPF programs that ship in crates/*/objects
# make packaging-lint  check the recipes for AUR, COPR and Nix, and the container file

.PHONY: demo check test vm-test schedulers-test boost-test machines-test lint fmt fuzz bench bench-compare what-if pictures screenshots site setup install uninstall deb wheel wheel-test profile static release release-test publish-check objects packaging-lint
.DEFAULT_GOAL := demo

demo check test vm-test schedulers-test boost-test machines-test lint fmt fuzz bench bench-compare what-if pictures screenshots site setup install uninstall deb wheel wheel-test profile static release release-test publish-check objects packaging-lint:
	@scripts/$@
