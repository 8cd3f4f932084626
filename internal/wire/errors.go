package wire

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// renamed lists the names that Apache Kafka has given up since kerr took them
// (Kafka 2.6, class org.apache.kafka.common.protocol.Errors).
var renamed = map[string]string{"NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER"}

// ErrorName is the name of an error code as Kafka spells it today, NONE for 0;
// not ok for a code that Kafka does not have.
func ErrorName(code int16) (name string, ok bool) {
	if code == 0 {
		return "NONE", true
	}
	err := kerr.TypedErrorForCode(code)
	if err == nil || err.Code != code { // kerr gives an unknown code the name of -1
		return "", false
	}
	if today, ok := renamed[err.Message]; ok {
		return today, true
	}
	return err.Message, true
}

// ErrorAnswer builds the answer of any API that tells code for everything that
// req asks: once at the top where the answer has a place for it there, and for
// each topic, partition, group or other entry of the request. The message goes
// wherever the answer has room for one; "" leaves those null.
func ErrorAnswer(req kmsg.Request, code int16, message string) kmsg.Response {
	resp := req.ResponseKind()
	e := errorFiller{code: code}
	if message != "" {
		e.message = &message
	}
	e.fill(structOf(resp), structOf(req))
	return resp
}

type errorFiller struct {
	code    int16
	message *string
}

// unknown lists the fields in which -1 says "none", as Kafka answers with an
// error; kmsg's own defaults leave 0 there.
var unknown = map[string]bool{
	"BaseOffset": true, "LogAppendTime": true, "LogStartOffset": true, // Produce
	"HighWatermark": true, "LastStableOffset": true, // Fetch
	"Offset": true, "Timestamp": true, "EndOffset": true, // ListOffsets, OffsetForLeaderEpoch
	"ControllerID":  true,                            // Metadata, DescribeCluster
	"LowWatermark":  true,                            // DeleteRecords
	"NumPartitions": true, "ReplicationFactor": true, // CreateTopics
	"ProducerID": true, "ProducerEpoch": true, // InitProducerId
	"NodeID": true, "Port": true, // FindCoordinator
	"LeaderEpoch": true, "Generation": true, // OffsetFetch, JoinGroup
}

// sources says from which list of the request a list of the answer is made,
// where the two have different names.
var sources = map[string][]string{
	"Topics":            {"Topics", "TopicNames"},
	"Coordinators":      {"CoordinatorKeys"},
	"TransactionStates": {"TransactionalIDs"},
}

// unsaid are the fields that only a success fills: an answer to JoinGroup or
// SyncGroup that refuses has no protocol, whatever the member named.
var unsaid = map[string]bool{"UnknownTags": true, "ProtocolType": true, "Protocol": true}

// unasked are the lists of an answer that no request names entries of. They tell
// the code in one entry: DescribeLogDirs has no other place for it before
// version 3.
var unasked = map[string]bool{"Dirs": true}

// fill sets the fields of an answer, or of an entry of one, from the part of the
// request that asked for it.
func (e errorFiller) fill(dst, src reflect.Value) {
	if d, ok := dst.Addr().Interface().(interface{ Default() }); ok {
		d.Default()
	}
	for i := range dst.NumField() {
		e.field(dst.Type().Field(i).Name, dst.Field(i), src)
	}
}

func (e errorFiller) field(name string, f, src reflect.Value) {
	switch {
	case unsaid[name]:
	case name == "ErrorCode":
		f.SetInt(int64(e.code))
	case name == "ErrorMessage" && f.Type() == reflect.TypeFor[*string]():
		f.Set(reflect.ValueOf(e.message))
	case unknown[name] && f.CanInt():
		f.SetInt(-1)
	case f.Type() == reflect.TypeFor[[]byte](), name == "Configs" && f.Kind() == reflect.Slice:
		// Records of a Fetch, configs of a created topic: there are none, which
		// Kafka tells by empty ones; clients fail on null.
		f.Set(reflect.MakeSlice(f.Type(), 0, 0))
	case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
		e.list(name, f, src)
	default:
		copyField(f, src.FieldByName(name))
	}
}

// list makes an entry of the answer for each entry of the request, if entries
// have a place for an error. Those that have none are statements: a partition in
// a list of reassignments is one that moves.
func (e errorFiller) list(name string, f, src reflect.Value) {
	if !tellsErrors(f.Type().Elem()) {
		return
	}
	if unasked[name] {
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		e.fill(f.Index(0), reflect.ValueOf(struct{}{}))
	}
	from, ok := sources[name]
	if !ok {
		from = []string{name}
	}
	for _, source := range from {
		asked := src.FieldByName(source)
		if !asked.IsValid() || asked.Kind() != reflect.Slice {
			continue
		}
		for i := range asked.Len() {
			entry := reflect.New(f.Type().Elem()).Elem()
			e.entry(entry, asked.Index(i))
			f.Set(reflect.Append(f, entry))
		}
	}
}

// tellsErrors says whether an entry of an answer has a place for an error code,
// its own or one of the entries below it.
func tellsErrors(entry reflect.Type) bool {
	if entry.Kind() != reflect.Struct {
		return false
	}
	for i := range entry.NumField() {
		f := entry.Field(i)
		if f.Name == "ErrorCode" || f.Type.Kind() == reflect.Slice && tellsErrors(f.Type.Elem()) {
			return true
		}
	}
	return false
}

// entry fills an entry that answers a struct, or a plain name or number.
func (e errorFiller) entry(entry, asked reflect.Value) {
	if asked.Kind() == reflect.Struct {
		e.fill(entry, asked)
		return
	}
	e.fill(entry, reflect.ValueOf(struct{}{}))
	for _, id := range []string{"Topic", "Partition", "Key", "Group", "TransactionalID"} {
		if copyField(entry.FieldByName(id), asked) {
			return
		}
	}
}

// copyField copies a field that identifies what was asked for: a name, a
// number, an id. A string goes into a *string and back.
func copyField(dst, src reflect.Value) bool {
	switch {
	case !dst.IsValid() || !src.IsValid() || dst.Kind() == reflect.Slice || dst.Kind() == reflect.Map:
		return false
	case src.Type() == dst.Type():
		dst.Set(src)
	case dst.Type() == reflect.TypeFor[*string]() && src.Kind() == reflect.String:
		s := src.String()
		dst.Set(reflect.ValueOf(&s))
	case dst.Kind() == reflect.String && src.Type() == reflect.TypeFor[*string]() && !src.IsNil():
		dst.SetString(src.Elem().String())
	default:
		return false
	}
	return true
}
