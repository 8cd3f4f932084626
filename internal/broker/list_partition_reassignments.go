package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// ListPartitionReassignments, version 0.
//
// With one broker no partition ever moves: there is nothing to list, whatever is
// asked for. Served because tools that describe a topic ask.

func listPartitionReassignments(r *kmsg.ListPartitionReassignmentsRequest) kmsg.Response {
	return r.ResponseKind()
}
