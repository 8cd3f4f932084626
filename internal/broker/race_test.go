package broker

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// How much the tests below do.
const (
	raceProducers = 6
	raceBatches   = 150 // of each producer
	raceReaders   = 2
	raceTrims     = 200
)

// TestRace_LogAndProducersAgree appends, replays, reads and trims one partition
// all at once, and looks afterwards whether each batch that the producers'
// memory names stands in the log where it says.
func TestRace_LogAndProducersAgree(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	n, c := startWith(t, "there")
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	for id := range int64(raceProducers) {
		w := writerOf(n, id, seed)
		writing.Go(w.run)
	}
	for range raceReaders {
		c := n.dial()
		reading.Go(func() { c.follow(t, &done) })
	}
	trimmer := n.dial()
	writing.Go(func() { trimmer.trimAtRandom(t, rand.New(rand.NewPCG(seed, 99))) })
	writing.Wait()
	done.Store(true)
	reading.Wait()

	wantAgreement(t, n.at("there", 0))
	for id := range int64(raceProducers) { // the same through the protocol
		last := int32(raceBatches-1) * 2
		offset := c.store("there", 0, by(id, 0, last, 2))
		if offset < c.list("there", 0, earliestOffset).Offset {
			continue // trimmed
		}
		whole, _ := batchesIn(c.fetch("there", 0, offset).RecordBatches)
		want(t, fmt.Sprint("the batch that producer ", id, " sent last"), whole[0], stored(by(id, 0, last, 2).bytes(), offset))
	}
}

// A racer is a producer that sends batches of two records, some of them twice
// and some out of order.
type racer struct {
	*client
	id     int64
	random *rand.Rand
}

func writerOf(n *node, id int64, seed uint64) *racer {
	return &racer{client: n.dial(), id: id, random: rand.New(rand.NewPCG(seed, uint64(id)))}
}

func (r *racer) run() {
	var offsets []int64
	for i := range raceBatches {
		told, ok := r.tryProduce("there", 0, by(r.id, 0, int32(2*i), 2).bytes())
		if !ok || told.ErrorCode != 0 {
			r.t.Errorf("producer %d: batch %d was told %s", r.id, i, codeName(told.ErrorCode))
			return
		}
		offsets = append(offsets, told.BaseOffset)
		switch r.random.IntN(3) {
		case 0:
			back := r.random.IntN(min(5, i+1))
			told, _ := r.tryProduce("there", 0, by(r.id, 0, int32(2*(i-back)), 2).bytes())
			if told.BaseOffset != offsets[i-back] {
				r.t.Errorf("producer %d: batch %d was stored at %d and replayed at %d", r.id, i-back, offsets[i-back], told.BaseOffset)
			}
		case 1:
			told, _ := r.tryProduce("there", 0, by(r.id, 0, int32(2*i+4), 2).bytes())
			if codeName(told.ErrorCode) != ooo {
				r.t.Errorf("producer %d: a gap was told %s", r.id, codeName(told.ErrorCode))
			}
		}
	}
}

// follow reads the partition from its start to its end again and again. Every
// batch has to be sound and to follow the one before.
func (c *client) follow(t *testing.T, done *atomic.Bool) {
	offset := int64(0)
	for last := false; ; {
		resp, err := c.try(c.fetching(fetchVersion, from("there", 0, offset)))
		if err != nil {
			t.Error(err)
			return
		}
		told := fetchedFrom(resp)[0]
		whole, rest := batchesIn(told.RecordBatches)
		switch {
		case codeName(told.ErrorCode) == "OFFSET_OUT_OF_RANGE":
			offset = c.earliest(t)
			continue
		case told.ErrorCode != 0 || len(rest) > 0:
			t.Errorf("reading offset %d: %s, and %d bytes left over", offset, codeName(told.ErrorCode), len(rest))
			return
		case len(whole) == 0 && last:
			return
		}
		last = done.Load()
		for _, b := range whole {
			if base := int64(binary.BigEndian.Uint64(b)); base > offset || base+2 <= offset {
				t.Errorf("a batch with base offset %d came where %d was asked for", base, offset)
				return
			} else {
				offset = base + 2
			}
			if crc32.Checksum(b[coveredAt:], castagnoli) != binary.BigEndian.Uint32(b[crcAt:]) {
				t.Errorf("the batch before offset %d is not sound", offset)
			}
		}
	}
}

