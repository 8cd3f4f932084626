package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// room is how much an inquiry may hold in memory.
type room struct {
	// doubtful is how many records of batches in doubt are looked for in the log.
	// Each takes up to 400 bytes.
	doubtful int64

	// pass is how many identities are sorted at a time, 24 bytes each. A topic
	// that holds more records is read once for each such share of them.
	pass int64

	// repeated is how many identities that stand more than once are kept. Each
	// takes up to 1.5 kB, for its places.
	repeated int
}

var defaultRoom = room{doubtful: 1_000_000, pass: 6_000_000, repeated: 100_000}

// An inquiry draws the verdict on one topic. It works on a copy of the notes,
// without the journal's lock.
type inquiry struct {
	reader     reader
	identity   Identity
	partitions []bounds // in order
	counts     Counts
	unfollowed unfollowed
	room       room

	transactional bool              // batches of transactions came
	endings       map[int32]endings // by partition

	doubts   []*doubt   // in time order
	refusals []*refusal // in time order
	replays  []*replay  // in time order
	inHand   []InHand   // in order of arrival

	printer *printer
	byPlace map[location]*doubt // by the base offset
	same    map[*replay]bool    // replays whose records are those stored
	verdict TopicVerdict
}

// bounds is what can be read of a partition.
type bounds struct {
	partition int32
	known     int64 // where it ends, as far as the journal saw; 0 if nothing was accepted
	start     int64
	end       int64
}

// A location is an offset in a partition.
type location struct {
	partition int32
	offset    int64
}

func (e *Event) location() location { return location{e.Partition, e.Done.BaseOffset} }

// inquiryLocked copies what the notes say of a topic.
func (j *Journal) inquiryLocked(t *topic) *inquiry {
	q := &inquiry{
		reader:        reader{next: j.next, topic: t.name},
		identity:      j.identity,
		counts:        t.summary(),
		unfollowed:    t.unfollowed,
		room:          defaultRoom,
		transactional: t.transactional,
		endings:       make(map[int32]endings),
		printer:       newPrinter(),
		byPlace:       make(map[location]*doubt),
		same:          make(map[*replay]bool),
	}
	q.reader.trimmed = q.sayTrimmed
	for number, p := range t.partitions {
		q.partitions = append(q.partitions, bounds{partition: number, known: p.noted.end})
		q.copyPartition(p)
	}
	slices.SortFunc(q.partitions, func(a, b bounds) int { return cmp.Compare(a.partition, b.partition) })
	slices.SortFunc(q.doubts, func(a, b *doubt) int { return cmp.Compare(a.event.Number, b.event.Number) })
	slices.SortFunc(q.refusals, func(a, b *refusal) int { return cmp.Compare(a.first.Number, b.first.Number) })
	slices.SortFunc(q.replays, func(a, b *replay) int { return cmp.Compare(a.event.Number, b.event.Number) })
	return q
}

func (q *inquiry) copyPartition(p *partition) {
	copies := make(map[*replay]*replay, len(p.replays))
	for _, r := range p.replays {
		c := *r
		copies[r] = &c
		q.replays = append(q.replays, &c)
	}
	for _, d := range p.doubts {
		c := *d
		c.again, c.replays = slices.Clone(d.again), nil
		for _, r := range d.replays {
			c.replays = append(c.replays, copies[r])
		}
		q.doubts = append(q.doubts, &c)
	}
	for _, all := range p.refusals {
		for _, r := range all {
			c := *r
			q.refusals = append(q.refusals, &c)
		}
	}
}

// draw draws the verdict. It fails only if ctx ends.
func (q *inquiry) draw(ctx context.Context) error {
	q.verdict.Topic, q.verdict.Counts = q.reader.topic, q.counts
	q.sayUnfollowed()
	if q.mustRead() {
		if err := q.compare(ctx); err != nil {
			return err
		}
	}
	q.reportInHand(ctx)
	return ctx.Err()
}

// mustRead says whether anything has to be compared with the log.
func (q *inquiry) mustRead() bool {
	return q.transactional || len(q.doubts) > 0 || len(q.refusals) > 0 || len(q.replays) > 0 ||
		q.identity != IdentityNone && q.counts.Batches > 0
}

func (q *inquiry) compare(ctx context.Context) error {
	if err := q.measure(ctx); err != nil {
		return err
	}
	if err := q.learnEndings(ctx); err != nil {
		return err
	}
	if err := q.findSwallowed(ctx); err != nil {
		return err
	}
	q.dropConfirmed()
	s := newScan(q)
	if err := s.learnDoubts(ctx); err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	found, err := s.duplicates(ctx)
	if err != nil {
		return err
	}
	q.reportDuplicated(found)
	q.reportMissing(s.wants.missing())
	q.reportUnconfirmed(found)
	return q.readLabels(ctx)
}

