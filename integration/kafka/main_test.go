// Package kafka compares fencepost with Apache Kafka: scripts of requests are
// played on both, and the answers compared field by field.
//
// A script is a named case, and stands in a cases file by theme. Kafka's answers
// are recorded under testdata, so that a plain go test compares without a JVM:
//
//	go test ./integration/kafka                                 fencepost against the recording
//	FENCEPOST_KAFKA=host:port go test ./integration/kafka       the recording against that broker, too
//	FENCEPOST_KAFKA=start go test ./integration/kafka           the same, with a broker that up fetches and starts
//	FENCEPOST_KAFKA=... go test ./integration/kafka -record     and the recording is refreshed
//	go test ./integration/kafka -update                         docs/differences.md is written
//
// With a live broker TestRandom plays drawn sequences on both, as many operations
// as -operations says.
//
// What differs by nature (names, ids, times of now) is told by the table natural;
// what differs on purpose by the table differences, which is the page
// docs/differences.md. Any other difference fails.
package kafka

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"go.uber.org/goleak"
)

// version is the Apache Kafka that is compared with. up fetches the same.
const version = "4.4.0"

var (
	record     = flag.Bool("record", false, "refresh the recording from the live broker")
	update     = flag.Bool("update", false, "write docs/differences.md")
	operations = flag.Int("operations", 50_000, "operations of the random comparison")
)

// Kafka's defaults, which the broker of the other side has too.
const (
	defaultPartitions = 1
	patience          = time.Minute     // for what a broker does a little later
	answerPatience    = time.Minute     // for an answer that has to come
	silence           = 5 * time.Second // for one that does not come in Kafka
)

// scriptsAtOnce is how many scripts are played at a time, unless -parallel says
// otherwise: those of groups do little but wait.
const scriptsAtOnce = "8"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", scriptsAtOnce) //nolint:errcheck // what the command line says comes after
	flag.Parse()
	code := m.Run()
	stopKafka()
	if err := goleak.Find(); code == 0 && err != nil {
		println("goroutines are left:", err.Error())
		code = 1
	}
	os.Exit(code)
}

// ours starts a fencepost that differs from its defaults in nothing but the policy
// for producers that it does not know.
func ours(t *testing.T, unknownProducer string) string {
	t.Helper()
	b := fencepost.RunT(t, fencepost.Listen("127.0.0.1:0"), fencepost.AutoCreate(true), fencepost.Partitions(defaultPartitions),
		fencepost.UnknownProducer(unknownProducer))
	return b.Addr()
}
