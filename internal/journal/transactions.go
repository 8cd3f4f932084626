package journal

import (
	"context"
	"sort"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// An ending is the marker of a transaction, as it stands in the log (KIP-98).
type ending struct {
	offset  int64
	aborted bool
}

// endings are the markers in a partition: of each producer, in the order of the log.
type endings map[int64][]ending

// of finds how the transaction ended that a producer's batch at this offset is part
// of; not known while it is open.
func (e endings) of(producerID, offset int64) (end ending, known bool) {
	all := e[producerID]
	i := sort.Search(len(all), func(i int) bool { return all[i].offset > offset })
	if i == len(all) {
		return ending{}, false
	}
	return all[i], true
}

// aborted says whether a batch is part of a transaction that was aborted: readers
// of committed records do not see it.
func (e endings) aborted(b *kmsg.RecordBatch) bool {
	if !isTransactional(b) {
		return false
	}
	end, known := e.of(b.ProducerID, b.FirstOffset)
	return known && end.aborted
}

// isTransactional says whether a batch is part of a transaction. The bit without a
// producer means nothing.
func isTransactional(b *kmsg.RecordBatch) bool {
	return b.ProducerID >= 0 && wire.IsTransactional(b.Attributes)
}

// learnEndings reads the markers of all partitions, and counts the records of
// transactions that were aborted and of those that are open.
func (q *inquiry) learnEndings(ctx context.Context) error {
	if !q.transactional {
		return nil
	}
	for _, b := range q.partitions {
		found := make(endings)
		open := make(map[int64]int64) // records, by producer
		err := q.reader.eachBatch(ctx, b.partition, b.start, b.end, func(batch *kmsg.RecordBatch, raw []byte) error {
			switch id := batch.ProducerID; {
			case batch.Attributes&controlBatch != 0:
				end := ending{batch.FirstOffset, abortsIn(raw)}
				if end.aborted {
					q.verdict.Aborted += uint64(open[id])
				}
				found[id] = append(found[id], end)
				delete(open, id)
			case isTransactional(batch):
				open[id] += int64(batch.NumRecords)
			}
			return nil
		})
		if err != nil {
			if err := q.unreadable(err, true); err != nil {
				return err
			}
		}
		for _, records := range open {
			q.verdict.Open += uint64(records)
		}
		q.endings[b.partition] = found
	}
	return nil
}

// abortsIn says whether a control batch is the marker of an aborted transaction.
func abortsIn(raw []byte) (aborts bool) {
	wire.EachRecord(raw, wire.MaxDecompressed, func(r wire.Record) error { //nolint:errcheck // it is the broker's own
		var key kmsg.ControlRecordKey
		aborts = key.ReadFrom(r.Key) == nil && key.Type == kmsg.ControlRecordKeyTypeAbort
		return nil
	})
	return aborts
}
