package integration

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// A throw is something that is thrown at a broker, and a row of the table in
// docs/robustness.md.
type throw struct {
	what  string // the bytes, as the page says it
	bytes []byte
	pause time.Duration // behind each byte; 0 sends all at once
	deaf  bool          // the client reads nothing
	did   string        // "closed: REASON", or "answered: CODE"
	limit string        // the limit that it meets, "" if it is merely wrong
}

// closed is what is done with a connection that is closed.
func closed(r wire.CloseReason) string { return "closed: " + r.String() }

func answered(err *kerr.Error) string { return "answered: " + err.Message }

func throws() []throw {
	length := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	metadata := request(kmsg.NewPtrMetadataRequest(), 9)
	return []throw{
		{what: "a length of -1", bytes: length(1<<32 - 1), did: closed(wire.ReasonFrameTooSmall)},
		{what: "four bytes of nonsense as a frame", bytes: append(length(4), 0xde, 0xad, 0xbe, 0xef), did: closed(wire.ReasonFrameTooSmall)},
		{what: "a frame of ten bytes, an ApiVersions whose client id ends beyond it", bytes: append(length(10), 0, 18, 0, 3, 0, 0, 0, 1, 0x7f, 0xff), did: closed(wire.ReasonBadHeader)},
		{what: "an HTTP request", bytes: []byte("GET / HTTP/1.1\r\n\r\n"), did: closed(wire.ReasonFrameTooLarge), limit: "a Produce: 100 MiB"},
		{what: "a TLS handshake", bytes: []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, did: closed(wire.ReasonFrameTooLarge), limit: "a Produce: 100 MiB"},
		{what: "a Metadata that announces 2 MiB", bytes: append(length(2<<20), 0, 3), did: closed(wire.ReasonFrameTooLarge), limit: "any other request: 1 MiB"},
		{what: "an API that is not served", bytes: append(length(10), 0x7f, 0xff, 0, 0, 0, 0, 0, 1, 0, 0), did: closed(wire.ReasonUnknownAPI)},
		{what: "a version of Produce that is not served", bytes: append(length(10), 0, 0, 0, 99, 0, 0, 0, 1, 0, 0), did: closed(wire.ReasonUnknownVersion)},
		{what: "a version of ApiVersions that is not served", bytes: append(length(10), 0, 18, 0, 99, 0, 0, 0, 1, 0, 0), did: answered(kerr.UnsupportedVersion)},
		{what: "a Metadata that ends too early", bytes: shortened(metadata), did: closed(wire.ReasonBadBody)},
		{what: "a Metadata that announces 2147483647 topics", bytes: lying(), did: closed(wire.ReasonBadBody)},
		{what: "a Produce for 100,001 partitions", bytes: manyPartitions(wire.MaxPartitions + 1), did: closed(wire.ReasonBadBody), limit: "partitions of a Produce: 100,000"},
		{what: "a Produce for 10,001 topics", bytes: manyTopics(wire.MaxTopics + 1), did: closed(wire.ReasonBadBody), limit: "topics of a Produce: 10,000"},
		{what: "a Produce for a topic whose name has 1001 bytes", bytes: thrownBatch(strings.Repeat("t", wire.MaxTopicName+1), soundBatch()), did: closed(wire.ReasonBadBody), limit: "a topic's name in a Produce: 1000 bytes"},
		{what: "a topic whose name has 250 bytes", bytes: creating(strings.Repeat("t", 250), 1), did: answered(kerr.InvalidTopicException), limit: "a topic's name: 249 bytes"},
		{what: "a topic of 10,001 partitions", bytes: creating("wide", 10_001), did: answered(kerr.PolicyViolation), limit: "partitions of a topic: 10,000"},

		{what: "a batch with a negative number of records", bytes: thrownBatch("orders", changed(57, 0xff, 0xff, 0xff, 0xfe)), did: answered(kerr.InvalidRecord)},
		{what: "a batch that says that it has 2147483647 records", bytes: thrownBatch("orders", changed(57, 0x7f, 0xff, 0xff, 0xff)), did: answered(kerr.InvalidRecord)},
		{what: "a batch whose length goes beyond the request", bytes: thrownBatch("orders", changed(8, 0x7f, 0xff, 0xff, 0xff)), did: answered(kerr.InvalidRecord)},
		{what: "a batch of magic 0", bytes: thrownBatch("orders", changed(16, 0)), did: answered(kerr.InvalidRecord)},
		{what: "a batch with a wrong checksum", bytes: thrownBatch("orders", broken()), did: answered(kerr.CorruptMessage)},
		{what: "a null record set", bytes: thrownBatch("orders", nil), did: answered(kerr.InvalidRecord)},
		{what: "a gzip batch of 300 kB that grows to 300 MB", bytes: thrownBatch("orders", bomb()), did: answered(kerr.InvalidRecord), limit: "a batch decompressed: 64 MiB"},
		{what: "a batch of 2 MB", bytes: thrownBatch("orders", largeBatch()), did: answered(kerr.MessageTooLarge), limit: "max.message.bytes of the topic"},

		{what: "a length, and nothing more", bytes: length(100), did: closed(wire.ReasonSlowRequest), limit: "a request whole: 30 s, and 1 s for each 64 KiB"},
		{what: "a request at a byte a second", bytes: metadata, pause: 2 * time.Second, did: closed(wire.ReasonSlowRequest), limit: "a request whole: 30 s, and 1 s for each 64 KiB"},
		{what: "a client that asks and does not read", bytes: bytes.Repeat(metadata, 3), deaf: true, did: closed(wire.ReasonSlowReader), limit: "to read the next MiB of answers: 30 s"},
		{what: "a client that sends nothing", did: closed(wire.ReasonIdle), limit: "--idle-timeout: 10 minutes"},
	}
}

