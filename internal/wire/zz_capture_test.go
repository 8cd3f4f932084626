package wire

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

type rec struct {
	net.Conn
	mu *sync.Mutex
	buf []byte
	dir string
}

func (r *rec) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, p[:n]...)
	for len(r.buf) >= 4 {
		l := int(binary.BigEndian.Uint32(r.buf))
		if len(r.buf) < 4+l {
			break
		}
		dump(r.dir, r.buf[4:4+l])
		r.buf = r.buf[4+l:]
	}
	return n, err
}

func dump(dir string, f []byte) {
	os.MkdirAll(dir, 0o755)
	key, v := int16(binary.BigEndian.Uint16(f)), int16(binary.BigEndian.Uint16(f[2:]))
	api, _ := Lookup(key)
	name := fmt.Sprintf("%s/%s-v%d", dir, api.Name, v)
	if _, req, fl := decode(f); fl == nil && req != nil {
		if p, ok := req.(*kmsg.ProduceRequest); ok {
			b := AppendBatches(nil, p)
			if b[0].Err == nil {
				name += "-" + codecName(b[0].Header.Attributes&7)
			}
		}
		if m, ok := req.(*kmsg.MetadataRequest); ok && len(m.Topics) == 0 {
			if m.Topics == nil { name += "-all" } else { name += "-none" }
		}
	}
	name += ".hex"
	if _, err := os.Stat(name); err == nil {
		return
	}
	h := hex.EncodeToString(f)
	var sb strings.Builder
	for len(h) > 80 {
		sb.WriteString(h[:80] + "\n")
		h = h[80:]
	}
	sb.WriteString(h + "\n")
	os.WriteFile(name, []byte(sb.String()), 0o644)
}

func TestCapture(t *testing.T) {
	b := &tinyBroker{}
	h := HandlerFunc(func(ctx context.Context, req *Request) Reply {
		switch r := req.Body.(type) {
		case *kmsg.FetchRequest:
			resp := r.ResponseKind().(*kmsg.FetchResponse)
			for _, tp := range r.Topics {
				t := kmsg.NewFetchResponseTopic()
				t.Topic, t.TopicID = tp.Topic, tp.TopicID
				for _, p := range tp.Partitions {
					q := kmsg.NewFetchResponseTopicPartition()
					q.Partition = p.Partition
					q.RecordBatches = []byte{}
					t.Partitions = append(t.Partitions, q)
				}
				resp.Topics = append(resp.Topics, t)
			}
			return tell(resp)
		case *kmsg.ListOffsetsRequest:
			resp := ErrorAnswer(r, 0, "").(*kmsg.ListOffsetsResponse)
			for i := range resp.Topics {
				for j := range resp.Topics[i].Partitions {
					resp.Topics[i].Partitions[j].Offset = 0
				}
			}
			return tell(resp)
		case *kmsg.FindCoordinatorRequest, *kmsg.CreateTopicsRequest, *kmsg.DeleteTopicsRequest, *kmsg.DeleteRecordsRequest, *kmsg.DescribeProducersRequest:
			return tell(ErrorAnswer(req.Body, 0, ""))
		}
		return b.Handle(ctx, req)
	})
	srv := NewServer(h, nil, zap.NewNop())
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	dir := ""
	var mu sync.Mutex
	go func() {
		for {
			c, err := l.Accept()
			if err != nil { return }
			srv.ServeConn(&rec{Conn: c, mu: &mu, dir: dir}, Advertised{})
		}
	}()
	addr := l.Addr().String()
	dir = "testdata/frames/kcat-1.7.1"
	run := func(stdin string, args ...string) {
		cmd := exec.Command("timeout", append([]string{"5", "kcat", "-b", addr}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		t.Logf("%v: %v %s", args, err, out)
	}
	run("", "-L")
	run("", "-L", "-t", "orders")
	in := strings.Repeat("key:the quick brown fox\n", 20)
	for _, z := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		run(in, "-P", "-t", "orders", "-K:", "-z", z, "-H", "id=7", "-X", "enable.idempotence=true")
	}
	run("", "-C", "-t", "orders", "-p", "0", "-o", "beginning", "-c", "1")
	run("", "-Q", "-t", "orders:0:-1")
	dir = "testdata/frames/kgo-1.22.3"
	for _, c := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		cl, _ := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("orders"), kgo.ProducerBatchCompression(c))
		r := kgo.KeyStringRecord("key", strings.Repeat("the quick brown fox ", 10))
		r.Headers = []kgo.RecordHeader{{Key: "id", Value: []byte("7")}}
		t.Log(cl.ProduceSync(context.Background(), r, kgo.StringRecord("x")).FirstErr())
		adm := kadm.NewClient(cl)
		adm.CreateTopics(context.Background(), 1, 1, nil, "orders")
		adm.DeleteTopics(context.Background(), "orders")
		adm.ListEndOffsets(context.Background(), "orders")
		adm.FindGroupCoordinators(context.Background(), "g")
		var ts kadm.TopicsSet
		ts.Add("orders", 0)
		adm.DescribeProducers(context.Background(), ts)
		var os kadm.Offsets
		os.AddOffset("orders", 0, 1, -1)
		adm.DeleteRecords(context.Background(), os)
		cl.Close()
	}
	cl, _ := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics("orders"))
	ctx, cancel := context.WithTimeout(context.Background(), 3e9)
	cl.PollFetches(ctx)
	cancel()
	cl.Close()
	l.Close()
	srv.Shutdown(context.Background())
}
