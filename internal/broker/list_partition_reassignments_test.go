package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestListPartitionReassignments_NothingEverMoves(t *testing.T) {
	_, c := startWith(t, "there")
	ask := func(topics ...kmsg.ListPartitionReassignmentsRequestTopic) kmsg.Response {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.Topics = topics
		return c.ask(req)
	}
	none := kmsg.NewPtrListPartitionReassignmentsResponse()
	want(t, "of all", ask(), kmsg.Response(none))
	want(t, "of one", ask(kmsg.ListPartitionReassignmentsRequestTopic{Topic: "there", Partitions: []int32{0, 1}}), kmsg.Response(none))
	want(t, "of what is not there", ask(kmsg.ListPartitionReassignmentsRequestTopic{Topic: "missing", Partitions: []int32{0}}), kmsg.Response(none))
}