// TestRobustness throws each of them at a broker, in virtual time, and looks at
// what it does; another client is served meanwhile, and afterwards.
func TestRobustness(t *testing.T) {
	for _, tt := range throws() {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tt.play(t) })
		})
	}
}

func (tt throw) play(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	b, err := fencepost.Run(fencepost.InMemory(), fencepost.Topic("orders", 1), fencepost.Log(zap.New(core)))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	other, thrown := connect(t, b), connect(t, b)
	defer other.Close()
	var sending sync.WaitGroup
	defer sending.Wait()
	defer thrown.Close()
	sending.Go(func() { trickle(thrown, tt.bytes, tt.pause) })
	synctest.Wait()
	serves(t, other)
	did := ""
	if !tt.deaf {
		did = outcomeOf(thrown)
	}
	if did == "" {
		did = closeReason(logs)
	}
	if did != tt.did {
		t.Errorf("it was %s; want %s", did, tt.did)
	}
	last := connect(t, b)
	defer last.Close()
	serves(t, last)
}

func connect(t *testing.T, b *fencepost.Broker) net.Conn {
	t.Helper()
	c, err := b.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func trickle(c net.Conn, raw []byte, pause time.Duration) {
	if pause == 0 {
		c.Write(raw) //nolint:errcheck // the broker may close before it has read all
		return
	}
	for i := range raw {
		if _, err := c.Write(raw[i : i+1]); err != nil {
			return
		}
		<-time.After(pause)
	}
}

// serves asks over a connection and reads the answer.
func serves(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := c.Write(request(kmsg.NewPtrApiVersionsRequest(), 0)); err != nil {
		t.Fatalf("another client is not served: %v", err)
	}
	if _, err := readFrame(c); err != nil {
		t.Fatalf("another client is not served: %v", err)
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// outcomeOf reads the answer and finds the one error code in it, "" if the
// connection ends. All that is thrown is of versions without tags.
func outcomeOf(c net.Conn) string {
	frame, err := readFrame(c)
	if err != nil {
		return ""
	}
	for _, resp := range []kmsg.Response{kmsg.NewPtrProduceResponse(), kmsg.NewPtrCreateTopicsResponse(), kmsg.NewPtrApiVersionsResponse()} {
		resp.SetVersion(map[int16]int16{0: produceVersion, 19: createVersion, 18: 0}[resp.Key()])
		if resp.ReadFrom(frame[4:]) == nil && bytes.Equal(resp.AppendTo(nil), frame[4:]) {
			return "answered: " + kerr.TypedErrorForCode(codeIn(resp)).Message
		}
	}
	return fmt.Sprintf("answered: %x", frame)
}

func codeIn(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.ProduceResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.CreateTopicsResponse:
		return r.Topics[0].ErrorCode
	}
	return resp.(*kmsg.ApiVersionsResponse).ErrorCode
}

// closeReason waits until a connection is closed and gives the reason.
func closeReason(logs *observer.ObservedLogs) string {
	for range 1000 { // of virtual seconds
		if all := logs.FilterMessage("connection closed").All(); len(all) > 0 {
			return fmt.Sprint("closed: ", all[0].ContextMap()["reason"])
		}
		<-time.After(time.Second)
	}
	return "neither answered nor closed"
}

const (
	produceVersion = 7
	createVersion  = 4
)

func request(req kmsg.Request, version int16) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("hostile")).AppendRequest(nil, req, 1)
}

