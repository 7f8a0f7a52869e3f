// SPDX-License-Identifier: MIT OR Apache-2.0

// A scheduler's program in Go, with cilium's library: it loads an object, attaches its scheduler, and
// looks each 100 ms at what that counts. After the fifth look slices have 1 ms.
package main

import (
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
)

// Fills what the object has for its loader, and loads all of it.
func load(path string) (*ebpf.Collection, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, err
	}
	spec, err := ebpf.LoadCollectionSpec(path)
	if err != nil {
		return nil, err
	}
	if err := spec.Variables["first_slice_ns"].Set(uint64(20_000_000)); err != nil {
		return nil, err
	}
	return ebpf.NewCollection(spec)
}

// Sum of the counters of all CPUs.
func count(enqueued *ebpf.Map) (uint64, error) {
	var perCPU []uint64
	if err := enqueued.Lookup(uint32(0), &perCPU); err != nil {
		return 0, err
	}
	sum := uint64(0)
	for _, count := range perCPU {
		sum += count
	}
	return sum, nil
}

func run(path string) error {
	loaded, err := load(path)
	if err != nil {
		return err
	}
	scheduler, err := link.AttachStructOps(link.StructOpsOptions{Map: loaded.Maps["counting_ops"]})
	if err != nil {
		return err
	}
	defer loaded.Close()
	defer scheduler.Close()
	fmt.Println("attached")

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	start := time.Now()
	for look := 1; ; look++ {
		select {
		case <-stop:
			return nil
		case <-time.After(100 * time.Millisecond):
		}
		enqueued, err := count(loaded.Maps["enqueued"])
		if err != nil {
			return err
		}
		fmt.Printf("look %d after %v: %d enqueued\n", look, time.Since(start).Round(10*time.Millisecond), enqueued)
		if look == 5 {
			if err := loaded.Variables["slice_ns"].Set(uint64(1_000_000)); err != nil {
				return err
			}
		}
	}
}

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatalf("%+v", err)
	}
}
