package broker

import (
	"context"
	"net"
	"time"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupErrors are the errors that tell a coordinator's reasons. Limits that Kafka
// does not have are POLICY_VIOLATION, which no client takes for a passing one.
var groupErrors = map[group.Reason]*kerr.Error{
	group.BadGroupID:         kerr.InvalidGroupID,
	group.BadSession:         kerr.InvalidSessionTimeout,
	group.NoSuchGroup:        kerr.GroupIDNotFound,
	group.NoSuchMember:       kerr.UnknownMemberID,
	group.OldGeneration:      kerr.IllegalGeneration,
	group.FencedInstance:     kerr.FencedInstanceID,
	group.OtherProtocol:      kerr.InconsistentGroupProtocol,
	group.Rebalancing:        kerr.RebalanceInProgress,
	group.IDRequired:         kerr.MemberIDRequired,
	group.NotEmpty:           kerr.NonEmptyGroup,
	group.Subscribed:         kerr.GroupSubscribedToTopic,
	group.LongMetadata:       kerr.OffsetMetadataTooLarge,
	group.PendingInstance:    kerr.UnknownServerError,
	group.BadRequest:         kerr.InvalidRequest,
	group.BadRegex:           kerr.InvalidRegularExpression,
	group.NoSuchAssignor:     kerr.UnsupportedAssignor,
	group.InstanceTaken:      kerr.UnreleasedInstanceID,
	group.OldEpoch:           kerr.StaleMemberEpoch,
	group.FencedEpoch:        kerr.FencedMemberEpoch,
	group.OldVersion:         kerr.UnsupportedVersion,
	group.GroupFull:          kerr.GroupMaxSizeReached,
	group.TooManyProtocols:   kerr.PolicyViolation,
	group.TooManyExpressions: kerr.PolicyViolation,
	group.TooManyGroups:      kerr.PolicyViolation,
	group.TooManyOffsets:     kerr.PolicyViolation,
	group.TooManyBytes:       kerr.PolicyViolation,
}

// groupCode is the error code of a reason.
func groupCode(why group.Reason) int16 {
	switch err, known := groupErrors[why]; {
	case why == group.OK:
		return 0
	case known:
		return err.Code
	}
	return kerr.UnknownServerError.Code
}

// lookForClient is how often a request that waits for a group looks whether its
// client is still there: a rebalance timeout may be hours.
const lookForClient = time.Second

// await waits for what the coordinator of groups tells, or for the end of the
// broker or of the connection; over then says how the request ends. A member
// stays one, whatever becomes of its connection.
func await[T any](ctx context.Context, req *wire.Request, answers <-chan T) (told T, over *wire.Reply) {
	select {
	case told = <-answers:
		return told, nil
	default:
	}
	req.Conn.Flush()
	look := time.NewTicker(lookForClient)
	defer look.Stop()
	for {
		select {
		case told = <-answers:
			return told, nil
		case <-ctx.Done():
			reply := answer(wire.ErrorAnswer(req.Body, kerr.NotCoordinator.Code, ""))
			return told, &reply
		case <-look.C:
			if req.Conn.Gone() {
				return told, &wire.Reply{Fate: wire.Close, Reason: wire.ReasonClientClosed}
			}
		}
	}
}

// clientHost is a client's address as Kafka tells it of a member.
func clientHost(c *wire.Conn) string {
	host, _, err := net.SplitHostPort(c.Remote)
	if err != nil {
		host = c.Remote
	}
	return "/" + host
}

// groupOperations are what may be done to a group: a bit for each operation
// (AclEntry.supportedOperations).
const groupOperations = 1<<kmsg.ACLOperationRead | 1<<kmsg.ACLOperationDelete | 1<<kmsg.ACLOperationDescribe |
	1<<kmsg.ACLOperationDescribeConfigs | 1<<kmsg.ACLOperationAlterConfigs

// millis is a number of milliseconds of a request.
func millis(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

// A topicsView is the topics as the coordinator of groups sees them, kept until
// they change.
type topicsView struct {
	topics     *group.Topics
	version    uint64
	partitions int // of all topics, when it was made
}

// groupTopics are the topics that there are now.
func (b *Broker) groupTopics() *group.Topics {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := &b.viewed
	if v.topics == nil || v.partitions != b.partitions {
		byName := make(map[string]group.Topic, len(b.topics))
		for name, t := range b.topics {
			byName[name] = group.Topic{ID: t.id, Partitions: int32(len(t.all()))}
		}
		v.version++
		v.topics, v.partitions = group.NewTopics(v.version, byName), b.partitions
	}
	return v.topics
}
