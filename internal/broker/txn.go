package broker

import (
	"errors"
	"sync"
	"time"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/zap"
)

// transactions is the coordinator of every transactional id.
//
// Its lock is held while a transactional batch is judged and written, and while
// markers are: so no batch can come behind the marker that ends its transaction
// and stay open for ever (the hanging transactions of KIP-890). Only producers
// with a transactional id ever wait for it.
type transactions struct {
	mu     sync.Mutex
	table  *txn.Table[member]
	timers map[string]*time.Timer // of open transactions, by transactional id
	bytes  int                    // that the ids take, see maxTransactionalBytes
	groups *group.Coordinator
	memory *memory // of the whole broker
	log    *zap.Logger
}

// A member is a partition that is in a transaction. It stays itself when its
// topic is deleted and made again.
type member struct {
	topic     string
	number    int32
	partition *partition // nil for offsets, see offsetsOf
}

func newTransactions(newID func() int64, groups *group.Coordinator, m *memory, log *zap.Logger) *transactions {
	return &transactions{groups: groups, memory: m, log: log, table: txn.NewTable[member](newID), timers: map[string]*time.Timer{}}
}

// init gives out the producer of a transactional id; see txn.Table.
func (t *transactions) init(id string, claim *txn.Producer, timeout int32) (txn.Producer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.table.Lookup(id) == nil && !t.roomLocked(id) {
		return txn.Producer{}, errTooManyIDs
	}
	p, ending, err := t.table.Init(id, claim, timeout)
	t.finishLocked(id, ending)
	return p, err
}

var errTooManyIDs = errors.New("too many transactional ids are remembered")

// roomLocked takes room for one more transactional id, if there is.
func (t *transactions) roomLocked(id string) bool {
	size := len(id) + transactionalOverhead
	if t.bytes+size > maxTransactionalBytes {
		t.log.Warn("too many transactional ids are remembered: InitProducerId with a new one is refused with POLICY_VIOLATION",
			zap.Int("bytes", t.bytes))
		return false
	}
	t.bytes += size
	return true
}

// add puts partitions into a transaction.
func (t *transactions) add(id string, p txn.Producer, members []member) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addLocked(id, p, members...)
}

func (t *transactions) addLocked(id string, p txn.Producer, members ...member) error {
	missing, err := t.table.Missing(id, p, members...)
	if err != nil {
		return err
	}
	if err := t.memory.takeMembers(len(missing)); err != nil {
		return err
	}
	if err := t.table.Add(id, p, time.Now().UnixMilli(), missing...); err != nil {
		return err
	}
	if e := t.table.Lookup(id); t.timers[id] == nil {
		started := e.Started
		t.timers[id] = time.AfterFunc(time.Duration(e.Timeout)*time.Millisecond, func() { t.expire(id, p, started) })
	}
	return nil
}

// verify says why a producer may not write into partitions, nil if it may.
func (t *transactions) verify(id string, p txn.Producer, members []member) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range members {
		if err := t.table.Verify(id, p, m); err != nil {
			return err
		}
	}
	return nil
}

// end commits or aborts; its markers stand in the logs when it returns.
func (t *transactions) end(id string, p txn.Producer, commit, bump bool) (txn.Producer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ending, err := t.table.End(id, p, commit, bump)
	t.finishLocked(id, ending)
	return p, err
}

// expire aborts a transaction that was open for as long as its client allowed.
func (t *transactions) expire(id string, p txn.Producer, started int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finishLocked(id, t.table.Expire(id, p, started))
}

// finishLocked writes the markers of a transaction that ends.
func (t *transactions) finishLocked(id string, ending *txn.Ending[member]) {
	if ending == nil {
		return
	}
	if timer := t.timers[id]; timer != nil {
		timer.Stop()
		delete(t.timers, id)
	}
	offsets := false
	for _, m := range ending.Partitions {
		if m.partition == nil {
			offsets = true
			t.memory.giveMember()
			continue
		}
		m.partition.mark(ending.Producer, ending.Commit)
	}
	if offsets { // of all groups at once
		t.groups.EndPending(ending.Producer.ID, ending.Commit)
	}
}

// txnError is how a transactional id's refusal is told to a request of the
// transaction APIs. PRODUCER_FENCED came later than INVALID_PRODUCER_EPOCH.
func txnError(err error, knowsFenced bool) *kerr.Error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooManyIDs), errors.Is(err, errTooManyMembers):
		return kerr.PolicyViolation
	case errors.Is(err, memoryFull):
		return kerr.KafkaStorageError
	case errors.Is(err, txn.ErrUnknown):
		return kerr.InvalidProducerIDMapping
	case errors.Is(err, txn.ErrFenced) && knowsFenced:
		return kerr.ProducerFenced
	case errors.Is(err, txn.ErrFenced):
		return kerr.InvalidProducerEpoch
	case errors.Is(err, txn.ErrNotAdded):
		return kerr.TransactionAbortable
	}
	return kerr.InvalidTxnState
}
