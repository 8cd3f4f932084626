package broker

import (
	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Heartbeat, versions 0 to 4 (static members from 3).
//
// REBALANCE_IN_PROGRESS tells a member to join again. Between JoinGroup and
// SyncGroup all is well.

func (b *Broker) heartbeat(r *kmsg.HeartbeatRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.HeartbeatResponse)
	who := group.Identity{Group: r.Group, MemberID: r.MemberID, InstanceID: r.InstanceID, Generation: r.Generation}
	resp.ErrorCode = groupCode(b.groups.Heartbeat(who))
	return resp
}
