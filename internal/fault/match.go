package fault

import (
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// none stands for a number that a unit does not have.
const none = math.MinInt64

// A unit is the smallest thing that a rule can match: a batch of a Produce, a
// partition or topic that a request names, or a request as a whole.
type unit struct {
	client    string
	topic     string // "" where no topic is named, or one that nobody knows
	partition int32  // -1 where no partition is named
	producer  int64  // -1 is no producer id; none where that cannot be told
	attempt   int64  // none where nobody counted
	first     int64  // first sequence; none where there is none
	records   int32  // sequences held, from first on; at least 1
	offset    Range  // of a batch, or the one asked for
	noOffset  bool   // there is none
}

// appendUnits appends the units of a request, in the order of its body. There
// is always one.
func appendUnits(to []unit, req *wire.Request) []unit {
	start := len(to)
	whole := unit{client: req.Client, partition: -1, producer: none, attempt: none, first: none, records: 1, noOffset: true}
	if isProduce(req.Body.Key()) {
		for i := range req.Batches {
			to = append(to, whole)
			to[len(to)-1].ofBatch(&req.Batches[i])
		}
	} else {
		whole.producer = producerOf(req.Body)
		for tp := range wire.Partitions(req.Body) {
			to = append(to, whole)
			to[len(to)-1].topic, to[len(to)-1].partition = tp.Topic, tp.Partition
		}
	}
	if len(to) == start {
		to = append(to, whole)
	}
	return to
}

func (u *unit) ofBatch(b *wire.Batch) {
	u.topic, u.partition = b.Topic, b.Partition
	if b.Attempt > 0 {
		u.attempt = int64(b.Attempt)
	}
	if b.Err != nil {
		return
	}
	u.producer = b.Header.ProducerID
	u.records = max(1, b.Header.NumRecords) // the header says of itself what it likes
	if u.producer >= 0 && b.Header.FirstSequence >= 0 {
		u.first = int64(b.Header.FirstSequence)
	}
}

// producerOf is the producer id that a request names, none if it has no field
// for one.
func producerOf(body kmsg.Request) int64 {
	if index := producerFields[body.Key()]; index != nil {
		return reflect.ValueOf(body).Elem().FieldByIndex(index).Int()
	}
	return none
}

// producerFields is producerField for each served API that has one.
var producerFields = func() map[int16][]int {
	fields := make(map[int16][]int)
	for _, api := range wire.Served() {
		if index := producerField(api.Key); index != nil {
			fields[api.Key] = index
		}
	}
	return fields
}()

// addOffsets fills in the offsets of the units of a request: those that its
// batches took, by the worker's answer, or those that it asks for.
func addOffsets(units []unit, req *wire.Request, done kmsg.Response) {
	switch body := req.Body.(type) {
	case *kmsg.ProduceRequest:
		if answer, ok := done.(*kmsg.ProduceResponse); ok {
			addTaken(units, answer)
		}
	case *kmsg.FetchRequest:
		addAsked(units, body)
	}
}

// addTaken gives each batch the offsets that its records stand at. An answer of
// a duplicate tells those of the first copy.
func addTaken(units []unit, answer *kmsg.ProduceResponse) {
	taken := make(map[wire.TopicPartition]int64)
	for i := range answer.Topics {
		t := &answer.Topics[i]
		for j := range t.Partitions {
			if p := &t.Partitions[j]; p.ErrorCode == 0 && p.BaseOffset >= 0 {
				taken[wire.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = p.BaseOffset
			}
		}
	}
	for i := range units {
		u := &units[i]
		if base, ok := taken[u.at()]; ok {
			u.offset, u.noOffset = Range{base, base + int64(u.records) - 1}, false
		}
	}
}

// addAsked gives each partition the offset that a Fetch asks for. The units
// stand in the order of the body.
func addAsked(units []unit, body *kmsg.FetchRequest) {
	i := 0
	for _, t := range body.Topics {
		for _, p := range t.Partitions {
			units[i].offset, units[i].noOffset = Range{p.FetchOffset, p.FetchOffset}, false
			i++
		}
	}
}

// at is the partition that the unit is of.
func (u *unit) at() wire.TopicPartition {
	return wire.TopicPartition{Topic: u.topic, Partition: u.partition}
}

// holds says whether a batch holds any of the sequences in r. Either the batch
// begins in r, or it holds the first sequence of r; it may straddle the wrap.
func (u *unit) holds(r Range) bool {
	return r.contains(u.first) || producer.Contains(int32(u.first), u.records, int32(r.First))
}

// has says whether a number is in the set. None is in no set.
func (rs Ranges) has(n int64) bool { return rs.overlaps(Range{n, n}) }

// partial says whether the rule can match a part of a request. A producer is
// the batch's in a Produce, and the whole request's elsewhere.
func (r *Rule) partial() bool {
	return len(r.Topic) > 0 || len(r.Partition) > 0 || len(r.Offset) > 0 ||
		isProduce(r.API) && (len(r.Producer) > 0 || len(r.Attempt) > 0 || len(r.Sequence) > 0)
}

// matchesAny says whether a name matches any of the globs.
func matchesAny(globs []string, name string) bool {
	for _, glob := range globs {
		if matchGlob(glob, name) {
			return true
		}
	}
	return false
}

// matchGlob matches a name with a glob, in which * is any characters and ? is
// one. It goes back to the last * only, so that its cost is at most the product
// of the two lengths.
func matchGlob(glob, name string) bool {
	star, retry := -1, 0
	g, n := 0, 0
	for n < len(name) {
		_, size := utf8.DecodeRuneInString(name[n:])
		switch {
		case g < len(glob) && glob[g] == '*':
			star, retry = g, n
			g++
		case g < len(glob) && glob[g] == '?':
			g++
			n += size
		case g < len(glob) && glob[g] == name[n]:
			g++
			n++
		case star >= 0:
			_, size := utf8.DecodeRuneInString(name[retry:])
			retry += size
			g, n = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

// isGlob says whether a name in a rule stands for several.
func isGlob(name string) bool { return strings.ContainsAny(name, "*?") }
