package log

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// A model is a log that is never clever: every batch that ever came, walked from
// the first.
type model struct {
	start   int64
	batches []modelBatch
}

type modelBatch struct {
	bytes []byte
	base  int64
	meta  Meta
}

func (b modelBatch) next() int64 { return b.base + int64(b.meta.Records) }

func (m *model) end() int64 {
	var end int64
	for _, b := range m.batches {
		end += int64(b.meta.Records)
	}
	return end
}

func (m *model) append(batch []byte, leaderEpoch int32, meta Meta) int64 {
	base := m.end()
	m.batches = append(m.batches, modelBatch{placed(batch, base, leaderEpoch), base, meta})
	return base
}

// from is the batches that hold offset or a later one.
func (m *model) from(offset int64) []modelBatch {
	for i, b := range m.batches {
		if b.next() > offset {
			return m.batches[i:]
		}
	}
	return nil
}

func (m *model) atOrAfter(timestamp int64) []byte {
	for _, b := range m.from(m.start) {
		if b.meta.MaxTimestamp >= timestamp {
			return b.bytes
		}
	}
	return nil
}

func (m *model) maxTimestamp() (timestamp, offset int64, ok bool) {
	for _, b := range m.batches {
		if !ok || b.meta.MaxTimestamp > timestamp {
			timestamp, offset, ok = b.meta.MaxTimestamp, b.base+int64(b.meta.MaxTimestampDelta), true
		}
	}
	return timestamp, offset, ok
}

func (m *model) size() (size int64) {
	for _, b := range m.from(m.start) {
		size += int64(len(b.bytes))
	}
	return size
}

// A pair is a log and its model, brought through the same steps. read keeps what
// the log gave out and a copy of what it was then.
type pair struct {
	log   Log
	model model
	read  [][2][]byte
}

func (p *pair) append(t *rapid.T) {
	records := rapid.Int32Range(1, 6).Draw(t, "records")
	meta := Meta{
		Records:           records,
		MaxTimestamp:      rapid.Int64Range(-1, 30).Draw(t, "timestamp"),
		MaxTimestampDelta: rapid.Int32Range(0, records-1).Draw(t, "delta"),
	}
	size := rapid.OneOf(rapid.IntRange(61, 200), rapid.IntRange(61, 3000)).Draw(t, "size")
	epoch := rapid.Int32Range(0, 3).Draw(t, "epoch")
	batch := newBatch(meta.Records, meta.MaxTimestamp, size)
	want, add := p.model.append(batch, epoch, meta), p.log.Append
	if rapid.Bool().Draw(t, "adopted") {
		add = p.log.Adopt
	}
	if got := add(batch, epoch, meta); got != want {
		t.Fatalf("base offset %d instead of %d", got, want)
	}
}

func (p *pair) offset(t *rapid.T) int64 {
	return rapid.Int64Range(-2, p.model.end()+2).Draw(t, "offset")
}

