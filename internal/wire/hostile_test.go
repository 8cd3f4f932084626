package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap/zapcore"
)

// A hostileInput is bytes on a new connection, and what has to become of it.
type hostileInput struct {
	name   string
	bytes  []byte
	hangUp bool // the client closes behind the bytes
	want   CloseReason
	detail string // the whole of it
}

func hostileInputs() []hostileInput {
	length := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	metadata := frameOf(kmsg.NewPtrMetadataRequest(), 9, 1)
	return []hostileInput{
		{"a length of -1", length(0xffffffff), false, ReasonFrameTooSmall,
			"the frame says that it has -1 bytes, and a request header alone has 10"},
		{"the most negative length", length(1 << 31), false, ReasonFrameTooSmall,
			"the frame says that it has -2147483648 bytes, and a request header alone has 10"},
		{"a length of 2 GB", length(1<<31 - 1), false, ReasonFrameTooLarge,
			"the frame says that it has 2147483647 bytes, and 104857600 are the most"},
		{"a length of 0", length(0), false, ReasonFrameTooSmall,
			"the frame says that it has 0 bytes, and a request header alone has 10"},
		{"a frame of 4 bytes", rawFrame([]byte{0xde, 0xad, 0xbe, 0xef}), false, ReasonFrameTooSmall,
			"the frame says that it has 4 bytes, and a request header alone has 10"},
		{"a frame one byte too small", rawFrame(make([]byte, 9)), false, ReasonFrameTooSmall,
			"the frame says that it has 9 bytes, and a request header alone has 10"},
		{"an HTTP request", []byte("GET / HTTP/1.1\r\n\r\n"), false, ReasonFrameTooLarge,
			"the frame says that it has 1195725856 bytes, and 104857600 are the most"},
		{"a TLS handshake", []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, false, ReasonFrameTooLarge,
			"the frame says that it has 369295618 bytes, and 104857600 are the most"},
		{"one byte over the largest Produce", append(length(MaxFrame+1), 0, 0), false, ReasonFrameTooLarge,
			"the frame says that it has 104857601 bytes, and 104857600 are the most"},
		{"a Metadata of 2 MB", append(length(2<<20), 0, 3), false, ReasonFrameTooLarge,
			"the frame says that it has 2097152 bytes, and requests of API key 3 may have 1048576"},
		{"one byte over the largest Fetch", append(length(MaxSmallFrame+1), 0, 1), false, ReasonFrameTooLarge,
			"the frame says that it has 1048577 bytes, and requests of API key 1 may have 1048576"},
		{"an unknown API of 2 MB", append(length(2<<20), 0x7f, 0xff), false, ReasonFrameTooLarge,
			"the frame says that it has 2097152 bytes, and requests of API key 32767 may have 1048576"},

		{"a client id longer than the frame", rawFrame([]byte{0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff}), false, ReasonBadHeader,
			"the request header of Metadata ends in the middle"},
		{"no tags where the header has to have them", rawFrame(rawHeader(3, 12, 1)), false, ReasonBadHeader,
			"the tags in the request header of Metadata cannot be read"},
		{"more tags than the frame has bytes", rawFrame(rawHeader(3, 12, 1), []byte{0xff, 0xff, 0xff, 0xff, 0x0f}), false, ReasonBadHeader,
			"the tags in the request header of Metadata cannot be read"},
		{"a tag that is longer than the frame", rawFrame(rawHeader(3, 12, 1), []byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0x07}), false, ReasonBadHeader,
			"the tags in the request header of Metadata cannot be read"},

		{"nothing", nil, true, ReasonClientClosed, "EOF"},
		{"half a length", []byte{0, 0}, true, ReasonReadFailed,
			"after 2 bytes of a frame: EOF"},
		{"a length alone", length(100), true, ReasonReadFailed,
			"after 4 bytes of a frame: EOF"},
		{"half a request", metadata[:len(metadata)-5], true, ReasonReadFailed,
			"after 21 bytes of a frame: unexpected EOF"},
	}
}

func TestServer_hostile_bytes_close_the_connection_for_a_reason(t *testing.T) {
	for _, tt := range hostileInputs() {
		t.Run(tt.name, func(t *testing.T) {
			wantHostile(t, tt)
		})
	}
}

