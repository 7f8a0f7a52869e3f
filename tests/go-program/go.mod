module rota/tests/go-program

go 1.24.0

require github.com/cilium/ebpf v0.21.0

require golang.org/x/sys v0.37.0 // indirect
