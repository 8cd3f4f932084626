package journal

import (
	"slices"

	"github.com/fencepostmq/fencepost/internal/wire"
)

const (
	// partitionsKept is how many partitions are followed. Batches for further
	// ones leave events, and no verdict is drawn of them.
	partitionsKept = 10_000

	// doubtsKept is how many stored batches of which the client may not know are
	// followed at a time. Each takes about 400 bytes.
	doubtsKept = 50_000

	// refusalsKept is how many batches that were not accepted are followed at a
	// time, together with replays whose checksum was another one.
	refusalsKept = 10_000

	// printsKept is how many records of those batches are kept as hashes, 16
	// bytes each, to find them in the log or to compare them with it.
	printsKept = 1_000_000

	// againKept is how many further copies of one batch are noted.
	againKept = 8
)

// limits counts what could not be followed. The verdict says so.
type limits struct {
	producersForgotten uint64
	batchesUnfollowed  uint64 // for partitions beyond partitionsKept
	unknownTopic       uint64 // batches whose topic id nobody knows
}

// usage counts what the limits of this file are about.
type usage struct {
	partitions int
	doubts     int
	refusals   int
	prints     int
}

// Counts is what became of the batches of a topic.
type Counts struct {
	Records    uint64 `json:"records"`    // accepted
	Batches    uint64 `json:"batches"`    // accepted
	Duplicates uint64 `json:"duplicates"` // replays; nothing was appended
	OutOfOrder uint64 `json:"out_of_order"`
	Fenced     uint64 `json:"fenced"`
	Refused    uint64 `json:"refused"`   // with another error
	NotAsked   uint64 `json:"not_asked"` // lost before the broker, or refused by a rule

	Replayed   uint64 `json:"replayed"`   // duplicates whose client was told the first offset
	AcksLost   uint64 `json:"acks_lost"`  // answers of accepted batches and duplicates that never came
	AcksFalse  uint64 `json:"acks_false"` // stored batches whose client was told an error instead
	AcksNotDue uint64 `json:"acks_not_due"`
	Producers  int    `json:"producers"` // with a producer id; counted up to 32,768
}

// Counts says of each topic what became of its batches.
func (j *Journal) Counts() map[string]Counts {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := make(map[string]Counts, len(j.notes.topics))
	for name, t := range j.notes.topics {
		all[name] = t.summary()
	}
	return all
}

// A topic is what is noted of one. Like all that it holds it is the journal's,
// and is touched under the journal's lock only.
type topic struct {
	name       string
	partitions map[int32]*partition
	producers  map[int64]struct{}
	counts     Counts
	unfollowed unfollowed

	// ends is where each partition ended when a batch was last refused, shared by
	// all refusals since the last acceptance; nil if none was.
	ends map[int32]int64

	transactional bool // a batch of a transaction came
}

// unfollowed counts the batches of a topic that found no room.
type unfollowed struct {
	doubts   uint64
	refusals uint64
}

// A partition is what is noted of one.
type partition struct {
	topic   *topic
	number  int32
	hash    uint64 // seeded, of topic and number
	noted   noted  // where batches were accepted
	senders map[int64]*sender

	doubts   map[int64]*doubt // by base offset
	refusals map[refusalKey][]*refusal
	replays  map[replayKey]*replay
}

// partitionLocked finds a partition, or makes one; nil if it cannot be followed.
func (j *Journal) partitionLocked(name string, number int32) *partition {
	t := j.notes.topic(name)
	if t != nil {
		if p := t.partitions[number]; p != nil {
			return p
		}
	}
	if name == "" || j.notes.used.partitions >= partitionsKept {
		return nil
	}
	j.notes.used.partitions++
	if t == nil {
		t = &topic{name: name, partitions: make(map[int32]*partition), producers: make(map[int64]struct{})}
		j.notes.topics[name] = t
	}
	p := &partition{
		topic:    t,
		number:   number,
		hash:     mix(hashBytes([]byte(name)), uint64(number)),
		senders:  make(map[int64]*sender),
		doubts:   make(map[int64]*doubt),
		refusals: make(map[refusalKey][]*refusal),
		replays:  make(map[replayKey]*replay),
	}
	t.partitions[number] = p
	return p
}

// topic finds a topic, nil if none is known by this name.
func (n *notes) topic(name string) *topic {
	if n.lastTopic == nil || n.lastTopic.name != name {
		n.lastTopic = n.topics[name]
	}
	return n.lastTopic
}

func (t *topic) countProducer(id int64) {
	if len(t.producers) < producersKept {
		t.producers[id] = struct{}{}
	}
}

func (t *topic) summary() Counts {
	c := t.counts
	c.Producers = len(t.producers)
	return c
}

// endsNow is where each partition ends, as far as the journal saw.
func (t *topic) endsNow() map[int32]int64 {
	if t.ends == nil {
		t.ends = make(map[int32]int64, len(t.partitions))
		for number, p := range t.partitions {
			t.ends[number] = p.noted.end
		}
	}
	return t.ends
}

