package journal

import (
	"reflect"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// open is a batch whose records have to be hashed before it is filed, which is
// not done under the lock. One of refusal and replay is set.
type open struct {
	notes     *notes
	partition *partition
	batch     *wire.Batch
	refusal   *refusal
	replay    *replay
}

// note notes what became of a Produce. What it returns is still to be filed.
func (j *Journal) note(req *wire.Request, produce *kmsg.ProduceRequest, reply *wire.Reply) (later []open) {
	answer := answerOf(req, produce.Acks, reply)
	didAll, toldAll := answersIn(reply.Done), answersIn(reply.Told)
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range req.Batches {
		b := &req.Batches[i]
		e := Event{Time: now, API: produceName, Connection: req.Conn.ID, Client: req.Client}
		e.setBatch(b)
		e.Done = done(didAll.find(b.Topic, b.Partition), b)
		e.Told = toldBy(answer, toldAll.find(b.Topic, b.Partition))
		e.Rules = rulesOn(reply.Fired, wire.TopicPartition{Topic: b.Topic, Partition: b.Partition})
		if o := j.bookLocked(b, &e); o != nil {
			later = append(later, *o)
		}
	}
	return later
}

// bookLocked enters an event, and what follows from it, into the books.
func (j *Journal) bookLocked(b *wire.Batch, e *Event) (later *open) {
	n, p := j.notes, j.partitionLocked(b.Topic, b.Partition)
	if p == nil {
		n.countUnfollowed(b)
		j.addLocked(e)
		return nil
	}
	var first uint32 // the checksum of the first copy
	if e.Done.Outcome == Accepted {
		if crc, ok := p.firstCopy(b, e); ok {
			e.Done.Outcome, first = Duplicate, crc
		}
	}
	j.addLocked(e)
	p.topic.count(e)
	switch e.Done.Outcome {
	case Accepted:
		n.accepted(p, b, e)
	case Duplicate:
		later = n.duplicate(p, b, e, first)
	default:
		later = n.refused(p, b, e)
	}
	return later
}

func (n *notes) countUnfollowed(b *wire.Batch) {
	if b.Topic == "" {
		n.limits.unknownTopic++
	} else {
		n.limits.batchesUnfollowed++
	}
}

func (t *topic) count(e *Event) {
	c := &t.counts
	switch e.Done.Outcome {
	case Accepted:
		c.Batches++
		c.Records += uint64(max(e.Records, 0))
	case Duplicate:
		c.Duplicates++
		if e.Told.Confirmed() {
			c.Replayed++
		}
	case OutOfOrder:
		c.OutOfOrder++
	case Fenced:
		c.Fenced++
	case Refused:
		c.Refused++
	case NotAsked:
		c.NotAsked++
	}
	switch stored := e.Done.Outcome.Stored(); {
	case e.Told.Answer == NotDue:
		c.AcksNotDue++
	case stored && e.Told.Silent():
		c.AcksLost++
	case stored && !e.Told.Confirmed():
		c.AcksFalse++
	}
}

// firstCopy finds the batch of which b, answered without an error, is a replay:
// the one with the same producer, epoch, sequences and base offset.
func (p *partition) firstCopy(b *wire.Batch, e *Event) (crc uint32, ok bool) {
	if e.ProducerID < 0 {
		return 0, false
	}
	if s := p.senders[e.ProducerID]; s != nil {
		if stored := s.stored(e.Epoch, e.FirstSequence, e.LastSequence); stored != nil && stored.baseOffset == e.Done.BaseOffset {
			return stored.crc, true
		}
	}
	if d := p.doubts[e.Done.BaseOffset]; d != nil && d.event.sameBatch(e) {
		return d.crc, true
	}
	return 0, false
}

func (e *Event) sameBatch(o *Event) bool {
	return e.ProducerID == o.ProducerID && e.Epoch == o.Epoch &&
		e.FirstSequence == o.FirstSequence && e.LastSequence == o.LastSequence
}

// accepted books a batch that was appended.
func (n *notes) accepted(p *partition, b *wire.Batch, e *Event) {
	p.end = max(p.end, e.Done.BaseOffset+int64(e.Records))
	p.topic.ends = nil
	n.settle(p, b)
	var d *doubt
	crc := uint32(b.Header.CRC)
	if kind, ok := doubtOf(e); ok {
		d = n.doubt(p, doubt{kind: kind, event: *e, told: e.Told, crc: crc})
	}
	if e.ProducerID < 0 {
		n.acceptedPlain(p, b, e, d)
		return
	}
	n.producer(p, e.ProducerID).accept(storedBatch{
		first: e.FirstSequence, last: e.LastSequence, epoch: e.Epoch, crc: crc, baseOffset: e.Done.BaseOffset,
	})
}

// acceptedPlain looks whether a batch without a producer id was accepted before.
// That is certain if the first copy is in doubt. If it was confirmed and the
// second one came over the same connection, an application wrote two equal
// batches within a millisecond; over another connection, it was sent again.
func (n *notes) acceptedPlain(p *partition, b *wire.Batch, e *Event, d *doubt) {
	if p.plain == nil || b.Err != nil {
		return
	}
	k := p.plain.find(uint32(b.Header.CRC), b.Header.NumRecords)
	if k == nil {
		return
	}
	if k.doubt == nil && k.stored && k.connection != e.Connection {
		earlier := n.events.acceptance(e.Topic, e.Partition, k.baseOffset)
		k.doubt = n.doubt(p, doubt{kind: resent, event: earlier, told: earlier.Told, crc: k.crc})
	}
	if k.doubt != nil && len(k.doubt.again) < againKept {
		k.doubt.again = append(k.doubt.again, e.Done.BaseOffset)
	}
	if k.doubt == nil {
		k.doubt = d
	}
	k.stored, k.baseOffset, k.connection = true, e.Done.BaseOffset, e.Connection
}

// duplicate books a replay.
func (n *notes) duplicate(p *partition, b *wire.Batch, e *Event, first uint32) *open {
	n.settle(p, b)
	crc, base := uint32(b.Header.CRC), e.Done.BaseOffset
	if crc == first {
		if d := p.doubts[base]; d != nil && e.Told.Answer == Answered {
			d.told = e.Told
		}
		if e.Told.Confirmed() {
			n.confirm(p, base)
		}
		return nil
	}
	if known := p.replays[replayKey{base, crc}]; known != nil {
		p.repeat(known, e)
		return nil
	}
	return &open{notes: n, partition: p, batch: b, replay: &replay{event: *e}}
}

// repeat notes a further delivery of a replay. It counts once its client is told
// that it is stored.
func (p *partition) repeat(r *replay, e *Event) {
	if !r.event.Told.Confirmed() && e.Told.Confirmed() {
		r.event = *e
		p.confirmedBy(r)
	}
}

// confirmedBy notes that a client learned of a batch by a replay with another
// checksum. Whether that counts depends on the records, which are compared when
// the verdict is drawn.
func (p *partition) confirmedBy(r *replay) {
	if d := p.doubts[r.event.Done.BaseOffset]; d != nil {
		d.replays = append(d.replays, r)
	}
}

// refused books a batch that was not accepted, unless it was before.
func (n *notes) refused(p *partition, b *wire.Batch, e *Event) *open {
	for _, known := range p.refusals[refusalKeyOf(b)] {
		if known.same(b) {
			known.last = *e
			return nil
		}
	}
	if p.holds(b) {
		return nil
	}
	return &open{notes: n, partition: p, batch: b, refusal: &refusal{
		partition: p.number, first: *e, last: *e,
		crc: uint32(b.Header.CRC), records: e.Records, ends: p.topic.endsNow(),
	}}
}

// holds says whether exactly this batch is known to stand in the log, or to have
// been taken for a replay of one that does.
func (p *partition) holds(b *wire.Batch) bool {
	h := &b.Header
	switch {
	case b.Err != nil:
		return false
	case h.ProducerID < 0:
		if p.plain == nil {
			return false
		}
		k := p.plain.find(uint32(h.CRC), h.NumRecords)
		return k != nil && k.stored
	}
	s := p.senders[h.ProducerID]
	if s == nil {
		return false
	}
	stored := s.stored(h.ProducerEpoch, h.FirstSequence, lastSequence(h.FirstSequence, h.NumRecords))
	return stored != nil && (stored.crc == uint32(h.CRC) || p.replays[replayKey{stored.baseOffset, uint32(h.CRC)}] != nil)
}

// file hashes the records of batches that are to be looked for in the log, and
// then keeps them.
func (j *Journal) file(later []open) {
	p := newPrinter()
	for i := range later {
		o := &later[i]
		prints, label, err := p.prints(o.batch.Raw)
		if err != nil {
			prints = nil
		}
		j.mu.Lock()
		if j.notes == o.notes && j.notes.follows(o.partition) {
			o.keepLocked(prints, label)
		}
		j.mu.Unlock()
	}
}

func (n *notes) follows(p *partition) bool {
	return n.topics[p.topic.name] == p.topic
}

func (o *open) keepLocked(prints []print, label string) {
	if o.refusal != nil && o.cameMeanwhile() {
		return
	}
	n, p := o.notes, o.partition
	room, roomForPrints := n.reserve(len(prints))
	if !room {
		p.topic.unfollowed.refusals++
		return
	}
	if r := o.refusal; r != nil {
		r.unreadable, r.label = prints == nil, label
		if roomForPrints {
			r.prints = prints
		}
		key := refusalKeyOf(o.batch)
		p.refusals[key] = append(p.refusals[key], r)
		return
	}
	r := o.replay
	r.label = label
	if roomForPrints {
		r.prints = prints
	}
	p.replays[replayKey{r.event.Done.BaseOffset, uint32(o.batch.Header.CRC)}] = r
	if r.event.Told.Confirmed() {
		p.confirmedBy(r)
	}
}

// cameMeanwhile says whether the batch was accepted, over another connection,
// between its refusal and now.
func (o *open) cameMeanwhile() bool {
	if o.partition.holds(o.batch) {
		return true
	}
	s := o.partition.senders[o.batch.Header.ProducerID]
	return o.refusal.unreadable && s != nil && s.begins(o.batch.Header.ProducerEpoch, o.batch.Header.FirstSequence)
}

// acceptance finds the event of a batch that was accepted at this offset. If it
// is kept no longer, an event says only where it was.
func (r *record) acceptance(topic string, partition int32, baseOffset int64) Event {
	is := func(e *Event) bool {
		return e.Done.Outcome == Accepted && e.Done.BaseOffset == baseOffset && e.Partition == partition && e.Topic == topic
	}
	for i := range r.ring {
		if is(&r.ring[i]) {
			return r.ring[i]
		}
	}
	for i := range r.kept {
		if is(&r.kept[i]) {
			return r.kept[i]
		}
	}
	return Event{
		API: produceName, Topic: topic, Partition: partition, ProducerID: -1, Epoch: -1, FirstSequence: -1, LastSequence: -1,
		Attempt: 1, Done: Done{Outcome: Accepted, BaseOffset: baseOffset}, Told: Told{BaseOffset: baseOffset, Error: errorName(0)},
	}
}

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