// shortened is a frame whose last byte is missing, with a length that says so.
func shortened(frame []byte) []byte {
	frame = slices.Clone(frame[:len(frame)-1])
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// lying is a Metadata that announces more topics than it has bytes.
func lying() []byte {
	frame := request(kmsg.NewPtrMetadataRequest(), 1)
	binary.BigEndian.PutUint32(frame[len(frame)-4:], 1<<31-1)
	return frame
}

func manyPartitions(n int) []byte {
	req := produceOf("orders", batch{numbers: []int{1}})
	req.Topics[0].Partitions = make([]kmsg.ProduceRequestTopicPartition, n)
	return request(req, produceVersion)
}

func manyTopics(n int) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Topics = make([]kmsg.ProduceRequestTopic, n)
	return request(req, produceVersion)
}

func thrownBatch(topic string, records []byte) []byte {
	req := produceOf(topic, batch{numbers: []int{1}})
	req.Topics[0].Partitions[0].Records = records
	return request(req, produceVersion)
}

func creating(name string, partitions int32) []byte {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, t)
	return request(req, createVersion)
}

func soundBatch() []byte {
	return batch{producer: -1, epoch: -1, sequence: -1, numbers: []int{1}}.bytes()
}

// changed is a batch with other bytes at a place, and the right checksum.
func changed(at int, to ...byte) []byte {
	raw := soundBatch()
	copy(raw[at:], to)
	return sealed(raw)
}

// broken is a batch whose last byte is another.
func broken() []byte {
	raw := soundBatch()
	raw[len(raw)-1] ^= 1
	return raw
}

func largeBatch() []byte {
	return resized(append(soundBatch(), make([]byte, 2<<20)...))
}

// bomb is a batch that is small and grows to 300 MB.
func bomb() []byte {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	zeros := make([]byte, 1<<20)
	for range 300 {
		z.Write(zeros) //nolint:errcheck // into memory
	}
	z.Close()
	raw := append(soundBatch()[:recordsAt], packed.Bytes()...)
	raw[22] = 1 // gzip
	return resized(raw)
}

// resized writes the right length into a batch, and seals it.
func resized(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[lengthEnd-4:], uint32(len(raw)-lengthEnd))
	return sealed(raw)
}

// recordsAt is where the records of a batch begin.
const recordsAt = 61

// TestRobustness_page compares the page's table with the one above.
func TestRobustness_page(t *testing.T) {
	text, err := os.ReadFile("../docs/robustness.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "<!-- thrown -->")
	table, _, ended := strings.Cut(rest, "<!-- end -->")
	if !found || !ended {
		t.Fatal("docs/robustness.md has no table of what was thrown")
	}
	var got, want []string
	for lines := bufio.NewScanner(strings.NewReader(table)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "| ") {
			got = append(got, lines.Text())
		}
	}
	want = append(want, "| thrown | what becomes of it | the limit that it meets |")
	for _, tt := range throws() {
		want = append(want, fmt.Sprintf("| %s | %s | %s |", tt.what, tt.did, tt.limit))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the page differs from what is tested (-):\n%s", diff)
	}
}
