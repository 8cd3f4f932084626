package group

import "fmt"

// A Reason says why something was refused. The zero value says that it was not.
type Reason uint8

// The reasons. Those that Kafka has an error for go by what the error means.
const (
	OK Reason = iota
	BadGroupID
	BadSession
	NoSuchGroup
	NoSuchMember
	OldGeneration
	FencedInstance
	OtherProtocol
	Rebalancing
	IDRequired
	NotEmpty
	Subscribed
	LongMetadata
	PendingInstance
	BadRequest
	BadRegex
	NoSuchAssignor
	InstanceTaken
	OldEpoch
	FencedEpoch
	OldVersion
	GroupFull
	TooManyProtocols
	TooManyExpressions
	TooManyGroups
	TooManyOffsets
	TooManyBytes
)

var reasons = [...]string{
	OK:                 "done",
	BadGroupID:         "a group id must not be empty here",
	BadSession:         fmt.Sprintf("a session timeout lies between %v and %v", MinSession, MaxSession),
	NoSuchGroup:        "there is no group of this id",
	NoSuchMember:       "the group has no such member",
	OldGeneration:      "the group is in another generation",
	FencedInstance:     "the instance came back under another member id",
	OtherProtocol:      "the group has another protocol type, or no protocol is common to all of its members",
	Rebalancing:        "the group rebalances: join it again",
	IDRequired:         "join again with the member id of this answer",
	NotEmpty:           "the group has members",
	Subscribed:         "the group is subscribed to the topic",
	LongMetadata:       fmt.Sprintf("the metadata of an offset is at most %d characters", MaxMetadata),
	PendingInstance:    "a member id that was given to a dynamic member is no static member's",
	BadRequest:         "the request cannot be",
	BadRegex:           "the expression for topics is none",
	NoSuchAssignor:     "there is no such assignor",
	InstanceTaken:      "the instance id is another member's, which has not left",
	OldEpoch:           "the member is in another epoch",
	FencedEpoch:        "the member is in another epoch, and has to give up all partitions and join again",
	OldVersion:         "members of the consumer protocol have to use a newer version of the request",
	GroupFull:          fmt.Sprintf("a group has at most %d members here", MaxMembers),
	TooManyProtocols:   fmt.Sprintf("a member offers at most %d protocols here", MaxProtocols),
	TooManyExpressions: fmt.Sprintf("a group has at most %d regular expressions for topics here", MaxExpressions),
	TooManyGroups:      fmt.Sprintf("there are at most %d groups here; delete some with DeleteGroups", MaxGroups),
	TooManyOffsets:     fmt.Sprintf("at most %d committed offsets are kept here; delete groups or offsets", MaxOffsets),
	TooManyBytes:       fmt.Sprintf("members and offsets of all groups take at most %d bytes here; delete groups", MaxBytes),
}

// String says the reason in words.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return "unknown reason"
}
