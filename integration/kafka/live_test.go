package kafka

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// started is the broker that the tests themselves started, if they did.
var started struct {
	once    sync.Once
	cmd     *exec.Cmd
	address string
	err     error
}

// live is the address of the Apache Kafka to ask, "" if there is none.
func live(t *testing.T) string {
	t.Helper()
	address := os.Getenv("FENCEPOST_KAFKA")
	if address != "start" {
		return address
	}
	started.once.Do(startKafka)
	if started.err != nil {
		t.Fatalf("up: %v", started.err)
	}
	return started.address
}

// startKafka runs up, whose first line is the address once the broker answers.
func startKafka() {
	dir, err := os.MkdirTemp("", "fencepost-kafka-")
	if err != nil {
		started.err = err
		return
	}
	started.cmd = exec.Command("./up", filepath.Join(dir, "kafka"))
	started.cmd.Stderr = os.Stderr
	out, err := started.cmd.StdoutPipe()
	if err == nil {
		err = started.cmd.Start()
	}
	if err != nil {
		started.err = err
		return
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	started.address, started.err = strings.TrimSpace(line), err
}

// stopKafka ends the broker that was started, and takes its data away.
func stopKafka() {
	if started.cmd == nil || started.cmd.Process == nil {
		return
	}
	started.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended by itself
	started.cmd.Wait()                          //nolint:errcheck // it was told to end
	os.RemoveAll(filepath.Dir(started.cmd.Args[1]))
}
