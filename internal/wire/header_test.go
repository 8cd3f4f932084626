package wire

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestServer_correlation_id_comes_back(t *testing.T) {
	c := newTestServer(t, answerEmpty).connect()
	for _, id := range []int32{0, 1, -1, math.MaxInt32, math.MinInt32, 1, 1} {
		req := kmsg.NewPtrMetadataRequest()
		c.ask(req, 12, id)
		c.answer(req.ResponseKind(), 12, id)
	}
}

func TestServer_header_of_the_answer_has_tags_in_flexible_versions_only(t *testing.T) {
	eachServedVersion(t, func(t *testing.T, api API, v int16) {
		c := newTestServer(t, answerEmpty).connect()
		req := kmsg.RequestForKey(api.Key)
		c.ask(req, v, 0x01020304)

		want := []byte{1, 2, 3, 4}
		if v >= flexibleFrom[api.Key] && api.Name != "ApiVersions" {
			want = append(want, 0)
		}
		resp := req.ResponseKind()
		want = resp.AppendTo(want)
		if got := c.read(); !bytes.Equal(got, want) {
			t.Errorf("the answer is %x, want %x", got, want)
		}
	})
}

// Clients send ApiVersions before they know the broker, and read its answer
// before they know which version it has: the header of it is always the oldest.
func TestServer_header_of_an_ApiVersions_answer_is_always_version_0(t *testing.T) {
	for v := int16(0); v <= 5; v++ {
		c := newTestServer(t, answerEmpty).connect()
		c.ask(kmsg.NewPtrApiVersionsRequest(), v, 9)
		frame := c.read()
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.SetVersion(v)
		if err := resp.ReadFrom(frame[4:]); err != nil || len(resp.AppendTo(nil)) != len(frame)-4 {
			t.Errorf("version %d: what follows the correlation id in %x is not the response (%v)", v, frame, err)
		}
	}
}

func TestServer_client_id(t *testing.T) {
	tests := []struct {
		name string
		id   []byte // as it stands in the header
		want string
	}{
		{"null is empty", []byte{0xff, 0xff}, ""},
		{"empty is empty", []byte{0, 0}, ""},
		{"a name is kept", []byte{0, 3, 'a', 'p', 'p'}, "app"},
		{"another negative length is null too", []byte{0x80, 0}, ""},
		{"any bytes are kept", []byte{0, 2, 0xff, 0x00}, "\xff\x00"},
	}
	for _, tt := range tests {
		for _, v := range []int16{1, 12} { // before and after the header has tags
			t.Run(fmt.Sprintf("%s, Metadata version %d", tt.name, v), func(t *testing.T) {
				var got []string
				s := newTestServer(t, func(ctx context.Context, req *Request) Reply {
					got = append(got, req.Client)
					return answerEmpty(ctx, req)
				})
				c := s.connect()
				req := kmsg.NewPtrMetadataRequest()
				req.SetVersion(v)
				header := append([]byte{0, 3, 0, byte(v), 0, 0, 0, 5}, tt.id...)
				if v >= 9 {
					header = append(header, 0) // no tags
				}
				c.send(rawFrame(header, req.AppendTo(nil)))
				c.answer(req.ResponseKind(), v, 5)
				if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
					t.Errorf("client ids (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestServer_tags_in_the_header_of_a_request_are_skipped(t *testing.T) {
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if body := req.Body.(*kmsg.MetadataRequest); !body.AllowAutoTopicCreation || body.Topics != nil {
			t.Errorf("the body was read as %+v", body)
		}
		return tell(req.Body.ResponseKind())
	})
	c := s.connect()
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(12)
	req.AllowAutoTopicCreation = true
	tags := []byte{2, 7, 3, 'a', 'b', 'c', 9, 0}
	c.send(rawFrame(rawHeader(3, 12, 8), tags, req.AppendTo(nil)))
	c.answer(req.ResponseKind(), 12, 8)
}

// KIP-511: the answer tells a client from the future what it may use, and it
// has to be in the one shape that every client can read. A full list would make
// kgo stay with version 0, and a closed connection makes most clients give up.
func TestServer_ApiVersions_of_a_version_that_is_not_served(t *testing.T) {
	tests := []struct {
		version int16
		rest    []byte // behind the client id
	}{
		{6, []byte{0, 4, 'k', 'g', 'o', 2, '1', 0, 0}},
		{6, nil},
		{99, nil},
		{99, []byte("nobody can know what stands here")},
		{math.MaxInt16, nil},
		{-1, nil},
		{math.MinInt16, []byte{0}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("version %d with %d bytes of body", tt.version, len(tt.rest)), func(t *testing.T) {
			s := newTestServer(t, func(_ context.Context, req *Request) Reply {
				if req.Body.GetVersion() == tt.version {
					t.Errorf("the handler was asked %+v", req.Body)
				}
				return tell(req.Body.ResponseKind())
			})
			c := s.connect()
			c.send(rawFrame(rawHeader(18, tt.version, 3), tt.rest))
			got := kmsg.NewPtrApiVersionsResponse()
			c.answer(got, 0, 3)
			want := kmsg.NewPtrApiVersionsResponse()
			want.ErrorCode = kerr.UnsupportedVersion.Code
			want.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MinVersion: 0, MaxVersion: 5}}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(kmsg.Tags{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}

			// The client tries again on the same connection.
			c.ask(kmsg.NewPtrApiVersionsRequest(), 5, 4)
			c.answer(kmsg.NewPtrApiVersionsResponse(), 5, 4)
		})
	}
}

// Only ApiVersions is answered in a version that is not served; Kafka closes the
// connection for every other API, and Produce 0 to 2 are told to be served only
// so that librdkafka compresses.
func TestServer_closes_on_what_is_not_served(t *testing.T) {
	type ask struct {
		key, version int16
		want         CloseReason
		detail       string
	}
	tests := []ask{
		{0, 0, ReasonUnknownVersion, "version 0 of Produce is not served, only 3 to 13"},
		{0, 1, ReasonUnknownVersion, "version 1 of Produce is not served, only 3 to 13"},
		{0, 2, ReasonUnknownVersion, "version 2 of Produce is not served, only 3 to 13"},
		{999, 0, ReasonUnknownAPI, "API key 999 is not served"},
		{-1, 0, ReasonUnknownAPI, "API key -1 is not served"},
		{17, 1, ReasonUnknownAPI, "API key 17 is not served"},
		{7, 0, ReasonUnknownAPI, "API key 7 is not served"},
	}
	for _, w := range wantServed {
		if w.name == "ApiVersions" {
			continue
		}
		for _, v := range []int16{w.max + 1, w.min - 1, -1, math.MaxInt16, math.MinInt16} {
			tests = append(tests, ask{w.key, v, ReasonUnknownVersion,
				fmt.Sprintf("version %d of %s is not served, only %d to %d", v, w.name, w.min, w.max)})
		}
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("API key %d version %d", tt.key, tt.version), func(t *testing.T) {
			s := newTestServer(t, func(_ context.Context, req *Request) Reply {
				t.Errorf("the handler was asked %+v", req.Body)
				return tell(req.Body.ResponseKind())
			})
			c := s.connect()
			c.send(rawFrame(rawHeader(tt.key, tt.version, 3), make([]byte, 40)))
			c.wantEOF()
			e := s.closeEntry()
			if got := e.ContextMap()["reason"]; got != tt.want.String() {
				t.Errorf("closed because %q, want %q", got, tt.want)
			}
			if got := e.ContextMap()["detail"]; got != tt.detail {
				t.Errorf("the log says %q, want %q", got, tt.detail)
			}
		})
	}
}