func (n *notes) forgetTopic(name string) {
	t := n.topics[name]
	if t == nil {
		return
	}
	delete(n.topics, name)
	n.lastTopic = nil
	n.plain.forgetTopic(t)
	for _, p := range t.partitions {
		n.forgetPartition(p)
	}
}

func (n *notes) forgetPartition(p *partition) {
	n.used.partitions--
	n.used.doubts -= len(p.doubts)
	for _, s := range p.senders {
		n.producers.remove(s)
	}
	for _, all := range p.refusals {
		for _, r := range all {
			n.release(len(r.prints))
		}
	}
	for _, r := range p.replays {
		n.release(len(r.prints))
	}
}

// A doubt is a stored batch of which the client may not know.
type doubt struct {
	kind  doubtKind
	event Event // its acceptance
	told  Told  // the last that the client was told of it
	crc   uint32

	transactional bool

	again   []int64   // where the same bytes were accepted again, without a producer id
	replays []*replay // with another checksum whose client was told this batch's offset
}

type doubtKind uint8

const (
	// unconfirmed batches were never told to be stored.
	unconfirmed doubtKind = iota
	// late is a batch whose answer was sent, held up by a rule: the client may
	// have given up waiting.
	late
	// resent is a batch without a producer id whose answer was sent, and which
	// came again, byte for byte, over another connection.
	resent
)

// doubtOf says whether a stored batch is in doubt.
func doubtOf(e *Event) (doubtKind, bool) {
	switch {
	case !e.Told.settled():
		return unconfirmed, true
	case e.Told.Confirmed() && len(e.Rules) > 0:
		return late, true
	}
	return 0, false
}

// doubt follows a stored batch; nil if there is no room.
func (n *notes) doubt(p *partition, d doubt) *doubt {
	if n.used.doubts >= doubtsKept {
		p.topic.unfollowed.doubts++
		return nil
	}
	n.used.doubts++
	p.doubts[d.event.Done.BaseOffset] = &d
	return &d
}

// confirm ends the doubt about the batch at this base offset.
func (n *notes) confirm(p *partition, baseOffset int64) {
	if _, ok := p.doubts[baseOffset]; ok {
		delete(p.doubts, baseOffset)
		n.used.doubts--
	}
}

// A refusal is a batch that was delivered and not accepted.
type refusal struct {
	partition   int32
	first, last Event // of its deliveries
	crc         uint32
	records     int32

	prints     []print
	label      string          // of the first record
	unreadable bool            // its records cannot be read: it is malformed
	ends       map[int32]int64 // where each partition ended at the first delivery
}

// A refusalKey is what tells one refused batch from another, together with
// checksum and number of records.
type refusalKey struct {
	producer int64 // -1 without a producer id, -2 for what is not a batch
	epoch    int16
	first    int32
	bytes    uint64 // a hash of what is not a batch, the checksum without a producer id
}

func refusalKeyOf(b *wire.Batch) refusalKey {
	h := &b.Header
	switch {
	case b.Err != nil:
		return refusalKey{producer: -2, bytes: hashBytes(b.Raw)}
	case h.ProducerID < 0:
		return refusalKey{producer: -1, bytes: uint64(uint32(h.CRC))}
	}
	return refusalKey{producer: h.ProducerID, epoch: h.ProducerEpoch, first: h.FirstSequence}
}

// same says whether a delivery is one of the batch that was refused.
func (r *refusal) same(b *wire.Batch) bool {
	return b.Err != nil || r.crc == uint32(b.Header.CRC) && r.records == b.Header.NumRecords
}

// cameTo says whether the acceptance of b, which has the same key, means that
// the refused batch was accepted after all. If b has other bytes, the records
// have to be looked for in the log, unless they are not known.
func (r *refusal) cameTo(b *wire.Batch) bool {
	return r.unreadable || r.same(b) || r.prints == nil && r.records == b.Header.NumRecords
}

// settle ends the refusals of a batch that is accepted now.
func (n *notes) settle(p *partition, b *wire.Batch) {
	if len(p.refusals) == 0 {
		return
	}
	key := refusalKeyOf(b)
	left := slices.DeleteFunc(p.refusals[key], func(r *refusal) bool {
		came := r.cameTo(b)
		if came {
			n.release(len(r.prints))
		}
		return came
	})
	if len(left) == 0 {
		delete(p.refusals, key)
	} else {
		p.refusals[key] = left
	}
}

// A replay is a batch that was taken for a duplicate although its checksum is
// not the first copy's.
type replay struct {
	event  Event // the delivery, the first whose client was told an offset if any was
	prints []print
	label  string // of the first record
}

type replayKey struct {
	baseOffset int64
	crc        uint32
}

// reserve takes room for a refusal or a replay, and for its prints.
func (n *notes) reserve(prints int) (room, roomForPrints bool) {
	if n.used.refusals >= refusalsKept {
		return false, false
	}
	n.used.refusals++
	if n.used.prints+prints > printsKept {
		return true, false
	}
	n.used.prints += prints
	return true, true
}

// release gives back the room of a refusal or a replay.
func (n *notes) release(prints int) {
	n.used.refusals--
	n.used.prints -= prints
}