// measure asks where each partition begins and ends, and leaves out those that
// cannot be read.
func (q *inquiry) measure(ctx context.Context) error {
	readable := q.partitions[:0:0]
	for _, b := range q.partitions {
		var err error
		b.start, b.end, err = q.reader.bounds(ctx, b.partition)
		if err != nil {
			if err := q.unreadable(err, b.known > 0); err != nil {
				return err
			}
			continue
		}
		readable = append(readable, b)
		if b.start > 0 {
			q.sayTrimmed(b.partition, b.start)
		}
		if b.end < b.known {
			q.limit("partition %d ends at offset %d, and batches were accepted up to offset %d", b.partition, b.end, b.known-1)
		}
	}
	q.verdict.several = q.several(ctx)
	q.partitions = readable
	return nil
}

// several says whether the topic has several partitions. If nobody says how many
// there are, those count that batches came for.
func (q *inquiry) several(ctx context.Context) bool {
	if all, err := q.reader.partitions(ctx); err == nil {
		return len(all) > 1
	}
	return len(q.partitions) > 1 || len(q.partitions) > 0 && q.partitions[0].partition > 0
}

// unreadable turns a failure to read into a limit of the verdict. It is an error
// only if it is of another kind.
func (q *inquiry) unreadable(err error, matters bool) error {
	var failed *readError
	if !errors.As(err, &failed) {
		return err
	}
	if matters {
		q.limit("%s", failed)
	}
	return nil
}

// sayTrimmed says what DeleteRecords or retention took away.
func (q *inquiry) sayTrimmed(partition int32, start int64) {
	q.limit("partition %d begins at offset %d: what was deleted before it was not looked at", partition, start)
}

// limit says in the verdict what it could not take into account, once.
func (q *inquiry) limit(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(q.verdict.Limits, text) {
		q.verdict.Limits = append(q.verdict.Limits, text)
	}
}

func (q *inquiry) sayUnfollowed() {
	if n := q.unfollowed.doubts; n > 0 {
		q.limit("%s beyond the first %d could not be followed: whether the client learned of them is not known",
			count(n, "batch without a certain acknowledgement", "batches without a certain acknowledgement"), doubtsKept)
	}
	if n := q.unfollowed.refusals; n > 0 {
		q.limit("%s beyond the first %d could not be followed: whether they were written later is not known",
			count(n, "delivery of a refused batch", "deliveries of refused batches"), refusalsKept)
	}
	unprinted := uint64(0)
	for _, r := range q.refusals {
		if r.prints == nil && !r.unreadable {
			unprinted++
		}
	}
	for _, r := range q.replays {
		if r.prints == nil {
			unprinted++
		}
	}
	if unprinted > 0 {
		q.limit("the records of %s beyond the first %d records were not kept, and not compared",
			count(unprinted, "refused or changed batch", "refused or changed batches"), printsKept)
	}
}

// dropConfirmed leaves out the batches of which the client learned by a replay
// that was packed differently and held the same records.
func (q *inquiry) dropConfirmed() {
	q.doubts = slices.DeleteFunc(q.doubts, func(d *doubt) bool {
		return slices.ContainsFunc(d.replays, func(r *replay) bool { return q.same[r] })
	})
	for _, d := range q.doubts {
		q.byPlace[d.event.location()] = d
	}
}

// readBatch visits the records of the one batch at an offset.
func (q *inquiry) readBatch(ctx context.Context, at location, records int64, yield func(*visit) error) error {
	i, ok := slices.BinarySearchFunc(q.partitions, at.partition, func(b bounds, p int32) int { return cmp.Compare(b.partition, p) })
	if !ok {
		return nil // said already
	}
	from, to := max(at.offset, q.partitions[i].start), min(at.offset+records, q.partitions[i].end)
	return q.reader.each(ctx, at.partition, from, to, peekBytes, yield)
}

