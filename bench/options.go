package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

// options say what is measured, and for how long.
type options struct {
	full, short bool
	rounds      int           // of every comparison
	each        time.Duration // the longest that one sample takes
	volume      int64         // the most bytes of batches in one sample
	gigabytes   int           // how far a log is grown
	only        *regexp.Regexp
	kafka       string // HOST:PORT of a real Kafka, "" for none
	kafkaPID    int    // its process, 0 to find it by its port
}

// kafkaVariable names the environment variable that says where a real Kafka is.
const kafkaVariable = "FENCEPOST_KAFKA"

// parseOptions reads the flags. -full and -short are other defaults for the rest.
func parseOptions(args []string) (*options, error) {
	o := &options{kafka: os.Getenv(kafkaVariable)}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.full, "full", false, "every cell and more rounds, about half an hour")
	flags.BoolVar(&o.short, "short", false, "a few seconds, for correctness: the figures mean little")
	flags.IntVar(&o.rounds, "rounds", 0, "rounds of every comparison (default 3; 5 with -full, 1 with -short)")
	flags.DurationVar(&o.each, "each", 0, "the longest that one sample takes (default 500ms; 3s with -full, 100ms with -short)")
	flags.IntVar(&o.gigabytes, "gb", 0, "how many GB a log is grown to (default 1; 8 with -full; with -short a tenth of one)")
	flags.IntVar(&o.kafkaPID, "kafka-pid", 0, "process id of the Kafka at "+kafkaVariable+" (default: whoever listens on its port)")
	only := flags.String("only", "", "measure only sections whose name matches this `regexp`")
	if err := parse(flags, args); err != nil {
		return nil, err
	}
	if o.full && o.short {
		return nil, errors.New("-full and -short exclude each other")
	}
	re, err := regexp.Compile(*only)
	if err != nil {
		return nil, fmt.Errorf("-only %q is no regular expression: %w", *only, err)
	}
	o.only = re
	o.fillIn()
	return o, nil
}

const gigabyte = 1_000_000_000

// roomFor says how often over what one sample writes has to fit into the memory that is
// left: a broker that reads it back may take twice as much as it keeps.
const roomFor = 4

// fillIn sets what no flag has said.
func (o *options) fillIn() {
	rounds, each, volume, gb := 3, 500*time.Millisecond, int64(2*gigabyte), 1
	switch {
	case o.full:
		rounds, each, volume, gb = 5, 3*time.Second, 4*gigabyte, 8
	case o.short:
		rounds, each, volume = 1, 100*time.Millisecond, 100_000_000
	}
	o.volume = volume
	if left, err := memoryLeft(); err == nil {
		o.volume = min(volume, left/roomFor)
	}
	o.rounds = orDefault(o.rounds, rounds)
	o.each = orDefault(o.each, each)
	o.gigabytes = orDefault(o.gigabytes, gb)
}

func orDefault[T int | time.Duration](given, otherwise T) T {
	if given > 0 {
		return given
	}
	return otherwise
}