// wantHostile sends the bytes and looks at the log, and at another connection
// that must not notice.
func wantHostile(t *testing.T, tt hostileInput) {
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if req.Conn.ID != 1 {
			t.Errorf("the handler was asked %+v", req.Body)
		}
		return tell(req.Body.ResponseKind())
	})
	other, c := s.connect(), s.connect()
	c.Write(tt.bytes) //nolint:errcheck // the server may close before it has read all
	if tt.hangUp {
		c.Close()
	} else {
		c.wantEOF()
	}
	e := s.closeEntry()
	if got := e.ContextMap()["reason"]; got != tt.want.String() {
		t.Errorf("closed because %q, want %q", got, tt.want)
	}
	if got := e.ContextMap()["detail"]; got != tt.detail {
		t.Errorf("the log says %q, want %q", got, tt.detail)
	}
	if got := e.ContextMap()["connection"]; got != int64(2) {
		t.Errorf("the log names connection %v, want 2", got)
	}
	other.ask(kmsg.NewPtrMetadataRequest(), 9, 5)
	other.answer(kmsg.NewPtrMetadataResponse(), 9, 5)
}

func TestServer_everyday_closes_are_logged_at_debug_level_and_others_at_info(t *testing.T) {
	tests := []struct {
		name  string
		bytes []byte
		want  zapcore.Level
	}{
		{"the client goes away", nil, zapcore.DebugLevel},
		{"the client goes away in the middle", []byte{0, 0, 0, 60, 0}, zapcore.InfoLevel},
		{"nonsense", []byte{0, 0, 0, 0}, zapcore.InfoLevel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestServer(t, answerEmpty)
			c := s.connect()
			c.Write(tt.bytes) //nolint:errcheck // the server may close before it has read all
			c.Close()
			if e := s.closeEntry(); e.Level != tt.want {
				t.Errorf("logged %q at level %v, want %v", e.ContextMap()["reason"], e.Level, tt.want)
			}
		})
	}
}

// Every body that ends too early has to be noticed, wherever the end is.
func TestServer_truncated_bodies_close_the_connection(t *testing.T) {
	eachServedVersion(t, func(t *testing.T, api API, v int16) {
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			t.Errorf("the handler was asked %+v", req.Body)
			return tell(req.Body.ResponseKind())
		})
		req := filled(kmsg.RequestForKey(api.Key))
		whole := frameOf(req, v, 1)[4:]
		body := len(whole) - len(req.AppendTo(nil))
		for end := body; end < len(whole); end++ {
			c := s.connect()
			c.send(rawFrame(whole[:end]))
			c.wantEOF()
			s.wantClose(ReasonBadBody)
		}
	})
}

// A count that goes beyond the frame is bad at every place where one stands:
// each four bytes of the body, taken for a count, must not bring the server down.
func TestServer_counts_beyond_the_frame_never_panic(t *testing.T) {
	eachServedVersion(t, func(t *testing.T, api API, v int16) {
		whole := frameOf(filled(kmsg.RequestForKey(api.Key)), v, 1)[4:]
		for _, lie := range [][]byte{{0x7f, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0x7f}, {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff, 0x0f}, {0, 0, 0x7f, 0xff}} {
			for at := 8; at+len(lie) <= len(whole); at++ {
				frame := bytes.Clone(whole)
				copy(frame[at:], lie)
				if _, req, f := new(decoder).decode(frame, admitAll); f == nil && req != nil {
					ErrorAnswer(req, 1, "why").AppendTo(nil)
				}
			}
		}
	})
}

