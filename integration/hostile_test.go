//go:build linux

package integration

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// hostileConnections are open at a time, each of one of the kinds of hostiles.
	hostileConnections = 200
	// hostileMemory is what the broker may take for records.
	hostileMemory = 256 << 20
	// hostileTime is how long it goes on, and with FENCEPOST_LONG set.
	hostileTime, hostileLong = 5 * time.Second, time.Minute
	// shutdownTime is how long the process may take to draw and print its verdict,
	// beyond the second that a shutdown takes, and shutdownLong on a minute of harm.
	shutdownTime, shutdownLong = 5 * time.Second, 30 * time.Second
)

// A hostile does harm over one connection until that is closed.
type hostile struct {
	name string
	harm func(c net.Conn, random *rand.Rand)
}

var hostiles = []hostile{
	{"announces 100 MB and sends nothing", func(c net.Conn, _ *rand.Rand) {
		c.Write([]byte{0x06, 0x40, 0, 0, 0, 0, 0, 9}) //nolint:errcheck // it may be cut off
		io.Copy(io.Discard, c)                        //nolint:errcheck // until it is cut off
	}},
	{"announces 90 MB and sends half", func(c net.Conn, _ *rand.Rand) {
		c.Write([]byte{0x05, 0x5d, 0x4a, 0x80, 0, 0, 0, 9}) //nolint:errcheck // it may be cut off
		c.Write(halfFrame)                                  //nolint:errcheck // it may be cut off
		io.Copy(io.Discard, c)                              //nolint:errcheck // until it is cut off
	}},
	{"sends byte by byte", func(c net.Conn, _ *rand.Rand) {
		trickle(c, request(kmsg.NewPtrMetadataRequest(), 9), 100*time.Millisecond)
	}},
	{"asks for everything and does not read", func(c net.Conn, _ *rand.Rand) {
		all := kmsg.NewPtrMetadataRequest()
		all.Topics = nil
		repeat(c, request(all, 9), false)
	}},
	{"fetches everything and does not read", func(c net.Conn, _ *rand.Rand) { repeat(c, fetchingAll("orders"), false) }},
	{"fetches everything and reads", func(c net.Conn, _ *rand.Rand) { repeat(c, fetchingAll("orders"), true) }},
	{"waits for years with a Fetch of 1 MB", func(c net.Conn, _ *rand.Rand) { repeat(c, waitingForYears(), true) }},
	{"makes topics by the thousand", func(c net.Conn, random *rand.Rand) {
		for c.SetWriteDeadline(time.Now().Add(time.Minute)) == nil {
			if !ask(c, askingFor(random.Uint64(), 2000)) {
				return
			}
		}
	}},
	{"sends bombs", func(c net.Conn, _ *rand.Rand) { repeat(c, hostileBomb(), true) }},
	{"sends bytes by chance", func(c net.Conn, random *rand.Rand) {
		raw := make([]byte, 100)
		for i := range raw {
			raw[i] = byte(random.Uint32())
		}
		binary.BigEndian.PutUint32(raw, 96)
		raw[4], raw[5], raw[6], raw[7] = 0, byte(random.IntN(80)), 0, byte(random.IntN(14))
		repeat(c, raw, true)
	}},
	{"asks for APIs that there are not", func(c net.Conn, random *rand.Rand) {
		repeat(c, []byte{0, 0, 0, 10, 0x7f, byte(random.Uint32()), 0, 0, 0, 0, 0, 1, 0, 0}, true)
	}},
	{"is a new producer with each batch", func(c net.Conn, random *rand.Rand) {
		for {
			b := batch{producer: random.Int64N(math.MaxInt64), numbers: []int{1}}
			if !ask(c, request(produceOf("producers", b), produceVersion)) {
				return
			}
		}
	}},
	{"produces to 100,000 partitions at once", func(c net.Conn, _ *rand.Rand) { repeat(c, manyPartitions(90_000), true) }},
	{"announces topics that are not there", func(c net.Conn, _ *rand.Rand) { repeat(c, hugeLie(), true) }},
}

var halfFrame = make([]byte, 45<<20)

// repeat sends a frame until the connection is closed, and reads the answers or
// does not.
func repeat(c net.Conn, frame []byte, read bool) {
	if read {
		go io.Copy(io.Discard, c) //nolint:errcheck // ends with the connection
	}
	for {
		if _, err := c.Write(frame); err != nil {
			return
		}
	}
}

// ask sends a request and reads the answer, and says whether there was one.
func ask(c net.Conn, frame []byte) bool {
	if _, err := c.Write(frame); err != nil {
		return false
	}
	_, err := readFrame(c)
	return err == nil
}

