package kafka

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// patiently asks again while the broker is still busy with what came before: Kafka
// answers EndTxn before the markers are written.
func patiently(st step) step {
	ask := st.play
	st.play = func(s *scene) (resp kmsg.Response, err error) {
		if e := s.await("end of the transaction before", func() (bool, error) {
			resp, err = ask(s)
			return err != nil || !strings.Contains(s.answered("", resp, nil).String(), "CONCURRENT_TRANSACTIONS"), nil
		}); e != nil {
			return nil, e
		}
		return resp, err
	}
	return st
}

// initTxn is an InitProducerId under a transactional id; the producer gets the name.
func initTxn(version int16, id, name string, more func(s *scene, r *kmsg.InitProducerIDRequest)) step {
	st := patiently(initIn(version, name, transactional(id, more)))
	st.words += words(" of %q", id)
	return st
}

// who is a producer of the script: NAME, or "NAME in EPOCH" for another epoch than
// it was given.
func (s *scene) who(text string) identity {
	var name string
	var epoch int16
	if n, _ := fmt.Sscanf(text, "%s in %d", &name, &epoch); n == 2 {
		return identity{s.producers[name].id, epoch}
	}
	return s.producers[text]
}

// addTo is an AddPartitionsToTxn.
func addTo(version int16, id, producer string, places ...string) step {
	return patiently(request(words("AddPartitionsToTxn v%d %q %s %v", version, id, producer, places), func(s *scene) kmsg.Request {
		r := kmsg.NewPtrAddPartitionsToTxnRequest()
		p := s.who(producer)
		r.Version, r.TransactionalID, r.ProducerID, r.ProducerEpoch = version, id, p.id, p.epoch
		for _, at := range places {
			p := placeOf(at)
			if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != p.topic {
				r.Topics = append(r.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: p.topic})
			}
			t := &r.Topics[len(r.Topics)-1]
			t.Partitions = append(t.Partitions, p.partition)
		}
		return r
	}))
}

// commitTxn and abortTxn are EndTxns.
func commitTxn(version int16, id, producer string) step { return endTxn(version, id, producer, true) }
func abortTxn(version int16, id, producer string) step  { return endTxn(version, id, producer, false) }

func endTxn(version int16, id, producer string, commit bool) step {
	how := map[bool]string{true: "commits", false: "aborts"}[commit]
	return patiently(request(words("EndTxn v%d %q %s %s", version, id, producer, how), func(s *scene) kmsg.Request {
		r := kmsg.NewPtrEndTxnRequest()
		p := s.who(producer)
		r.Version, r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Commit = version, id, p.id, p.epoch, commit
		return r
	}))
}

// ended waits until the markers of a transaction stand in the logs.
func ended(id string) step {
	return setUp(words("the transaction of %q has ended", id), func(s *scene) error {
		return s.await("end of the transaction", func() (bool, error) {
			r := kmsg.NewPtrDescribeTransactionsRequest()
			r.TransactionalIDs = []string{s.name(id)}
			resp, err := s.ask(r)
			if err != nil {
				return false, err
			}
			state := resp.(*kmsg.DescribeTransactionsResponse).TransactionStates[0].State
			return state != "Ongoing" && !strings.HasPrefix(state, "Prepare"), nil
		})
	})
}

// inTxn makes a batch a transactional one.
func (b batch) inTxn() batch { return b.saying("transactional", attributes(transactionalBit)) }

const transactionalBit = 0x10

// write is a Produce of transactional batches, by one transactional id.
func write(version int16, id string, deliveries ...delivery) step {
	return patiently(production{version: version, acks: -1, txn: &id, deliveries: deliveries}.step())
}

// committedReader changes a Fetch into one of a reader of committed records.
var committedReader = limited("read committed", func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 })

// readStable is a Fetch of committed records.
func readStable(asked ...fetched) step { return fetchIn(usualFetch, committedReader, asked...) }

// listStable is a ListOffsets of a reader of committed records.
func listStable(asked ...offsetAsked) step {
	return listOffsetsAs(7, "read committed", func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = 1 }, asked...)
}

// describeTxns is a DescribeTransactions.
func describeTxns(ids ...string) step {
	return request(words("DescribeTransactions v0 %q", ids), func(*scene) kmsg.Request {
		r := kmsg.NewPtrDescribeTransactionsRequest()
		r.TransactionalIDs = append(r.TransactionalIDs, ids...)
		return r
	})
}

// listTxns is a ListTransactions of the script's own.
func listTxns(version int16, tweaks ...tweak) step {
	return ofOthers(asking(words("ListTransactions v%d", version), tweaks, func(*scene) kmsg.Request {
		r := kmsg.NewPtrListTransactionsRequest()
		r.Version, r.DurationFilterMillis = version, -1
		return r
	}))
}

// ofProducers asks for the transactions of producers.
func ofProducers(names ...string) tweak {
	return tweak{words("of %v", names), func(s *scene, req kmsg.Request) {
		for _, name := range names {
			r := req.(*kmsg.ListTransactionsRequest)
			r.ProducerIDFilters = append(r.ProducerIDFilters, s.who(name).id)
		}
	}}
}

// idsMatching asks for transactional ids of the script that match.
func idsMatching(pattern string) tweak {
	return tweak{words("ids matching %q", pattern), func(s *scene, req kmsg.Request) {
		req.(*kmsg.ListTransactionsRequest).TransactionalIDPattern = kmsg.StringPtr(s.prefix + pattern)
	}}
}
