// Command bench measures a broker as ratios: the same work through real sockets and
// whole processes, within one run, on the broker, on a plain TCP server that nobody can
// be faster than, and on other brokers where there are some.
//
//	go run ./bench                  the table, in under two minutes
//	go run ./bench -full            every cell, more rounds: what docs/performance.md holds
//	go run ./bench -short           a few seconds, for correctness
//	go run ./bench soak -for 5m     memory, latency, goroutines and descriptors over time
//	go run ./bench load -addr HOST:PORT      one work on any broker
//
// FENCEPOST_KAFKA=HOST:PORT measures a real Apache Kafka beside it. CPU and memory are
// those of the measured process, read from /proc, so it runs on Linux only.
//
// The invariant: nothing is counted that was not checked. An answer with an error, an
// offset out of order, or bytes that do not come back end the run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command does what the first word says. floor and chain are the servers that a run
// starts for itself.
func command(ctx context.Context, args []string) error {
	word := ""
	if len(args) > 0 {
		word = args[0]
	}
	switch word {
	case modeFloor:
		return runFloor(args[1:])
	case modeChain:
		return runChain(args[1:])
	case modeLoad:
		return runLoad(ctx, args[1:])
	case modeSoak:
		return runSoak(ctx, args[1:])
	}
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	return runTable(ctx, o)
}

// parse reads flags, and refuses words behind them that nobody would read.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not known; want flags (see -h), or first of all the word soak or load", flags.Arg(0))
	}
	return nil
}
