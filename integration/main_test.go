// Package integration tests the broker from outside: with stock clients, and
// with the command as a process.
//
// It goes through what a user goes through, the package fencepost and the
// command, and judges by what the client was told and what a consumer reads
// back.
package integration

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// workDir holds what the tests of this package build. TestMain removes it.
var workDir string

// parallel is how many tests run at a time, whatever the number of processors:
// most of the time they wait, for a timeout of a client.
const parallel = "8"

func TestMain(m *testing.M) {
	if spec := os.Getenv(chaosEnv); spec != "" {
		os.Exit(chaosMain(spec))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fencepost-integration-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	workDir = dir
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		println("goroutines are left:", err.Error())
		return 1
	}
	return code
}