// VerdictOf draws the verdict on one topic; its Counts are 0 if no batch came
// for it. The topic's log is read back if there is anything to compare. Before, it
// waits up to a second for the batches that are being handled. If the topic was
// deleted it is the verdict drawn then; if it was made again, a note says whether
// the deleted one was not exactly once, and then neither is this. The error is
// that of ctx.
func (j *Journal) VerdictOf(ctx context.Context, name string) (TopicVerdict, error) {
	v, err := j.verdictOf(ctx, name, j.awaitHand(ctx, map[string]bool{name: true}))
	if err != nil {
		return v, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	last, bad := j.notes.deleted.lastOf(name)
	switch {
	case last != nil && v.blank():
		v = *last
	case bad:
		v.ExactlyOnce = false
		v.note("an earlier topic of this name, deleted by now, is not exactly once: see the verdict on all topics")
	}
	v.Limits = append(slices.Clone(v.Limits), j.notes.sayLimits()...)
	return v, nil
}

// blank says whether nothing came for the topic.
func (v *TopicVerdict) blank() bool { return v.Counts == Counts{} && v.Totals == Totals{} }

func (v *TopicVerdict) note(text string) {
	if v.Note != "" {
		text = v.Note + "; " + text
	}
	v.Note = text
}

// verdictOf draws the verdict on a topic that is not deleted, with the batches in
// hand up to a ticket.
func (j *Journal) verdictOf(ctx context.Context, name string, asked uint64) (TopicVerdict, error) {
	j.mu.Lock()
	t := j.notes.topics[name]
	if t == nil {
		t = &topic{name: name}
	}
	q := j.inquiryLocked(t)
	q.inHand = j.inHandLocked(name, asked)
	j.mu.Unlock()

	if err := q.draw(ctx); err != nil {
		return TopicVerdict{Topic: name}, err
	}
	v := &q.verdict
	v.Seed = j.options.Seed
	v.ExactlyOnce = v.Totals == Totals{}
	if !v.ExactlyOnce {
		v.addEvidence(j.Events())
	}
	return *v, nil
}

// Verdict draws the verdict on every topic that a batch came for, and on nothing
// as exactly once; topics that were deleted are among them, with the verdict that
// was drawn then. Before, it waits up to a second for the batches that are being
// handled. The error is that of ctx.
func (j *Journal) Verdict(ctx context.Context) (Verdict, error) {
	asked := j.awaitHand(ctx, nil)
	j.mu.Lock()
	v := Verdict{Seed: j.options.Seed, Identity: j.identity, ExactlyOnce: true, Topics: []TopicVerdict{}, Limits: j.notes.sayLimits()}
	names := j.hand.topics(asked)
	for name := range j.notes.topics {
		names[name] = true
	}
	j.mu.Unlock()

	for _, name := range slices.Sorted(maps.Keys(names)) {
		t, err := j.verdictOf(ctx, name, asked)
		if err != nil {
			return Verdict{}, err
		}
		v.ExactlyOnce = v.ExactlyOnce && t.ExactlyOnce
		v.Topics = append(v.Topics, t)
	}
	j.addDeleted(&v)
	return v, nil
}

// addDeleted adds the verdicts on topics that were deleted, also those that were
// deleted while v was drawn.
func (j *Journal) addDeleted(v *Verdict) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v.Topics = slices.DeleteFunc(v.Topics, func(t TopicVerdict) bool {
		deleted, _ := j.notes.deleted.lastOf(t.Topic)
		return deleted != nil && t.blank()
	})
	j.notes.deleted.addTo(v)
	slices.SortStableFunc(v.Topics, func(a, b TopicVerdict) int {
		switch byName := cmp.Compare(a.Topic, b.Topic); {
		case byName != 0 || a.Deleted == b.Deleted:
			return byName
		case a.Deleted:
			return -1
		}
		return 1
	})
}

// Topics lists the topics that there is a verdict on: those that batches came
// for, deleted ones included.
func (j *Journal) Topics() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	names := j.hand.topics(j.hand.last)
	for name := range j.notes.topics {
		names[name] = true
	}
	for i := range j.notes.deleted.kept {
		names[j.notes.deleted.kept[i].Topic] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// sayLimits says what could not be followed at all.
func (n *notes) sayLimits() (said []string) {
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if n.events.dropped > 0 {
		say("%s out of the ordinary beyond the first %d were counted and not kept", count(n.events.dropped, "event", "events"), n.events.most)
	}
	if f := n.limits.producersForgotten; f > 0 {
		say("%s beyond %d at a time were forgotten: a replay of theirs may count as a new batch", count(f, "producer", "producers"), producersKept)
	}
	switch f := n.plain.forgotten; {
	case f == 1:
		say("batches without a producer id: the oldest one is no longer recognised if it is sent again")
	case f > 1:
		say("batches without a producer id: the oldest %d are no longer recognised if they are sent again", f)
	}
	if u := n.limits.batchesUnfollowed; u > 0 {
		say("%s for partitions beyond the first %d were not followed", count(u, "batch", "batches"), partitionsKept)
	}
	if u := n.limits.unknownTopic; u > 0 {
		say("%s for a topic id that nobody knows were not followed", count(u, "batch", "batches"))
	}
	return said
}
