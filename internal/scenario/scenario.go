// Package scenario reads a scenario file: YAML that says with what seed a
// broker is run, which topics it has from the start, which faults are in force,
// and what is expected of the run.
//
//	seed: 42
//	topics:
//	  - orders
//	  - orders.eu:3
//	  - name: audit
//	    partitions: 3
//	    configs: {max.message.bytes: 2000000}
//	faults:
//	  - disconnect after produce attempt=1 times=all
//	expect: exactly-once
//	identity: key
//	unknown-producer: refuse
//
// Every key may be left out. What is wrong in a file is reported all at once,
// each error with its line and column, what was wanted and what was probably
// meant. Whatever the bytes of a file are, reading it neither panics nor grows
// beyond a stated limit.
//
// The package knows the shape of the file and no more: whether a topic can have
// its name, or a config its value, is for the broker to judge, and what a fault
// sentence means is for package fault.
package scenario

import (
	"fmt"
	"io"
	"os"

	"github.com/fencepostmq/fencepost/internal/fault"
)

const (
	// MaxFile is the most bytes of a scenario file.
	MaxFile = 1 << 20
	// MaxErrors is how many errors of one file are reported. One more tells how
	// many there are besides.
	MaxErrors = 20
	// MaxPartitions is the most partitions of a topic.
	MaxPartitions = 10_000
)

// What a file may say to expect.
const (
	ExactlyOnce = "exactly-once" // every record stands in the log once, and its producer was told so
	Nothing     = "nothing"      // whatever the verdict is, the run is no failure for it
)

// How a file may name the identity of a record. IdentityHeader stands before
// the name of a header.
const (
	IdentityKey    = "key"
	IdentityValue  = "value"
	IdentityHeader = "header="
)

// What a file may say becomes of a first batch that does not begin at sequence
// 0, from a producer that the partition does not know.
const (
	Refuse = "refuse"
	Accept = "accept"
)

// A Scenario is what a file says. The zero value says nothing, as an empty file
// does.
type Scenario struct {
	Seed            *uint64      // of everything drawn by chance; nil if the file does not say
	Topics          []Topic      // in the order of the file, no name twice
	Faults          []fault.Rule // in the order of the file, no name twice
	Expect          string       // ExactlyOnce, Nothing, or "" if the file does not say
	Identity        string       // IdentityKey, IdentityValue, IdentityHeader with a name behind it, or ""
	UnknownProducer string       // Refuse, Accept, or ""
}

// A Topic is there when the broker starts.
type Topic struct {
	Name       string            // not empty; not judged any further
	Partitions int               // 1 to MaxPartitions; 0 for as many as a topic gets that does not say
	Configs    map[string]string // Kafka topic configs, not judged; nil for none
}

// Read reads the file at a path. What is wrong with its text comes as
// [errors.Join] of one *Error or more, in the order of the file; a file that
// cannot be read gives the error of package os.
func Read(path string) (*Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	// One byte more than is allowed is enough to know that it is too much.
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the text of a file. The name stands before each error, which are
// those of Read. An empty text is an empty scenario.
func Parse(name string, data []byte) (*Scenario, error) {
	p := &problems{file: name}
	src := newSource(data, p)
	if src == nil {
		return nil, p.join()
	}
	root := src.parse(p)
	s := new(Scenario)
	if root != nil && len(p.all) == 0 {
		newReader(src, root, p).file(root, s)
	}
	if err := p.join(); err != nil {
		return nil, err
	}
	return s, nil
}
