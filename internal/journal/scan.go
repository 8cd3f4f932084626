package journal

import (
	"context"
	"strings"
)

// A scan reads a whole topic once and looks for records that stand there twice
// and for those of batches that were refused.
type scan struct {
	*inquiry
	groups     groups
	wants      wants
	identities *identities // nil without an identity

	// The batch that is being read.
	at    location
	doubt *doubt         // it is in doubt
	ranks map[uint64]int // records by content seen in it, of those that are looked for
}

func newScan(q *inquiry) *scan {
	s := &scan{inquiry: q, groups: newGroups(), wants: newWants(q.refusals), ranks: make(map[uint64]int)}
	if q.identity != IdentityNone {
		s.identities = newIdentities(q)
	}
	for _, d := range q.doubts {
		for _, offset := range d.again {
			s.groups.again[location{d.event.Partition, offset}] = true
		}
	}
	return s
}

// learnDoubts reads the batches in doubt, whose records are then looked for in
// the whole topic. With an identity that is not needed.
func (s *scan) learnDoubts(ctx context.Context) error {
	if s.identities != nil {
		return nil
	}
	left, beyond := s.room.doubtful, uint64(0)
	for _, d := range s.doubts {
		records := int64(d.event.Records)
		if records > left {
			beyond += uint64(records)
			continue
		}
		left -= records
		err := s.readBatch(ctx, d.event.location(), records, func(v *visit) error {
			s.turnTo(v)
			s.groups.learn(s.rankedContent(s.printer.content(&v.record)), v.record.Created)
			return nil
		})
		if err != nil {
			if err := s.unreadable(err, true); err != nil {
				return err
			}
		}
	}
	if beyond > 0 {
		s.limit("%s of batches without a certain acknowledgement beyond the first %d were not looked for twice",
			count(beyond, "record", "records"), s.room.doubtful)
	}
	s.at = location{offset: -1}
	return nil
}

// run reads the topic from end to end, if anything is looked for in it.
func (s *scan) run(ctx context.Context) error {
	visit := s.visit
	switch {
	case s.identities != nil:
		visit = s.visitIdentity
	case s.groups.empty() && s.wants.empty():
		return nil
	}
	if err := s.readAll(ctx, visit); err != nil || s.identities == nil {
		return err
	}
	for s.identities.nextPass() {
		if err := s.readAll(ctx, s.identities.visit); err != nil {
			return err
		}
	}
	return nil
}

// readAll visits every record of the topic but those of aborted transactions: an
// application writes these again, and nobody reads them twice.
func (s *scan) readAll(ctx context.Context, yield func(*visit) error) error {
	for _, b := range s.partitions {
		ends := s.endings[b.partition]
		err := s.reader.each(ctx, b.partition, b.start, b.end, scanBytes, func(v *visit) error {
			if ends.aborted(&v.batch) {
				return nil
			}
			return yield(v)
		})
		if err != nil {
			if err := s.unreadable(err, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scan) visit(v *visit) error {
	s.turnTo(v)
	content := s.printer.content(&v.record)
	if s.groups.has(content) {
		s.groups.add(s.rankedContent(content), s.placeOf(v))
	}
	if !s.wants.empty() {
		s.wants.visit(content, v, s.doubt)
	}
	return nil
}

func (s *scan) visitIdentity(v *visit) error {
	if !s.wants.empty() {
		s.turnTo(v)
		s.wants.visit(s.printer.content(&v.record), v, s.doubt)
	}
	return s.identities.visit(v)
}

// turnTo notes where a new batch begins.
func (s *scan) turnTo(v *visit) {
	at := location{v.partition, v.batch.FirstOffset}
	if at == s.at {
		return
	}
	s.at, s.doubt = at, s.byPlace[at]
	if len(s.ranks) > 0 {
		clear(s.ranks)
	}
}

// rankedContent is the print of a record by content and by how many such records
// the batch held before it.
func (s *scan) rankedContent(content uint64) uint64 {
	nth := s.ranks[content]
	s.ranks[content] = nth + 1
	return ranked(content, nth)
}

// A place is one record in the log.
type place struct {
	location
	base     int64 // of its batch
	producer int64
	epoch    int16
	sequence int32  // of no meaning without a producer id
	doubt    *doubt // its batch is in doubt
	time     int64
}

func (s *scan) placeOf(v *visit) place {
	return place{
		location: location{v.partition, v.record.Offset},
		base:     v.batch.FirstOffset,
		producer: v.batch.ProducerID,
		epoch:    v.batch.ProducerEpoch,
		sequence: v.sequence(),
		doubt:    s.doubt,
		time:     v.record.Created,
	}
}

// duplicates lists the records that stand in the topic more than once.
func (s *scan) duplicates(ctx context.Context) ([]copies, error) {
	if s.identities == nil {
		return s.groups.judge(), nil
	}
	s.sayIdentities()
	found := s.identities.found
	if len(found) == 0 {
		return nil, nil
	}
	s.at = location{offset: -1}
	err := s.readAll(ctx, func(v *visit) error {
		if to := s.identities.details[location{v.partition, v.record.Offset}]; to != nil {
			s.turnTo(v)
			*to = s.placeOf(v)
		}
		return nil
	})
	for i := range found {
		found[i].explain()
		if s.counts.AcksNotDue > 0 { // which ones is not known any more
			found[i].why = strings.TrimSuffix(found[i].why, acknowledgedEachTime)
		}
	}
	return found, err
}

func (s *scan) sayIdentities() {
	v := &s.verdict
	if n := s.identities.without; n > 0 {
		have := "have"
		if n == 1 {
			have = "has"
		}
		v.WithoutIdentity = n
		v.Note = count(n, "record", "records") + " " + have + " no " + s.identity.lack()
	}
	if n := s.identities.beyond; n > 0 {
		v.Totals.Duplicated += int(n)
		s.limit("%s that stand more than once beyond the first %d were counted and not kept", count(n, "identity", "identities"), s.room.repeated)
	}
}
