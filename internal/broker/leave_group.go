package broker

import (
	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// LeaveGroup, versions 0 to 5 (several members, and static ones by their instance
// id alone, from 3).
//
// Up to version 2 there is one member and its error is the answer's; from 3 on
// each member has its own. An unknown group has no such member.

// leaveSeveralSince is the first version in which several members leave.
const leaveSeveralSince = 3

func (b *Broker) leaveGroup(r *kmsg.LeaveGroupRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.LeaveGroupResponse)
	leavers := []group.Leaver{{MemberID: r.MemberID}}
	if r.Version >= leaveSeveralSince {
		leavers = leavers[:0]
		for _, m := range r.Members {
			leavers = append(leavers, group.Leaver{MemberID: m.MemberID, InstanceID: m.InstanceID})
		}
	}
	why, told := b.groups.Leave(r.Group, leavers)
	resp.ErrorCode = groupCode(why)
	if r.Version < leaveSeveralSince {
		for _, why := range told {
			resp.ErrorCode = groupCode(why)
		}
		return resp
	}
	for i, why := range told {
		m := kmsg.NewLeaveGroupResponseMember()
		m.MemberID, m.InstanceID, m.ErrorCode = leavers[i].MemberID, leavers[i].InstanceID, groupCode(why)
		resp.Members = append(resp.Members, m)
	}
	return resp
}