func (c *client) earliest(t *testing.T) int64 {
	resp, err := c.try(listing(5, "there", 0, earliestOffset))
	if err != nil {
		t.Error(err)
		return 0
	}
	return resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset
}

// trimAtRandom deletes records up to offsets that may be beyond the end or below
// the start. The start must never go down.
func (c *client) trimAtRandom(t *testing.T, random *rand.Rand) {
	low := int64(0)
	for range raceTrims {
		resp, err := c.try(trimming(2, "there", 0, random.Int64N(2*raceProducers*raceBatches)))
		if err != nil {
			t.Error(err)
			return
		}
		told := resp.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
		switch {
		case told.ErrorCode != 0 && codeName(told.ErrorCode) != "OFFSET_OUT_OF_RANGE":
			t.Errorf("a trim was told %s", codeName(told.ErrorCode))
		case told.ErrorCode == 0 && told.LowWatermark < low:
			t.Errorf("the start went from %d to %d", low, told.LowWatermark)
		case told.ErrorCode == 0:
			low = told.LowWatermark
		}
	}
}

// wantAgreement looks at a partition from inside: the newest batch that it
// remembers of each producer is the batch in the log at that offset.
func wantAgreement(t *testing.T, p *partition) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	want(t, "producers", p.producers.Len(), raceProducers)
	want(t, "end", p.log.End(), 2*raceProducers*raceBatches)
	for info := range p.producers.All() {
		want(t, "last sequence", info.LastSequence, 2*raceBatches-1)
		raw := p.log.Batch(info.BaseOffset)
		if raw == nil && info.LastOffset < p.log.Start() {
			continue // trimmed
		}
		h, bad := wire.ParseBatchHeader(raw)
		if bad != nil {
			t.Errorf("producer %d: there is no batch at offset %d: %v", info.ProducerID, info.BaseOffset, bad)
			continue
		}
		want(t, "producer, epoch, sequence and base offset of the batch in the log",
			[]int64{h.ProducerID, int64(h.ProducerEpoch), int64(h.FirstSequence), h.FirstOffset},
			[]int64{info.ProducerID, int64(info.Epoch), int64(info.LastSequence) - 1, info.BaseOffset})
	}
}

// Topics come and go while producers write: a batch is either in the topic that
// there is, or refused.
func TestRace_TopicsComeAndGo(t *testing.T) {
	n := start(t, Options{Memory: 1 << 30})
	n.make("there", 1, nil)
	var writing sync.WaitGroup
	var done atomic.Bool
	for range 3 {
		c := n.dial()
		writing.Go(func() {
			for !done.Load() {
				told, ok := c.tryProduce("there", 0, plain(1).bytes())
				if !ok {
					return
				}
				if name := codeName(told.ErrorCode); name != "NONE" && name != "UNKNOWN_TOPIC_OR_PARTITION" {
					t.Errorf("a batch was told %s", name)
				}
			}
		})
	}
	c := n.dial()
	for range 100 {
		c.ask(deleting(6, "there"))
		c.create(newTopic("there", 1))
	}
	done.Store(true)
	writing.Wait()
	want(t, "bytes in use", n.memory.used.Load(), n.at("there", 0).log.Size())
	c.ask(deleting(6, "there"))
	want(t, "bytes in use when all is gone", n.memory.used.Load(), 0)
	want(t, "partitions in all", n.partitions, 0)
}