func fetchingAll(topic string) []byte {
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	for n := range int32(3) {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = n, math.MaxInt32
		t.Partitions = append(t.Partitions, p)
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.Topics = math.MaxInt32, append(req.Topics, t)
	return request(req, 11)
}

func waitingForYears() []byte {
	t := kmsg.NewFetchRequestTopic()
	t.Topic = "producers"
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.Partition = 0, 1
	for range 30_000 {
		t.Partitions = append(t.Partitions, p)
	}
	req := kmsg.NewPtrFetchRequest()
	req.MinBytes, req.MaxWaitMillis, req.Topics = math.MaxInt32, math.MaxInt32, append(req.Topics, t)
	return request(req, 11)
}

// askingFor is a Metadata that makes n topics.
func askingFor(first uint64, n uint64) []byte {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = true
	for i := range n {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(fmt.Sprintf("t.%d", first+i))
		req.Topics = append(req.Topics, t)
	}
	return request(req, 9)
}

var hostileBomb = sync.OnceValue(func() []byte { return thrownBatch("orders", bomb()) })

// hugeLie is a Metadata of 1 MB whose one array announces a million topics.
func hugeLie() []byte {
	frame := append(request(kmsg.NewPtrMetadataRequest(), 1), make([]byte, 1<<20-100)...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	binary.BigEndian.PutUint32(frame[len(frame)-(1<<20-100)-4:], 1_000_000)
	return frame
}

// TestHostile_clients_neither_stop_the_broker_nor_fill_the_machine lets hostile
// clients at a process. Meanwhile an honest producer gets every acknowledgement,
// and at the end no more memory was ever in use than is stated.
func TestHostile_clients_neither_stop_the_broker_nor_fill_the_machine(t *testing.T) {
	duration, ending := hostileTime, shutdownTime
	if os.Getenv("FENCEPOST_LONG") != "" {
		duration, ending = hostileLong, shutdownLong
	}
	broker, addr := serve(t, "--memory", humanize.IBytes(hostileMemory), "--topic", "orders:3", "--topic", "producers:2",
		"--expect", "nothing", "--log-level", "error")
	hostileTo := newAttack(addr)
	acks := honest(t, addr, duration)
	connections := hostileTo.end()
	t.Logf("%d acknowledgements, %d hostile connections", acks, connections)
	if connections < hostileConnections {
		t.Errorf("only %d hostile connections were served", connections)
	}

	peak := peakMemory(t, broker.cmd.Process.Pid)
	most := hostileMemory + fencepost.MemoryOverhead() + hostileConnections*fencepost.ConnectionOverhead
	t.Logf("%s were in use, %s are stated", humanize.IBytes(peak), humanize.IBytes(uint64(most)))
	if peak > uint64(most) {
		t.Errorf("%s were in use, want %s at most", humanize.IBytes(peak), humanize.IBytes(uint64(most)))
	}
	if log := broker.errors.String(); strings.Contains(log, "please report it") {
		t.Errorf("a request made the broker fail:\n%s", shorten(log))
	}
	begun := time.Now()
	if code := broker.signal(t, syscall.SIGTERM); code != 0 || time.Since(begun) > time.Second+ending {
		t.Errorf("it ended after %v with %d", time.Since(begun), code)
	}
}

// An attack is the hostile connections to one broker.
type attack struct {
	addr   string
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	served atomic.Int64 // connections
}

func newAttack(addr string) *attack {
	a := &attack{addr: addr}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	for n := range hostileConnections {
		a.work.Go(func() { a.keepUp(hostiles[n%len(hostiles)], rand.New(rand.NewPCG(uint64(n), 1))) })
	}
	return a
}

// keepUp connects again whenever the connection is closed.
func (a *attack) keepUp(h hostile, random *rand.Rand) {
	var d net.Dialer
	for ; a.ctx.Err() == nil; a.pause() {
		c, err := d.DialContext(a.ctx, "tcp", a.addr)
		if err != nil {
			continue
		}
		a.served.Add(1)
		stop := context.AfterFunc(a.ctx, func() { c.Close() })
		h.harm(c, random)
		stop()
		c.Close()
	}
}

// pause keeps the attack from being one on the kernel's ports.
func (a *attack) pause() {
	select {
	case <-a.ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}

func (a *attack) end() (served int64) {
	a.cancel()
	a.work.Wait()
	return a.served.Load()
}

// honest produces for so long, record by record, and wants each acknowledged.
func honest(t *testing.T, addr string, duration time.Duration) (acks int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("orders"), kgo.ClientID("honest"),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx := patience(t)
	for end := time.Now().Add(duration); time.Now().Before(end); acks++ {
		r := &kgo.Record{Key: []byte(key(acks)), Value: bytes.Repeat([]byte("v"), 1000)}
		if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
			t.Fatalf("record %d was not acknowledged: %v", acks, err)
		}
	}
	return acks
}

// peakMemory is the most resident memory that a process ever had, in bytes.
func peakMemory(t *testing.T, pid int) uint64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kB, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kB << 10
}