func (p *pair) readOnce(t *rapid.T) {
	offset, maxBytes := p.offset(t), rapid.IntRange(-1, 4000).Draw(t, "max bytes")
	got, err := p.log.Read(offset, maxBytes)
	if offset < p.model.start || offset > p.model.end() {
		if got != nil || !errors.Is(err, ErrOutOfRange) {
			t.Fatalf("%d bytes, error %v, instead of out of range", len(got), err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if msg := p.model.judge(got, offset, maxBytes); msg != "" {
		t.Fatalf("read at %d of %d: %s", offset, maxBytes, msg)
	}
	p.read = append(p.read, [2][]byte{got, bytes.Clone(got)})
}

// judge says what is wrong with bytes read. The model does not know where pieces
// end: it lets a read stop behind any whole batch.
func (m *model) judge(got []byte, offset int64, maxBytes int) string {
	batches := m.from(offset)
	if len(batches) == 0 {
		if got != nil {
			return fmt.Sprintf("%d bytes at the end", len(got))
		}
		return ""
	}
	var all []byte
	whole := false // got ends where a batch ends
	for _, b := range batches {
		all = append(all, b.bytes...)
		whole = whole || len(got) == len(all)
	}
	first := len(batches[0].bytes)
	full := max(first, min(maxBytes, len(all)))
	switch {
	case len(got) < first:
		return fmt.Sprintf("%d bytes where the first batch has %d", len(got), first)
	case len(got) > full:
		return fmt.Sprintf("%d bytes where %d are to be had", len(got), full)
	case len(got) < full && !whole:
		return fmt.Sprintf("cut at %d instead of %d", len(got), full)
	case !bytes.Equal(got, all[:len(got)]):
		return "not what was appended"
	}
	return ""
}

// readAll goes from start to end as a consumer does.
func (p *pair) readAll(t *rapid.T) {
	for offset := p.model.start; offset < p.model.end(); {
		got, err := p.log.Read(offset, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if msg := p.model.judge(got, offset, 1<<20); msg != "" {
			t.Fatalf("read at %d: %s", offset, msg)
		}
		for _, b := range p.model.from(offset) {
			if len(got) == 0 {
				break
			}
			got, offset = got[len(b.bytes):], b.next()
		}
	}
}

func (p *pair) trim(t *rapid.T) {
	offset := p.offset(t)
	err := p.log.Trim(offset)
	if out := offset < 0 || offset > p.model.end(); errors.Is(err, ErrOutOfRange) != out {
		t.Fatalf("trim to %d of %d: error %v", offset, p.model.end(), err)
	} else if !out {
		p.model.start = max(p.model.start, offset)
	}
}

// trimToSize and trimBefore are the model's: it drops batch after batch.
func (p *pair) trimToSize(t *rapid.T) {
	keep := rapid.Int64Range(0, 4000).Draw(t, "keep")
	p.log.TrimToSize(keep)
	m := &p.model
	for _, b := range m.from(m.start) {
		if m.size()-int64(len(b.bytes)) < keep {
			break
		}
		m.start = b.next()
	}
}

func (p *pair) trimBefore(t *rapid.T) {
	timestamp := rapid.Int64Range(-2, 32).Draw(t, "timestamp")
	p.log.TrimBefore(timestamp)
	m := &p.model
	for _, b := range m.from(m.start) {
		if b.meta.MaxTimestamp < 0 || b.meta.MaxTimestamp >= timestamp {
			break
		}
		m.start = b.next()
	}
}

func (p *pair) reuse(t *rapid.T) { p.log.Reuse(rapid.Bool().Draw(t, "reuse")) }

func (p *pair) batch(t *rapid.T) {
	offset := p.offset(t)
	var want []byte
	if b := p.model.from(offset); len(b) > 0 && offset >= p.model.start {
		want = b[0].bytes
	}
	if got := p.log.Batch(offset); !bytes.Equal(got, want) {
		t.Fatalf("batch at %d: %d bytes instead of %d", offset, len(got), len(want))
	}
}

func (p *pair) atOrAfter(t *rapid.T) {
	timestamp := rapid.Int64Range(-2, 32).Draw(t, "timestamp")
	if got, want := p.log.AtOrAfter(timestamp), p.model.atOrAfter(timestamp); !bytes.Equal(got, want) {
		t.Fatalf("at or after %d: % x\ninstead of % x", timestamp, got, want)
	}
}

func (p *pair) check(t *rapid.T) {
	l, m := &p.log, &p.model
	if l.Start() != m.start || l.End() != m.end() || l.Size() != m.size() {
		t.Fatalf("from %d to %d, %d bytes, instead of %d to %d, %d bytes", l.Start(), l.End(), l.Size(), m.start, m.end(), m.size())
	}
	if l.Resident() < l.Size() {
		t.Fatalf("resident %d, size %d", l.Resident(), l.Size())
	}
	ts, offset, ok := l.MaxTimestamp()
	wantTS, wantOffset, wantOK := m.maxTimestamp()
	if ok != wantOK || ok && (ts != wantTS || offset != wantOffset) {
		t.Fatalf("max timestamp %d at %d, %t, instead of %d at %d, %t", ts, offset, ok, wantTS, wantOffset, wantOK)
	}
	for _, r := range p.read {
		if !bytes.Equal(r[0], r[1]) {
			t.Fatalf("bytes that were read have changed")
		}
	}
	checkInvariants(t, l)
}

func TestLog_DoesWhatTheModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &pair{log: Log{layout: layout{
			smallest: rapid.SampledFrom([]int{64, 256, 1024}).Draw(t, "smallest"),
			doubling: 1024,
			largest:  2048,
			between:  rapid.SampledFrom([]int{0, 128, 2048}).Draw(t, "between"),
			spacing:  rapid.SampledFrom([]int{1, 150, 700}).Draw(t, "spacing"),
		}}}
		t.Repeat(map[string]func(*rapid.T){
			"append":       p.append,
			"append again": p.append,
			"read":         p.readOnce,
			"reuse":        p.reuse,
			"read all":     p.readAll,
			"trim":         p.trim,
			"trim to size": p.trimToSize,
			"trim before":  p.trimBefore,
			"batch":        p.batch,
			"at or after":  p.atOrAfter,
			"":             p.check,
		})
	})
}
