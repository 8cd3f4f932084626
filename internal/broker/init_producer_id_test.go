package broker

import (
	"fmt"
	"sync"
	"testing"

	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// identifying asks for a producer id, with a transactional id unless it is nil.
func identifying(version int16, txn *string) *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = version, txn, 60_000
	return req
}

// An identified is what InitProducerId tells, or what a client claims to be.
type identified struct {
	Code  string
	ID    int64
	Epoch int16
}

// identify asks for the producer id of a transactional id, "" for none, with a
// claim to be a producer already unless that is zero.
func (c *client) identify(version int16, txn string, claim identified) identified {
	c.t.Helper()
	req := identifying(version, nil)
	if txn != "" {
		req.TransactionalID = &txn
	}
	if claim != (identified{}) {
		req.ProducerID, req.ProducerEpoch = claim.ID, claim.Epoch
	}
	resp := c.ask(req).(*kmsg.InitProducerIDResponse)
	return identified{codeName(resp.ErrorCode), resp.ProducerID, resp.ProducerEpoch}
}

// latestInit is the version in which tests ask unless the version matters.
const latestInit = 5

// unclaimed is no claim to be anybody.
var unclaimed identified

func TestInitProducerID_WithoutATransactionalIDIsAlwaysNew(t *testing.T) {
	everyVersion(t, kmsg.InitProducerID, func(t *testing.T, version int16) {
		c := start(t, Options{}).dial()
		for i := range int64(3) {
			want(t, "told", c.identify(version, "", unclaimed), identified{"NONE", firstProducerID + i, 0})
		}
		// kafka-python and platformatic name an id and an epoch; Kafka ignores them.
		want(t, "with a claim", c.identify(version, "", identified{ID: firstProducerID, Epoch: 4}), identified{"NONE", firstProducerID + 3, 0})
		want(t, "claiming 0, 0", c.identify(version, "", identified{Code: "x"}), identified{"NONE", firstProducerID + 4, 0})
	})
}

func TestInitProducerID_SameTransactionalIDSameProducerNextEpoch(t *testing.T) {
	everyVersion(t, kmsg.InitProducerID, func(t *testing.T, version int16) {
		c := start(t, Options{}).dial()
		for epoch := range int16(3) {
			want(t, "told", c.identify(version, "tx", unclaimed), identified{"NONE", firstProducerID, epoch})
		}
		want(t, "another id", c.identify(version, "tx2", unclaimed), identified{"NONE", firstProducerID + 1, 0})
		want(t, "the first again", c.identify(version, "tx", unclaimed), identified{"NONE", firstProducerID, 3})
	})
}

func TestInitProducerID_Refuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		txn     string
		timeout int32
		want    string
	}{
		{"the empty transactional id", "", 60_000, "INVALID_REQUEST"},
		{"the empty transactional id and no timeout", "", 0, "INVALID_REQUEST"},
		{"a timeout of 0", "tx", 0, "INVALID_TRANSACTION_TIMEOUT"},
		{"a timeout of -1", "tx", -1, "INVALID_TRANSACTION_TIMEOUT"},
		{"a timeout over fifteen minutes", "tx", 900_001, "INVALID_TRANSACTION_TIMEOUT"},
		{"not a timeout of 1", "tx", 1, "NONE"},
		{"not a timeout of fifteen minutes", "tx", 900_000, "NONE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everyVersion(t, kmsg.InitProducerID, func(t *testing.T, version int16) {
				n := start(t, Options{})
				c := n.dial()
				req := identifying(version, &tt.txn)
				req.TransactionTimeoutMillis = tt.timeout
				resp := c.ask(req).(*kmsg.InitProducerIDResponse)
				wantCode(t, resp.ErrorCode, tt.want)
				if tt.want == "NONE" {
					return
				}
				want(t, "id and epoch", []int64{resp.ProducerID, int64(resp.ProducerEpoch)}, []int64{-1, -1})
				want(t, "a refusal takes no id", c.identify(version, "", unclaimed).ID, firstProducerID)
				want(t, "nor leaves one behind", len(n.txns.table.IDs()), 0)
			})
		})
	}
}

func TestInitProducerID_TimeoutMattersOnlyWithATransactionalID(t *testing.T) {
	c := start(t, Options{}).dial()
	req := identifying(latestInit, nil)
	req.TransactionTimeoutMillis = -1
	wantCode(t, c.ask(req).(*kmsg.InitProducerIDResponse).ErrorCode, "NONE")
}

