package broker

import (
	"bytes"
	"context"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SyncGroup, versions 0 to 5 (static members from 3, protocol type and name from
// 5).
//
// A follower waits for the leader's assignment, or for the next rebalance. A
// member that leaves while it waits gets no answer any more, as in Kafka: its
// connection is of no use until it closes.

// syncProtocolSince is the first version that has to name the protocol.
const syncProtocolSince = 5

func (b *Broker) syncGroup(ctx context.Context, req *wire.Request, r *kmsg.SyncGroupRequest) wire.Reply {
	if r.Version >= syncProtocolSince && (r.ProtocolType == nil || r.Protocol == nil) {
		return answer(wire.ErrorAnswer(r, kerr.InconsistentGroupProtocol.Code, ""))
	}
	s := group.Sync{
		Identity:     group.Identity{Group: r.Group, MemberID: r.MemberID, InstanceID: r.InstanceID, Generation: r.Generation},
		ProtocolType: r.ProtocolType, Protocol: r.Protocol, Assignments: map[string][]byte{},
	}
	for _, a := range r.GroupAssignment {
		s.Assignments[a.MemberID] = bytes.Clone(a.MemberAssignment)
	}
	told, over := await(ctx, req, b.groups.Sync(s))
	if over != nil {
		return *over
	}
	resp := r.ResponseKind().(*kmsg.SyncGroupResponse)
	resp.ErrorCode = groupCode(told.Reason)
	if told.Reason == group.OK {
		resp.ProtocolType, resp.Protocol, resp.MemberAssignment = &told.ProtocolType, &told.Protocol, told.Assignment
	}
	return answer(resp)
}
