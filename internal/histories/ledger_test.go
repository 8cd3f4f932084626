package histories

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A ledger is what clients sent, were promised and saw. Anybody may use it.
type ledger struct {
	producers []*producer // of the plan, before anything runs

	mu    sync.Mutex
	sent  map[string]*sent    // by key
	acks  []ack               // in the order in which they came
	seen  map[position]string // keys of batches that readers saw, by base offset
	ends  map[int32]int64     // the highest end of a partition that anybody was told
	lows  map[int32]int64     // the highest start of a partition that anybody was told
	clock int64
	ops   []*operation
}

// A sent batch is one that a client began to send.
type sent struct {
	number    int // from 1, for the checker of linearizability
	partition int32
	records   []record
	by        writer
	sequence  int32
	client    string
}

// An ack is the promise that a batch stands at an offset.
type ack struct {
	*sent
	key      string
	base     int64
	careless bool
}

func newLedger() *ledger {
	return &ledger{
		sent: map[string]*sent{}, seen: map[position]string{},
		ends: map[int32]int64{}, lows: map[int32]int64{},
	}
}

// send notes a batch before it is sent.
func (l *ledger) send(key string, s sent) *sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.sent[key]; known != nil {
		return known
	}
	s.number = len(l.sent) + 1
	l.sent[key] = &s
	return &s
}

// promise notes an acknowledgement.
func (l *ledger) promise(a ack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks = append(l.acks, a)
	l.ends[a.partition] = max(l.ends[a.partition], a.base+int64(len(a.records)))
}

// known finds a batch that was sent, nil for one that never was.
func (l *ledger) known(key string) *sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent[key]
}

// bounds is where a partition begins and ends at least, from all that was told by
// now: whoever asks from now on may not be told less.
func (l *ledger) bounds(partition int32) (start, end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lows[partition], l.ends[partition]
}

// learn notes what somebody was told of a partition's ends; -1 is nothing.
func (l *ledger) learn(partition int32, start, end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lows[partition] = max(l.lows[partition], start)
	l.ends[partition] = max(l.ends[partition], end)
}

// see notes a batch that somebody read, and says whether another one was seen at
// its place before.
func (l *ledger) see(s stored) (same bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	place := at(s.partition, s.base)
	before, ok := l.seen[place]
	l.seen[place] = s.key()
	return !ok || before == s.key()
}

// look judges what one partition of a Fetch answer says: floor is where it ended
// at least when it was asked for, asked the offset. It gives the batches.
func (w *world) look(told *kmsg.FetchResponseTopicPartition, asked, floor int64) (all []stored) {
	if told.ErrorCode != 0 {
		return nil
	}
	n := told.Partition
	if told.HighWatermark < floor {
		w.add("partition %d: the high watermark went down to %d, after somebody was told %d", n, told.HighWatermark, floor)
	}
	w.ledger.learn(n, told.LogStartOffset, told.HighWatermark)
	next := asked
	for _, b := range batchesIn(n, told.RecordBatches) {
		first := len(all) == 0
		switch {
		case w.ledger.known(b.key()) == nil:
			w.add("partition %d offset %d: a reader got a batch that nobody sent", n, b.base)
		case b.base != next && !(first && b.base < next && b.end() > next):
			w.add("partition %d: a reader that wanted offset %d got a batch at %d", n, next, b.base)
		case b.end() > told.HighWatermark:
			w.add("partition %d: a reader got offset %d, and the high watermark is %d", n, b.end()-1, told.HighWatermark)
		}
		if !w.ledger.see(b) {
			w.add("partition %d offset %d: two readers got different batches", n, b.base)
		}
		all, next = append(all, b), b.end()
	}
	return all
}