func TestServer_counts_in_a_Produce_request(t *testing.T) {
	head := func(version int16) []byte { // up to the count of topics
		h := rawHeader(0, version, 1)
		if version >= 9 {
			return append(h, 0, 0 /* transactional id */, 0, 1, 0, 0, 0, 9)
		}
		return append(h, 0xff, 0xff, 0, 1, 0, 0, 0, 9)
	}
	topic := kbin.AppendString(nil, "t")
	tests := []struct {
		name   string
		frame  []byte
		detail string // the beginning of it
	}{
		{"a null list of topics", rawFrame(head(3), []byte{0xff, 0xff, 0xff, 0xff}), "Produce version 3: it names -1 topics"},
		{"a null compact list of topics", rawFrame(head(9), []byte{0}), "Produce version 9: it names -1 topics"},
		{"topics beyond the frame", rawFrame(head(3), []byte{0x7f, 0xff, 0xff, 0xff}, topic), "Produce version 3: the body ends in the middle"},
		{"compact topics beyond the frame", rawFrame(head(9), []byte{0xff, 0xff, 0xff, 0xff, 0x07}, make([]byte, 20)), "Produce version 9: the body ends in the middle"},
		{"more topics than may be", rawFrame(head(3), []byte{0, 0, 0x27, 0x11}, make([]byte, 10_001)), "Produce version 3: it names 10001 topics, and 0 to 10000 can be"},
		{"a null list of partitions", rawFrame(head(3), []byte{0, 0, 0, 1}, topic, []byte{0xff, 0xff, 0xff, 0xff}), "Produce version 3: it names -1 partitions"},
		{"partitions beyond the frame", rawFrame(head(3), []byte{0, 0, 0, 1}, topic, []byte{0x7f, 0xff, 0xff, 0xff}), "Produce version 3: the body ends in the middle"},
		{"records beyond the frame", rawFrame(head(3), []byte{0, 0, 0, 1}, topic, []byte{0, 0, 0, 1}, make([]byte, 4), []byte{0x7f, 0, 0, 0}), "Produce version 3: the body ends in the middle"},
		{"more partitions than may be", frameOf(manyPartitions(MaxPartitions+1), 3, 1), "Produce version 3: it names 1 partitions of a topic, and 0 to 100000 can be in all"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestServer(t, func(_ context.Context, req *Request) Reply {
				t.Errorf("the handler was asked %+v", req.Body)
				return tell(req.Body.ResponseKind())
			})
			c := s.connect()
			c.send(tt.frame)
			c.wantEOF()
			e := s.closeEntry()
			if got := e.ContextMap()["reason"]; got != ReasonBadBody.String() {
				t.Errorf("closed because %q, want %q", got, ReasonBadBody)
			}
			if got, _ := e.ContextMap()["detail"].(string); !strings.HasPrefix(got, tt.detail) {
				t.Errorf("the log says %q, want it to begin with %q", got, tt.detail)
			}
		})
	}
}

// manyPartitions is a Produce request of n partitions with null records, all but
// one of them in the first topic.
func manyPartitions(n int) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Topics = append(produceOf("a", make([][]byte, n-1)...), produceOf("b", nil)...)
	return req
}

func TestServer_the_most_partitions_and_topics_of_a_Produce_are_served(t *testing.T) {
	topics := kmsg.NewPtrProduceRequest()
	for range MaxTopics {
		topics.Topics = append(topics.Topics, produceOf("t", nil)...)
	}
	for name, req := range map[string]*kmsg.ProduceRequest{
		"partitions": manyPartitions(MaxPartitions),
		"topics":     topics,
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, answerEmpty)
			c := s.connect()
			c.ask(req, 9, 1)
			c.answer(req.ResponseKind(), 9, 1)
		})
	}
}

func TestServer_a_panicking_handler_closes_its_connection_and_no_other(t *testing.T) {
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if req.Conn.ID == 1 {
			panic("out of cheese")
		}
		return tell(req.Body.ResponseKind())
	})
	c, other := s.connect(), s.connect()
	c.ask(kmsg.NewPtrMetadataRequest(), 9, 1)
	c.wantEOF()
	s.wantClose(ReasonInternal)

	reports := s.logs.FilterLevelExact(zapcore.ErrorLevel).All()
	if len(reports) != 1 {
		t.Fatalf("%d errors were logged, want 1", len(reports))
	}
	fields := reports[0].ContextMap()
	if stack, _ := fields["stack"].(string); fields["panic"] != "out of cheese" || fields["api"] != int16(3) || fields["version"] != int16(9) || !strings.Contains(stack, "hostile_test.go") {
		t.Errorf("the log tells %v", fields)
	}

	other.ask(kmsg.NewPtrMetadataRequest(), 9, 1)
	other.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
}

// An answer that cannot be encoded is a bug as well, and the half of it that was
// encoded must not reach the client.
func TestServer_an_answer_that_cannot_be_encoded_closes_the_connection(t *testing.T) {
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if req.Body.(*kmsg.MetadataRequest).AllowAutoTopicCreation {
			return tell((*kmsg.MetadataResponse)(nil))
		}
		return tell(req.Body.ResponseKind())
	})
	c := s.connect()
	good, bad := kmsg.NewPtrMetadataRequest(), kmsg.NewPtrMetadataRequest()
	bad.AllowAutoTopicCreation = true
	c.send(append(frameOf(good, 9, 1), frameOf(bad, 9, 2)...))
	c.answer(good.ResponseKind(), 9, 1)
	c.wantEOF()
	s.wantClose(ReasonInternal)
}
