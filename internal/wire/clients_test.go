package wire

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A tinyBroker answers what a producer asks: one topic of one partition, which
// takes every batch that is sound and keeps none.
type tinyBroker struct {
	mu      sync.Mutex
	asked   map[string]bool // API and version
	batches []CheckedBatch
	refused []*BatchError
}

var tinyTopic = [16]byte{15: 1}

func (b *tinyBroker) Handle(_ context.Context, req *Request) Reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked == nil {
		b.asked = map[string]bool{}
	}
	b.asked[fmt.Sprintf("%s %d", kmsg.NameForKey(req.Body.Key()), req.Body.GetVersion())] = true
	resp := req.Body.ResponseKind()
	switch resp := resp.(type) {
	case *kmsg.ApiVersionsResponse:
		resp.ApiKeys = Entries()
	case *kmsg.MetadataResponse:
		b.metadata(req, resp)
	case *kmsg.InitProducerIDResponse:
		resp.ProducerID = 1000
	case *kmsg.ProduceResponse:
		b.produce(req, resp)
	}
	return tell(resp)
}

func (b *tinyBroker) metadata(req *Request, resp *kmsg.MetadataResponse) {
	id, name := "tiny", "orders"
	resp.ClusterID, resp.ControllerID = &id, 0
	resp.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 0, Host: req.Conn.Host, Port: req.Conn.Port}}
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic, topic.TopicID = &name, tinyTopic
	part := kmsg.NewMetadataResponseTopicPartition()
	part.Replicas, part.ISR = []int32{0}, []int32{0}
	topic.Partitions = append(topic.Partitions, part)
	resp.Topics = append(resp.Topics, topic)
}

func (b *tinyBroker) produce(req *Request, resp *kmsg.ProduceResponse) {
	for _, batch := range req.Batches {
		checked, err := CheckBatch(append([]byte(nil), batch.Raw...), BatchRules{MaxBytes: 1 << 20, Version: req.Body.GetVersion()})
		if err != nil {
			b.refused = append(b.refused, err)
		}
		b.batches = append(b.batches, checked)
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = "orders", tinyTopic
		part := kmsg.NewProduceResponseTopicPartition()
		part.Partition = batch.Partition
		topic.Partitions = append(topic.Partitions, part)
		resp.Topics = append(resp.Topics, topic)
	}
}

// kgo asks for a version of ApiVersions that is not served, learns from the
// answer what is, and goes on to use the newest version of everything.
func TestServer_a_stock_franz_go_producer_finds_its_way(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{
		"uncompressed": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(name, func(t *testing.T) {
			broker := &tinyBroker{}
			s := newNamingServer(t, broker.Handle, func(id [16]byte) string {
				if id == tinyTopic {
					return "orders"
				}
				return ""
			})
			client, err := kgo.NewClient(kgo.SeedBrokers("pipe:9092"), kgo.DefaultProduceTopic("orders"), kgo.ProducerBatchCompression(codec),
				kgo.Dialer(func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					return near, s.ServeConn(far, Advertised{})
				}))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			record := kgo.StringRecord(strings.Repeat("a record of some size ", 100))
			record.Headers = []kgo.RecordHeader{{Key: "id", Value: []byte("1")}}
			if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
				t.Fatal(err)
			}
			broker.wantProduced(t)
		})
	}
}

func (b *tinyBroker) wantProduced(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, asked := range []string{"ApiVersions 5", "Metadata 13", "InitProducerID 5", "Produce 13"} {
		if !b.asked[asked] {
			t.Errorf("the client never asked %s, only %v", asked, b.asked)
		}
	}
	if len(b.refused) > 0 {
		t.Errorf("a batch was refused: %v", b.refused[0])
	}
	if len(b.batches) != 1 || b.batches[0].ProducerID != 1000 || b.batches[0].NumRecords != 1 {
		t.Errorf("got %d batches, the first of which is %+v; want one record of producer 1000", len(b.batches), b.batches)
	}
}

// A clientFrame is one request that a real client sent, without its length. They
// stand in testdata/frames as CLIENT/API-vVERSION.hex, and API-vVERSION-WHAT.hex.
type clientFrame struct {
	name string
	raw  []byte
}

func clientFrames(t testing.TB) []clientFrame {
	t.Helper()
	files, err := filepath.Glob("testdata/frames/*/*.hex")
	if err != nil || len(files) == 0 {
		t.Fatalf("no frames of clients are there: %v", err)
	}
	var frames []clientFrame
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/frames/"), ".hex")
		frames = append(frames, clientFrame{name, raw})
	}
	return frames
}

func TestDecode_frames_of_real_clients(t *testing.T) {
	for _, f := range clientFrames(t) {
		t.Run(f.name, func(t *testing.T) {
			h, req, failed := new(decoder).decode(f.raw, admitAll)
			if failed != nil {
				t.Fatalf("refused: %v", failed.err)
			}
			api, _ := Lookup(h.key)
			if prefix := fmt.Sprintf("%s-v%d", api.Name, h.version); !strings.HasPrefix(filepath.Base(f.name), prefix) {
				t.Errorf("read as %s", prefix)
			}
			if h.client == "" {
				t.Error("read without a client id")
			}
			if req == nil { // a version of ApiVersions that is not served
				return
			}
			body := req.AppendTo(nil)
			if !strings.Contains(string(f.raw), string(body)) {
				t.Errorf("read and written again it is %x, which is not in %x", body, f.raw)
			}
			wantSoundBatches(t, req)
		})
	}
}

func wantSoundBatches(t *testing.T, req kmsg.Request) {
	t.Helper()
	produce, ok := req.(*kmsg.ProduceRequest)
	if !ok {
		return
	}
	for _, b := range AppendBatches(nil, produce) {
		checked := wantAccepted(t, b.Raw, BatchRules{MaxBytes: 1 << 20, Version: req.GetVersion()})
		n := int32(0)
		if err := EachRecord(b.Raw, 1<<20, func(Record) error { n++; return nil }); err != nil || n != checked.NumRecords {
			t.Errorf("%d records can be read (%v), want %d", n, err, checked.NumRecords)
		}
	}
}
