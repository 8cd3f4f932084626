package journal

import (
	"reflect"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var produceName = apiName(int16(kmsg.Produce))

func apiName(key int16) string {
	if api, ok := wire.Lookup(key); ok {
		return api.Name
	}
	return kmsg.NameForKey(key)
}

// noteRequest notes a request of another API on which a rule fired.
func (j *Journal) noteRequest(req *wire.Request, reply *wire.Reply) {
	e := Event{
		Kind: KindRequest, Time: time.Now(), API: apiName(req.Body.Key()),
		Connection: req.Conn.ID, Client: req.Client,
		Partition: -1, ProducerID: -1, Epoch: -1, FirstSequence: -1, LastSequence: -1,
		Done: Done{Outcome: NotAsked, BaseOffset: -1},
		Told: Told{Answer: answerOf(req, 1, reply), BaseOffset: -1},
	}
	if reply.Done != nil {
		e.Done.Outcome = Handled
	}
	if e.Told.Answer == Answered {
		e.Told.Code = firstError(reflect.ValueOf(reply.Told))
		e.Told.Error = errorName(e.Told.Code)
	}
	for i := range reply.Fired {
		e.Rules = append(e.Rules, reply.Fired[i].Rule)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.addLocked(&e)
}

// firstError is the first error code in an answer of any API that is not 0.
func firstError(v reflect.Value) int16 {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return firstError(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			return 0
		}
		for i := range v.Len() {
			if code := firstError(v.Index(i)); code != 0 {
				return code
			}
		}
	case reflect.Struct:
		return firstErrorIn(v)
	}
	return 0
}

func firstErrorIn(v reflect.Value) int16 {
	if code := v.FieldByName("ErrorCode"); code.Kind() == reflect.Int16 && code.Int() != 0 {
		return int16(code.Int())
	}
	for i := range v.NumField() {
		if code := firstError(v.Field(i)); code != 0 {
			return code
		}
	}
	return 0
}
