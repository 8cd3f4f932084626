package broker

import (
	"regexp"
	"slices"
	"time"

	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListTransactions, versions 0 to 2 (a least duration from 1, a pattern for the
// whole id from 2).
//
// Difference from Apache Kafka: a pattern is one of RE2/J there and of Go's RE2
// here, which are alike in all but rare classes.

// txnStates are the names of states that a filter may give. The states in which
// an end is prepared are never listed here.
var txnStates = []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

func (b *Broker) listTransactions(r *kmsg.ListTransactionsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ListTransactionsResponse)
	pattern, err := wholeMatch(r.TransactionalIDPattern)
	if err != nil {
		resp.ErrorCode = kerr.InvalidRegularExpression.Code
		return resp
	}
	for _, s := range r.StateFilters {
		if !slices.Contains(txnStates, s) {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, s)
		}
	}
	resp.TransactionStates = b.txns.list(func(id string, e *txn.Entry[member]) bool {
		return (len(r.StateFilters) == 0 || slices.Contains(r.StateFilters, e.State.String())) &&
			(len(r.ProducerIDFilters) == 0 || slices.Contains(r.ProducerIDFilters, e.Producer.ID)) &&
			(r.DurationFilterMillis < 0 || time.Now().UnixMilli()-e.Started > r.DurationFilterMillis) &&
			pattern.MatchString(id)
	})
	return resp
}

// wholeMatch is a pattern that has to match a whole id; null and "" match all.
func wholeMatch(pattern *string) (*regexp.Regexp, error) {
	if pattern == nil || *pattern == "" {
		return regexp.Compile("")
	}
	if _, err := regexp.Compile(*pattern); err != nil { // before parentheses could mend it
		return nil, err
	}
	return regexp.Compile("^(?:" + *pattern + ")$")
}

func (t *transactions) list(fits func(id string, e *txn.Entry[member]) bool) (all []kmsg.ListTransactionsResponseTransactionState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range t.table.IDs() {
		e := t.table.Lookup(id)
		if !fits(id, e) {
			continue
		}
		s := kmsg.NewListTransactionsResponseTransactionState()
		s.TransactionalID, s.ProducerID, s.TransactionState = id, e.Producer.ID, e.State.String()
		all = append(all, s)
	}
	return all
}