// KIP-360: a producer that knows who it is asks for its own next epoch.
func TestInitProducerID_Claims(t *testing.T) {
	const id = firstProducerID
	for _, tt := range []struct {
		name   string
		claims []identified // one request after another, after one without a claim
		want   identified   // the last answer
	}{
		{"the present gets the next epoch", []identified{{ID: id, Epoch: 0}}, identified{"NONE", id, 1}},
		{"the one before the last bump is a retry", []identified{{ID: id, Epoch: 0}, {ID: id, Epoch: 0}}, identified{"NONE", id, 1}},
		{"a retry may come again", []identified{{ID: id, Epoch: 0}, {ID: id, Epoch: 0}, {ID: id, Epoch: 0}}, identified{"NONE", id, 1}},
		{"after a retry the present is bumped", []identified{{ID: id, Epoch: 0}, {ID: id, Epoch: 0}, {ID: id, Epoch: 1}}, identified{"NONE", id, 2}},
		{"the one before the bump before is fenced", []identified{{ID: id, Epoch: 0}, {ID: id, Epoch: 1}, {ID: id, Epoch: 0}}, identified{"PRODUCER_FENCED", -1, -1}},
		{"a bump without a claim has no retry", []identified{unclaimed, {ID: id, Epoch: 0}}, identified{"PRODUCER_FENCED", -1, -1}},
		{"a claim is forgotten by a bump without one", []identified{{ID: id, Epoch: 0}, unclaimed, {ID: id, Epoch: 0}}, identified{"PRODUCER_FENCED", -1, -1}},
		{"a later epoch is fenced", []identified{{ID: id, Epoch: 1}}, identified{"PRODUCER_FENCED", -1, -1}},
		{"another id is fenced", []identified{{ID: id + 1, Epoch: 0}}, identified{"PRODUCER_FENCED", -1, -1}},
		{"a refused claim changes nothing", []identified{{ID: id, Epoch: 7}, {ID: id, Epoch: 0}}, identified{"NONE", id, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, Options{}).dial()
			c.identify(latestInit, "tx", unclaimed)
			var told identified
			for _, claim := range tt.claims {
				told = c.identify(latestInit, "tx", claim)
			}
			want(t, "told", told, tt.want)
		})
	}
}

func TestInitProducerID_AClaimIsIgnoredWhereTheTransactionalIDIsNew(t *testing.T) {
	c := start(t, Options{}).dial()
	want(t, "told", c.identify(latestInit, "tx", identified{ID: 12345, Epoch: 3}), identified{"NONE", firstProducerID, 0})
}

// PRODUCER_FENCED came with version 4; version 3 has the older word for it, and
// earlier ones have no place for a claim.
func TestInitProducerID_FencesInTheWordsOfTheVersion(t *testing.T) {
	for version, expected := range []string{"NONE", "NONE", "NONE", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "PRODUCER_FENCED"} {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			c := start(t, Options{}).dial()
			c.identify(latestInit, "tx", unclaimed)
			told := c.identify(int16(version), "tx", identified{ID: firstProducerID, Epoch: 9})
			want(t, "code", told.Code, expected)
		})
	}
}

func TestInitProducerID_LastEpoch(t *testing.T) {
	const id = firstProducerID
	exhausted := func(t *testing.T) *client {
		n := start(t, Options{})
		c := n.dial()
		c.identify(latestInit, "tx", unclaimed)
		n.txns.table.Lookup("tx").Producer.Epoch = txn.LastEpoch - 1
		want(t, "the last epoch", c.identify(latestInit, "tx", unclaimed), identified{"NONE", id, 32766})
		return c
	}
	t.Run("is followed by a new id", func(t *testing.T) {
		c := exhausted(t)
		want(t, "told", c.identify(latestInit, "tx", unclaimed), identified{"NONE", id + 1, 0})
		want(t, "and on", c.identify(latestInit, "tx", unclaimed), identified{"NONE", id + 1, 1})
		want(t, "the old id", c.identify(latestInit, "tx", identified{ID: id, Epoch: 32766}).Code, "PRODUCER_FENCED")
	})
	t.Run("is followed by a new id that a retry gets again", func(t *testing.T) {
		c := exhausted(t)
		claim := identified{ID: id, Epoch: 32766}
		want(t, "told", c.identify(latestInit, "tx", claim), identified{"NONE", id + 1, 0})
		want(t, "again", c.identify(latestInit, "tx", claim), identified{"NONE", id + 1, 0})
	})
}

func TestInitProducerID_IDsAreDistinctOverConnections(t *testing.T) {
	n := start(t, Options{})
	var mu sync.Mutex
	seen := map[int64]bool{}
	var work sync.WaitGroup
	for range 8 {
		c := n.dial()
		work.Go(func() {
			for range 50 {
				resp, err := c.try(identifying(latestInit, nil))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[resp.(*kmsg.InitProducerIDResponse).ProducerID] = true
				mu.Unlock()
			}
		})
	}
	work.Wait()
	want(t, "distinct ids", len(seen), 400)
}
