package kafka

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
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

// coordinatedKeys is how many keys are asked for: so many that each of the 50 partitions
// of Kafka's two internal topics has one.
const coordinatedKeys = 2000

// awaitCoordinators waits until a broker coordinates any group and any transaction. One
// that has just begun, or that was too busy, loads what it has of them first.
func awaitCoordinators(t *testing.T, address string) {
	t.Helper()
	s := newScene(address)
	defer s.end()
	groups, txns := kmsg.NewPtrDescribeGroupsRequest(), kmsg.NewPtrDescribeTransactionsRequest()
	for i := range coordinatedKeys {
		groups.Groups = append(groups.Groups, s.name(strconv.Itoa(i)))
	}
	groups.Version, txns.TransactionalIDs = 5, groups.Groups
	for kind, all := range []kmsg.Request{groups, txns} {
		if _, err := coordinated(int8(kind), "any").play(s); err != nil {
			t.Fatal(err)
		}
		if err := s.await("coordinator of all keys", func() (bool, error) {
			resp, err := s.ask(all)
			return !s.uncoordinated(resp), err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// takeFirstID has a broker give out a producer id. Kafka's first is 0, which it also
// shows where there is none; one that has just begun has none at hand yet.
func takeFirstID(t *testing.T, address string) {
	t.Helper()
	s := newScene(address)
	defer s.end()
	if err := s.await("producer id", func() (bool, error) {
		r := kmsg.NewPtrInitProducerIDRequest()
		r.Version = 4
		resp, err := s.ask(r)
		return err == nil && resp.(*kmsg.InitProducerIDResponse).ErrorCode == 0, err
	}); err != nil {
		t.Fatal(err)
	}
}
