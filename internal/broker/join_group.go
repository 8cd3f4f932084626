package broker

import (
	"bytes"
	"context"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// JoinGroup, versions 0 to 9 (a member id first from 4, static members from 5,
// a leader that skips the assignment from 9).
//
// The answer waits until all members have joined again, or their rebalance
// timeout is over; nothing else of the connection is answered meanwhile. Session
// timeouts may be 6 s to 30 min. A client that goes away stays a member.
//
// Differences from Apache Kafka: the first generation of a group is not delayed
// (group.initial.rebalance.delay.ms is 0 here, 3000 by default there). A group
// has at most 1,000 members (GROUP_MAX_SIZE_REACHED); more groups or bytes than
// are kept, and more than 100 protocols, are POLICY_VIOLATION. Members are listed,
// and succeed a leader, in the order in which they came.

// The versions of JoinGroup in which something changed.
const (
	joinComesTwiceSince       = 4
	joinSkipsAssignmentSince  = 9
	joinRebalanceTimeoutSince = 1
)

func (b *Broker) joinGroup(ctx context.Context, req *wire.Request, r *kmsg.JoinGroupRequest) wire.Reply {
	told, over := await(ctx, req, b.groups.Join(b.joinOf(req, r)))
	if over != nil {
		return *over
	}
	resp := r.ResponseKind().(*kmsg.JoinGroupResponse)
	resp.ErrorCode, resp.Generation = groupCode(told.Reason), told.Generation
	resp.LeaderID, resp.MemberID, resp.SkipAssignment = told.Leader, told.MemberID, told.SkipAssignment
	if told.Reason == group.OK {
		resp.ProtocolType, resp.Protocol = &told.ProtocolType, &told.Protocol
	}
	for _, m := range told.Members {
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID, member.InstanceID, member.ProtocolMetadata = m.ID, m.InstanceID, m.Metadata
		resp.Members = append(resp.Members, member)
	}
	return answer(resp)
}

func (b *Broker) joinOf(req *wire.Request, r *kmsg.JoinGroupRequest) group.Join {
	j := group.Join{
		Group: r.Group, MemberID: r.MemberID, InstanceID: r.InstanceID,
		ClientID: req.Client, ClientHost: clientHost(req.Conn),
		Session: millis(r.SessionTimeoutMillis), Rebalance: millis(r.RebalanceTimeoutMillis), ProtocolType: r.ProtocolType,
		ComesTwice: r.Version >= joinComesTwiceSince, SkipsAssignment: r.Version >= joinSkipsAssignmentSince,
		Topics: b.groupTopics(),
	}
	if r.Version < joinRebalanceTimeoutSince {
		j.Rebalance = j.Session
	}
	for _, p := range r.Protocols {
		j.Protocols = append(j.Protocols, group.Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)})
	}
	return j
}
