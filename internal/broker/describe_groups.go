package broker

import (
	"fmt"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeGroups, versions 0 to 6 (authorized operations from 3, static members
// from 4).
//
// The protocol's name and what members say to it show only while the group is
// stable. A group that is not there is in state Dead, and from version 6 on an
// error. One of the consumer protocol is not there for this request. Authorized
// operations are all there are: everything is allowed.

// describeGroupNotFoundSince is the first version that has an error for an
// unknown group.
const describeGroupNotFoundSince = 6

func (b *Broker) describeGroups(r *kmsg.DescribeGroupsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
	for _, id := range r.Groups {
		told := describedGroup(id, b.groups.Describe(id))
		if told.State == group.Dead.String() && r.Version >= describeGroupNotFoundSince {
			told.ErrorCode = kerr.GroupIDNotFound.Code
			told.ErrorMessage = kmsg.StringPtr(b.whyNotClassic(id))
		}
		if r.IncludeAuthorizedOperations && told.ErrorCode == 0 {
			told.AuthorizedOperations = groupOperations
		}
		resp.Groups = append(resp.Groups, told)
	}
	return resp
}

// whyNotClassic says what is wrong with a group that does not speak the classic
// protocol.
func (b *Broker) whyNotClassic(id string) string {
	if _, ok := b.groups.DescribeConsumers(id); ok {
		return fmt.Sprintf("Group %s is not a classic group.", id)
	}
	return fmt.Sprintf("Group %s not found.", id)
}

func describedGroup(id string, d group.Description) kmsg.DescribeGroupsResponseGroup {
	told := kmsg.NewDescribeGroupsResponseGroup()
	told.Group, told.State, told.ProtocolType, told.Protocol = id, d.State.String(), d.ProtocolType, d.Protocol
	for _, m := range d.Members {
		member := kmsg.NewDescribeGroupsResponseGroupMember()
		member.MemberID, member.InstanceID = m.ID, m.InstanceID
		member.ClientID, member.ClientHost = m.ClientID, m.ClientHost
		member.ProtocolMetadata, member.MemberAssignment = m.Metadata, m.Assignment
		told.Members = append(told.Members, member)
	}
	return told
}
