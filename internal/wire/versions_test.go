package wire

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// eachServedVersion runs a test for every version of every API that is served.
func eachServedVersion(t *testing.T, test func(t *testing.T, api API, version int16)) {
	for _, api := range Served() {
		for v := api.Min; v <= api.Max; v++ {
			t.Run(fmt.Sprintf("%s version %d", api.Name, v), func(t *testing.T) { test(t, api, v) })
		}
	}
}

func TestServer_request_and_answer_arrive_as_they_were_sent(t *testing.T) {
	eachServedVersion(t, func(t *testing.T, api API, v int16) {
		sent := filled(kmsg.RequestForKey(api.Key))
		sent.SetVersion(v)
		want := copyOf(t, sent)
		told := filled(sent.ResponseKind())

		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			if !reflect.DeepEqual(req.Body, want) {
				t.Errorf("the handler got %+v, want %+v", req.Body, want)
			}
			if req.Client != "tester" {
				t.Errorf("the handler got client id %q, want %q", req.Client, "tester")
			}
			return tell(told)
		})
		c := s.connect()
		c.ask(sent, v, 77)
		got := sent.ResponseKind()
		c.answer(got, v, 77)
		if wantTold := copyOf(t, told); !reflect.DeepEqual(got, wantTold) {
			t.Errorf("the client got %+v, want %+v", got, wantTold)
		}
	})
}

func TestServer_answers_of_every_version_may_be_empty(t *testing.T) {
	eachServedVersion(t, func(t *testing.T, api API, v int16) {
		c := newTestServer(t, answerEmpty).connect()
		req := kmsg.RequestForKey(api.Key)
		c.ask(req, v, 1)
		got := req.ResponseKind()
		c.answer(got, v, 1)
		if want := copyOf(t, req.ResponseKind()); !reflect.DeepEqual(got, want) {
			t.Errorf("the client got %+v, want %+v", got, want)
		}
	})
}

// The filler has to reach every field, or the tests above see less than they
// say.
func TestFilled_leaves_no_field_of_a_served_message_empty(t *testing.T) {
	for _, api := range Served() {
		req := kmsg.RequestForKey(api.Key)
		for _, m := range []any{filled(req), filled(req.ResponseKind())} {
			wantNoZero(t, fmt.Sprintf("%T", m), reflect.ValueOf(m).Elem())
		}
	}
}

func wantNoZero(t *testing.T, where string, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		if f.IsZero() && name != "Version" {
			t.Errorf("%s.%s is not filled", where, name)
		}
		if f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct {
			wantNoZero(t, where+"."+name, f.Index(0))
		}
	}
}
