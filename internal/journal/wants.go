package journal

import "github.com/fencepostmq/fencepost/internal/producer"

// wants looks in the log for the records of batches that were refused. A record
// is found if one of these stands in the topic:
//   - its own sequence, with the same content;
//   - one with the same content and timestamp, as when a client sent it again,
//     or had sent it before, in another way;
//   - one with the same content that was written after the refusal, as when an
//     application sent it again;
//   - one with the same content in a batch of which the client did not know, as
//     when the refused one was such a copy.
//
// A record that the same producer wrote in the same epoch with another sequence
// is another record, unless the application sent it again after an error. Of a
// batch that holds equal records, as many have to be found; but a record that
// was refused twice is found with one, since applications try until they
// succeed.
type wants struct {
	refusals []*refusal // in time order
	records  []wantedRecord
	own      map[uint64]int // place in records, by what tells them apart
	exact    tallies        // of content and timestamp
	inDoubt  tallies        // of content, in batches in doubt
	content  map[uint64]*wanted
}

type wantedRecord struct {
	print
	writer  uint64 // a hash of producer and epoch, 0 without a producer id
	nth     int    // such content of its batch, from 0
	first   int32  // refusal that holds it
	last    int32  // refusal that holds it
	present bool   // its own sequence stands in the log
}

// wanted is what was seen of one content.
type wanted struct {
	most  int               // how many records of it one batch holds
	later map[int32][]int64 // the last offsets, by partition
}

// tallies counts records of the log by a print, all of them and those of a
// writer; only of prints that are wanted.
type tallies map[uint64]int

func (t tallies) want(print, writer uint64) {
	t[print] += 0
	t[mix(print, writer)] += 0
}

func (t tallies) see(print, writer uint64) {
	if _, ok := t[print]; !ok {
		return
	}
	t[print]++
	if own := mix(print, writer); writer != 0 {
		if _, ok := t[own]; ok {
			t[own]++
		}
	}
}

// foreign counts those that the writer did not write.
func (t tallies) foreign(print, writer uint64) int {
	if writer == 0 {
		return t[print]
	}
	return t[print] - t[mix(print, writer)]
}

func newWants(refusals []*refusal) wants {
	w := wants{
		refusals: refusals,
		own:      make(map[uint64]int),
		exact:    make(tallies),
		inDoubt:  make(tallies),
		content:  make(map[uint64]*wanted),
	}
	within := make(map[uint64]int) // records of one refusal by content
	for i, r := range refusals {
		clear(within)
		writer := writerOf(r.first.ProducerID, r.first.Epoch)
		for k, p := range r.prints {
			nth := within[p.content]
			key := ranked(p.dated, nth) // the nth of its content, without a sequence
			if writer != 0 {
				key = ownKey(p.content, writer, producer.Last(r.first.FirstSequence, int32(k)+1))
			}
			w.want(int32(i), wantedRecord{print: p, writer: writer, nth: nth}, key)
			within[p.content]++
		}
	}
	return w
}

// writerOf is a hash of a producer and its epoch.
func writerOf(producer int64, epoch int16) uint64 {
	if producer < 0 {
		return 0
	}
	return mix(uint64(producer), uint64(epoch)) | 1
}

// ownKey is a record with its sequence.
func ownKey(content, writer uint64, sequence int32) uint64 {
	return mix(mix(content, writer), uint64(sequence))
}

func (w *wants) want(refusal int32, r wantedRecord, key uint64) {
	if known, ok := w.own[key]; ok {
		w.records[known].last = refusal
		return
	}
	w.own[key] = len(w.records)
	r.first, r.last = refusal, refusal
	w.records = append(w.records, r)
	w.exact.want(r.dated, r.writer)
	w.inDoubt.want(r.content, r.writer)
	c := w.content[r.content]
	if c == nil {
		c = &wanted{later: make(map[int32][]int64)}
		w.content[r.content] = c
	}
	c.most = max(c.most, r.nth+1)
}

func (w *wants) empty() bool { return len(w.records) == 0 }

// visit looks at a record of the log, in a batch that may be in doubt.
func (w *wants) visit(content uint64, v *visit, d *doubt) {
	c := w.content[content]
	if c == nil {
		return
	}
	p := print{content: content, dated: dated(content, v.record.Created)}
	writer := writerOf(v.batch.ProducerID, v.batch.ProducerEpoch)
	if writer != 0 {
		if i, ok := w.own[ownKey(content, writer, v.sequence())]; ok {
			w.records[i].present = true
		}
	}
	w.exact.see(p.dated, writer)
	if d != nil {
		if d.toldError() {
			writer = 0 // the application may have sent it again
		}
		w.inDoubt.see(content, writer)
	}
	c.see(v.partition, v.record.Offset)
}

// see keeps the newest offsets, as many as can matter.
func (c *wanted) see(partition int32, offset int64) {
	seen := append(c.later[partition], offset)
	if len(seen) > 2*c.most {
		seen = seen[:copy(seen, seen[len(seen)-c.most:])]
	}
	c.later[partition] = seen
}

// after counts the records that were written after the partitions ended there.
func (c *wanted) after(ends map[int32]int64) (n int) {
	for partition, offsets := range c.later {
		for i := len(offsets) - 1; i >= 0 && offsets[i] >= ends[partition]; i-- {
			n++
		}
	}
	return n
}

func (w *wants) found(r *wantedRecord) bool {
	return r.present ||
		w.exact.foreign(r.dated, r.writer) > r.nth ||
		w.inDoubt.foreign(r.content, r.writer) > r.nth ||
		w.content[r.content].after(w.refusals[r.first].ends) > r.nth
}

// missing counts the records that are not in the log, each for the last refusal
// that holds it.
func (w *wants) missing() []int {
	left := make([]int, len(w.refusals))
	for i := range w.records {
		if r := &w.records[i]; !w.found(r) {
			left[r.last]++
		}
	}
	for i, r := range w.refusals {
		if r.unreadable {
			left[i] = int(max(r.records, 1))
		}
	}
	return left
}
