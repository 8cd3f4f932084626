package kafka

import (
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Committed offsets.
var groupOffsetScripts = []script{
	{name: "every version of a commit", steps: []step{
		coordinated(0, "g"), topic("t", 2),
		commit(2, "g", "", offset("t-0", 2)), committed(1, "g", []string{"t-0"}), commit(3, "g", "", offset("t-0", 3)), committed(2, "g", []string{"t-0"}),
		commit(4, "g", "", offset("t-0", 4)), committed(3, "g", []string{"t-0", "t-1"}), commit(5, "g", "", offset("t-0", 5)), committed(4, "g", []string{"t-0"}),
		commit(6, "g", "", offsetOf("t-0", 6, 0, nil)), committed(5, "g", []string{"t-0"}), commit(7, "g", "", offsetOf("t-0", 7, 7, nil)), committed(6, "g", []string{"t-0"}),
		commit(8, "g", "", offset("t-0", 8), offset("t-1", 80)), committed(7, "g", []string{"t-0", "t-1"}),
		commit(9, "g", "", offset("t-0", 9)), committed(8, "g", []string{"t-0"}), committed(9, "g", []string{"t-0"}),
		commit(10, "g", "", offset("t-0", 10)), committed(10, "g", []string{"t-0", "t-1"}),
	}},
	{name: "all that was committed", steps: []step{
		coordinated(0, "g"), topic("t", 2), topic("u", 1),
		allCommitted(2, "g"), allCommitted(8, "g"), allCommitted(10, "g"),
		commit(8, "g", "", offset("t-0", 1), offset("t-1", 2), offset("u-0", 3)),
		allCommitted(2, "g"), allCommitted(5, "g"), allCommitted(7, "g"), allCommitted(8, "g"), allCommitted(10, "g"),
		committed(2, "g", []string{}), committed(7, "g", []string{}), committed(9, "g", []string{}),
		allCommitted(8, "g", andOf("other", "t-0"), andOf("g", "t-1"), andOf("nosuch")), committed(9, "g", []string{"t-1", "u-0"}, andOf("g", "t-0")),
		committed(10, "g", []string{"t-1"}, andOf("g", "u-0")),
	}},
	{name: "what was never committed", steps: []step{
		coordinated(0, "g"), topic("t", 1),
		committed(1, "nosuch", []string{"t-0"}), committed(5, "nosuch", []string{"t-0", "t-7", "nosuch-0"}), committed(8, "nosuch", []string{"t-0"}), committed(10, "nosuch", []string{"t-0"}),
		committed(10, "nosuch", []string{"nosuch-0"}), committed(1, "=", []string{"t-0"}), committed(9, "=", []string{"t-0"}),
		describeGroups(5, "nosuch"), // asking makes nothing
	}},
	{name: "any offset is kept", steps: []step{
		coordinated(0, "g"), topic("t", 5),
		commit(8, "g", "", offset("t-0", -1), offset("t-1", -5), offset("t-2", math.MaxInt64), offset("t-3", math.MinInt64), offsetOf("t-4", 5, 99, nil)),
		committed(7, "g", []string{"t-0", "t-1", "t-2", "t-3", "t-4"}), allCommitted(8, "g"),
		commit(8, "g", "", offset("t-0", 7)), commit(8, "g", "", offset("t-0", 3)), committed(7, "g", []string{"t-0"}), // also an earlier one
		commit(6, "g", "", offsetOf("t-4", 5, -7, nil)), committed(5, "g", []string{"t-4"}),
	}},
	{name: "metadata beside an offset", steps: []step{
		coordinated(0, "g"), topic("t", 4),
		commit(8, "g", "", offsetBeside("t-0", 1, "some words"), offsetBeside("t-1", 1, ""), offset("t-2", 1)), committed(7, "g", []string{"t-0", "t-1", "t-2"}),
		commit(8, "g", "", offsetBeside("t-0", 2, strings.Repeat("m", 4096)), offsetBeside("t-1", 2, strings.Repeat("m", 4097))),
		commit(2, "g", "", offsetBeside("t-2", 2, strings.Repeat("m", 4097))), commit(10, "g", "", offsetBeside("t-2", 2, strings.Repeat("m", 5000))),
		commit(8, "g", "", offsetBeside("t-3", 2, strings.Repeat("ü", 4096))), commit(8, "g", "", offsetBeside("t-3", 2, strings.Repeat("ü", 2048))),
		commit(8, "g", "", offsetBeside("t-0", 3, "new")), committed(7, "g", []string{"t-0", "t-1", "t-3"}),
	}},
	{name: "partitions that there are not", steps: []step{
		coordinated(0, "g"), topic("t", 1),
		commit(8, "g", "", offset("t-0", 1), offset("t-1", 1), offset("nosuch-0", 1)), commit(2, "g", "", offset("nosuch-0", 1)),
		commit(10, "g", "", offset("t-0", 2), offset("nosuch-0", 1)), commit(10, "g", "", offset("t-9", 1)), commit(8, "g", ""), commit(2, "h", ""),
		committed(7, "g", []string{"t-0", "t-1", "nosuch-0"}), committed(10, "g", []string{"t-0", "t-9", "nosuch-0"}), describeGroups(6, "h"),
	}},
	{name: "a partition committed twice in one request", steps: []step{
		coordinated(0, "g"), topic("t", 1),
		commit(8, "g", "", offset("t-0", 1), offset("t-0", 2)), committed(7, "g", []string{"t-0"}), committed(7, "g", []string{"t-0", "t-0"}),
	}},
	{name: "generations that are none", steps: []step{
		coordinated(0, "g"), topic("t", 1),
		commit(2, "nosuch", "", with("Generation", 0), offset("t-0", 1)), commit(8, "nosuch", "", with("Generation", 5), offset("t-0", 1)),
		commit(9, "nosuch", "", with("Generation", 5), offset("t-0", 1)), commit(9, "nosuch", "", with("Generation", -2), offset("t-0", 1)),
		commit(8, "ghostly", "", with("MemberID", "ghost"), offset("t-0", 1)), commit(9, "ghostly", "", with("MemberID", "ghost"), instance("i"), offset("t-0", 2)),
		committed(7, "ghostly", []string{"t-0"}), commit(8, "ghostly", "", with("MemberID", "ghost"), with("Generation", 0), offset("t-0", 3)),
		commit(9, "ghostly", "", with("Generation", 1), offset("t-0", 3)), commit(8, "=", "", offset("t-0", 1)), committed(7, "=", []string{"t-0"}), deleteGroups(2, "="),
	}},
	{name: "commits into a group with members", steps: append(append([]step{topic("t", 1)}, stable("g", "a", "b")...),
		commit(2, "g", "a", offset("t-0", 1)), commit(9, "g", "b", offset("t-0", 2)), commit(10, "g", "a", offset("t-0", 3)),
		commit(8, "g", "a", with("Generation", 1), offset("t-0", 4)), commit(9, "g", "a", with("Generation", 3), offset("t-0", 4)), commit(8, "g", "a", with("Generation", -1), offset("t-0", 4)),
		commit(9, "g", "a", with("MemberID", "ghost"), offset("t-0", 4)), commit(8, "g", "", offset("t-0", 4)), commit(2, "g", "", offset("t-0", 4)),
		commit(8, "g", "", with("Generation", 2), offset("t-0", 4)), commit(7, "g", "a", instance("i"), offset("t-0", 4)),
		committed(9, "g", []string{"t-0"}, reading("a", 2)), committed(9, "g", []string{"t-0"}, reading("ghost", 77)), committed(9, "g", []string{"t-0"}, with("RequireStable", true)),
	)},
	{name: "offsets are deleted", steps: []step{
		coordinated(0, "g"), topic("t", 3), topic("u", 1),
		commit(8, "g", "", offset("t-0", 1), offset("t-1", 2), offset("t-2", 3), offset("u-0", 4)),
		deleteOffsets("g", "t-0"), deleteOffsets("g", "t-0"), deleteOffsets("g", "t-1", "t-9", "nosuch-0", "u-0"), deleteOffsets("g"), deleteOffsets("nosuch", "t-0"), deleteOffsets("=", "t-0"),
		allCommitted(7, "g"),
	}},
	{name: "offsets of a topic that is subscribed", steps: []step{
		coordinated(0, "g"), topic("t", 1), topic("u", 1),
		commit(8, "g", "", offset("t-0", 1), offset("u-0", 4)),
		join(3, "g", "a", subscribing("range", "t")), deleteOffsets("g", "t-0", "u-0"), syncGroup(3, "g", "a"),
		deleteOffsets("g", "t-0", "u-0", "t-9"), allCommitted(7, "g"), leave(3, "g", "a"), deleteOffsets("g", "t-0"), allCommitted(7, "g"),
	}},
	{name: "offsets of members that do not say what they want", steps: append(append([]step{coordinated(0, "g"), topic("t", 1), commit(8, "g", "", offset("t-0", 1))}, stable("g", "a")...),
		deleteOffsets("g", "t-0"), join(9, "h", "b", with("ProtocolType", "connect")), join(9, "h", "b", with("ProtocolType", "connect")),
		deleteOffsets("h", "t-0"),
	)},
	{name: "a topic takes its offsets along", steps: []step{
		coordinated(0, "g"), topic("t", 1), topic("u", 1),
		commit(8, "g", "", offset("t-0", 1), offset("u-0", 2)), deleteTopics(6, "t"), gone("t", "older"), forgotten("g", "t-0"),
		committed(7, "g", []string{"t-0", "u-0"}), committed(10, "g", []string{"older-0"}), allCommitted(7, "g"),
		topic("t", 1), committed(7, "g", []string{"t-0"}), commit(10, "g", "", offset("older-0", 1)), commit(10, "g", "", offset("t-0", 5)), committed(10, "g", []string{"t-0"}),
	}},
}

// What an administrator asks.
var groupAdminScripts = []script{
	{name: "groups that there are not", steps: []step{
		coordinated(0, "g"),
		describeGroups(0, "nosuch"), describeGroups(3, "nosuch"), describeGroups(5, "nosuch", "other"), describeGroups(6, "nosuch"), describeGroups(6), describeGroups(5, "=", "nosuch", "nosuch"),
		deleteGroups(0, "nosuch"), deleteGroups(1, "nosuch"), deleteGroups(2, "nosuch", "="), deleteGroups(3, "nosuch", "other"), deleteGroups(2), listGroups(5),
	}},
	{name: "groups are described in each version", steps: append(stable("g", "a"),
		describeGroups(0, "g"), describeGroups(1, "g"), describeGroups(2, "g"), describeGroups(3, "g"), describeGroups(4, "g"), describeGroups(5, "g"), describeGroups(6, "g"),
		describeGroupsBut(3, "g"), describeGroupsBut(6, "g"), describeGroupsBut(5, "nosuch"), describeGroupsBut(6, "nosuch"),
	)},
	{name: "groups are listed", steps: append(append([]step{coordinated(0, "g"), topic("t", 1), commit(8, "offsets", "", offset("t-0", 1))}, stable("members", "a")...),
		join(3, "connect", "c", with("ProtocolType", "connect")), join(3, "left", "d"), leave(3, "left", "d"), join(9, "given", "e"), known("connect", "given"),
		listGroups(0), listGroups(2), listGroups(3), listGroups(4), listGroups(5),
		listGroups(4, states("Stable")), listGroups(4, states("stable", "EMPTY")), listGroups(5, states("CompletingRebalance")), listGroups(5, states("nosuch")), listGroups(5, states("Dead")),
		listGroups(5, types("classic")), listGroups(5, types("Classic"), states("Empty")), listGroups(5, types("consumer")), listGroups(5, types("nosuch")), listGroups(5, types("consumer", "classic")),
	)},
	{name: "groups are deleted", steps: append(append([]step{coordinated(0, "g"), topic("t", 1), commit(8, "offsets", "", offset("t-0", 1))}, stable("members", "a")...),
		deleteGroups(2, "members", "offsets"), deleteGroups(3, "members"), committed(7, "offsets", []string{"t-0"}), describeGroups(6, "offsets"),
		commit(8, "members", "a", offset("t-0", 5)), leave(5, "members", "a"), describeGroups(6, "members"), deleteGroups(3, "members", "members"), deleteGroups(1, "members"),
		committed(7, "members", []string{"t-0"}), heartbeat(4, "members", "a"), join(9, "given", "e"), deleteGroups(2, "given"), join(9, "given", "e"),
	)},
}

// describeGroupsBut is a DescribeGroups that asks what may be done.
func describeGroupsBut(version int16, group string) step {
	return asking(words("DescribeGroups v%d %q", version, group), []tweak{with("IncludeAuthorizedOperations", true)}, func(*scene) kmsg.Request {
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Version, r.Groups = version, []string{group}
		return r
	})
}

// states and types are what ListGroups lists.
func states(names ...string) tweak { return with("StatesFilter", names) }
func types(names ...string) tweak  { return with("TypesFilter", names) }

// forgotten waits until a group has no offset of a partition whose topic is gone.
func forgotten(group, at string) step {
	return setUp(words("%q has no offset of %s", group, at), func(s *scene) error {
		return s.await("offset gone", func() (bool, error) {
			r := kmsg.NewPtrOffsetFetchRequest()
			r.Version, r.Group = 5, s.name(group)
			p := placeOf(at)
			r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: s.name(p.topic), Partitions: []int32{p.partition}}}
			resp, err := s.ask(r)
			if err != nil {
				return false, err
			}
			return resp.(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0].Offset == -1, nil
		})
	})
}
