package kafka

import "strings"

// Members of classic groups: who may join, under which id, and who is refused.
var groupJoinScripts = []script{
	{name: "a newcomer is given an id and joins with it", steps: []step{
		coordinated(0, "g"),
		join(4, "g", "a"),
		known("g"), describeGroups(5, "g"), // it does not count yet
		join(4, "g", "a"),
		syncGroup(4, "g", "a", assign("a", "all")),
		describeGroups(5, "g"),
	}},
	{name: "newcomers join at once in the versions before", steps: []step{
		coordinated(0, "g"),
		join(0, "g0", "a"), join(1, "g1", "a"), join(2, "g2", "a"), join(3, "g3", "a"),
		syncGroup(0, "g0", "a", assign("a", "all")), syncGroup(1, "g1", "a"), syncGroup(2, "g2", "a", assign("a", "")), syncGroup(3, "g3", "a", assign("stranger", "all")),
		heartbeat(0, "g0", "a"), heartbeat(1, "g1", "a"), heartbeat(2, "g2", "a"), heartbeat(3, "g3", "a"),
		describeGroups(0, "g0"), describeGroups(1, "g1"), describeGroups(2, "g2"), describeGroups(3, "g3"),
		leave(0, "g0", "a"), leave(1, "g1", "a"), leave(2, "g2", "a"), leave(3, "g3", "a"),
		describeGroups(4, "g0", "g1", "g2", "g3"),
	}},
	{name: "every version of joining twice", steps: []step{
		coordinated(0, "g"),
		join(5, "g5", "a"), join(5, "g5", "a"), join(6, "g6", "a"), join(6, "g6", "a"), join(7, "g7", "a"), join(7, "g7", "a"),
		join(8, "g8", "a", with("Reason", "first start")), join(8, "g8", "a", with("Reason", nil)), join(9, "g9", "a"), join(9, "g9", "a"),
		syncGroup(4, "g5", "a", assign("a", "x")), syncGroup(5, "g6", "a", assign("a", "x")), syncGroup(5, "g7", "a"), syncGroup(5, "g8", "a"), syncGroup(3, "g9", "a"),
		leave(4, "g5", "a"), leave(5, "g6", "a"), leave(4, "g7", "stranger", "a"), leave(5, "g8", "a", "a"),
	}},
	{name: "protocols that do not fit", steps: append(stable("g", "a"),
		join(9, "g", "b", protocols("roundrobin")), join(9, "g", "b", protocols()), join(9, "g", "b", with("ProtocolType", "connect")),
		join(9, "g", "b", with("ProtocolType", "")), join(5, "g", "b", protocols("roundrobin")), join(3, "g", "b", protocols("roundrobin")),
		join(9, "new", "b", protocols()), join(9, "new", "b", with("ProtocolType", "")), join(0, "new", "b", with("ProtocolType", "")),
		join(9, "g", "a", protocols("roundrobin")), // alone, and still
		join(9, "g", "a", with("ProtocolType", "connect")),
		describeGroups(6, "g", "new"),
	)},
	{name: "a protocol type of its own", steps: []step{
		coordinated(0, "g"),
		join(3, "g", "a", with("ProtocolType", "connect"), protocols("sessioned:where", "compatible:what")),
		syncGroup(5, "g", "a", with("ProtocolType", "connect"), with("Protocol", "sessioned"), assign("a", "tasks")),
		describeGroups(5, "g"), listGroups(5), heartbeat(4, "g", "a"),
	}},
	{name: "session timeouts at their edges", steps: []step{
		coordinated(0, "g"),
		join(9, "g", "a", with("SessionTimeoutMillis", 5999)), join(9, "g", "a", with("SessionTimeoutMillis", 6000)),
		join(9, "g", "b", with("SessionTimeoutMillis", 1_800_001)), join(9, "g", "b", with("SessionTimeoutMillis", 1_800_000)),
		join(4, "g", "c", with("SessionTimeoutMillis", 0)), join(0, "g", "c", with("SessionTimeoutMillis", -1)), join(7, "g", "c", with("SessionTimeoutMillis", 100)),
		join(9, "r", "d", with("RebalanceTimeoutMillis", -1)), join(9, "r", "d", with("RebalanceTimeoutMillis", -1)),
		join(3, "s", "e", with("RebalanceTimeoutMillis", 0)),
	}},
	{name: "what is refused first", steps: append(stable("g", "a"),
		join(9, "=", "b"), join(3, "=", "b", with("SessionTimeoutMillis", 1)), join(9, "=", "b", with("MemberID", "ghost")),
		join(9, "g", "b", with("SessionTimeoutMillis", 1), with("ProtocolType", "connect")),
		join(9, "g", "b", with("MemberID", "ghost"), with("ProtocolType", "connect")), join(9, "g", "b", with("MemberID", "ghost")),
		join(9, "nosuch", "b", with("MemberID", "ghost")), join(3, "nosuch", "b", with("MemberID", "ghost")), join(9, "nosuch", "b", with("MemberID", "ghost"), protocols()),
		join(9, "nosuch", "b", with("MemberID", "ghost"), instance("i")),
		describeGroups(5, "nosuch"),
	)},
	{name: "an id that was given and not used", steps: []step{
		coordinated(0, "g"),
		join(4, "g", "a"),
		heartbeat(4, "g", "a", with("Generation", 0)), syncGroup(4, "g", "a", with("Generation", 0)), commit(8, "g", "a", with("Generation", 0)),
		commit(8, "g", "a", with("Generation", -1), offset("t-0", 1)),
		leave(4, "g", "a"), leave(4, "g", "a"),
		join(4, "g", "a"), // it is forgotten
	}},
	{name: "protocols are voted for", steps: []step{
		coordinated(0, "g"),
		join(3, "g", "a", protocols("range:1", "roundrobin:2", "sticky:3")), syncGroup(3, "g", "a"),
		ahead("b", join(3, "g", "b", protocols("roundrobin:4", "sticky:5"))),
		join(3, "g", "a", protocols("range:1", "sticky:3", "roundrobin:2")), answerTo("b"),
		syncGroup(3, "g", "a"),
		ahead("c", join(3, "g", "c", protocols("other:6", "sticky:7", "roundrobin:8"))),
		ahead("b", join(3, "g", "b", protocols("roundrobin:4", "sticky:5"))),
		join(3, "g", "a", protocols("range:1", "sticky:3", "roundrobin:2")), answerTo("b"), answerTo("c"),
		join(9, "g", "d", protocols("range", "other")), // not offered by all
	}},
	{name: "metadata of any kind", steps: []step{
		coordinated(0, "g"),
		join(3, "g", "a", protocols("range:"+strings.Repeat("m", 10_000))), join(3, "h", "b", protocols("range:")), join(3, "i", "c", protocols(":nameless")),
	}},
}

// What members of a stable group, and others, ask of it.
var groupMemberScripts = []script{
	{name: "heartbeats", steps: append(stable("g", "a"),
		heartbeat(0, "g", "a"), heartbeat(4, "g", "a"),
		heartbeat(4, "g", "a", with("Generation", 0)), heartbeat(4, "g", "a", with("Generation", 2)), heartbeat(0, "g", "a", with("Generation", -1)),
		heartbeat(4, "g", "a", with("MemberID", "ghost")), heartbeat(4, "g", "a", with("MemberID", "")), heartbeat(3, "g", "a", instance("i")),
		heartbeat(4, "nosuch", "a"), heartbeat(0, "nosuch", "a"), heartbeat(4, "=", "a"),
	)},
	{name: "SyncGroup of a stable group", steps: append(stable("g", "a"),
		syncGroup(0, "g", "a"), syncGroup(5, "g", "a"), syncGroup(5, "g", "a", assign("a", "a second assignment")),
		syncGroup(5, "g", "a", with("Protocol", "roundrobin")), syncGroup(5, "g", "a", with("ProtocolType", "connect")),
		syncGroup(5, "g", "a", with("Protocol", nil)), syncGroup(5, "g", "a", with("ProtocolType", nil)), syncGroup(5, "g", "a", with("Protocol", nil), with("ProtocolType", nil)),
		syncGroup(5, "g", "a", with("Protocol", nil), with("MemberID", "ghost")), syncGroup(5, "g", "a", with("Protocol", nil), with("Generation", 7)),
		syncGroup(5, "g", "a", with("Generation", 7)), syncGroup(5, "g", "a", with("MemberID", "ghost")), syncGroup(4, "g", "a", with("Generation", -1)),
		syncGroup(5, "nosuch", "a"), syncGroup(0, "nosuch", "a"), syncGroup(5, "=", "a"), syncGroup(4, "=", "a"),
	)},
	{name: "before the leader has assigned", steps: []step{
		coordinated(0, "g"), topic("t", 1),
		join(3, "g", "a"),
		heartbeat(4, "g", "a"), commit(8, "g", "a", offset("t-0", 1)), commit(2, "g", "a", offset("t-0", 1)), commit(8, "g", "", offset("t-0", 1)),
		known("g"), describeGroups(5, "g"), listGroups(5), deleteGroups(2, "g"), deleteOffsets("g", "t-0"),
		join(3, "g", "a"), // with nothing new
		join(3, "g", "a", protocols("range:new")),
		join(3, "g", "b", protocols("other")),
		syncGroup(3, "g", "a", assign("a", "all")), heartbeat(4, "g", "a"),
	}},
	{name: "a leader that joins again", steps: append(stable("g", "a"),
		join(9, "g", "a"), heartbeat(4, "g", "a", with("Generation", 1)), heartbeat(4, "g", "a"),
		syncGroup(4, "g", "a", with("Generation", 1)), syncGroup(4, "g", "a"),
		join(4, "g", "a", protocols("range:new")), syncGroup(4, "g", "a", assign("a", "next")), describeGroups(5, "g"),
	)},
	{name: "members leave", steps: append(stable("g", "a", "b", "c"),
		leave(5, "g", "ghost"), leave(2, "g", "ghost"), leave(5, "g"), leave(5, "g", ""), leave(3, "g", "ghost", "b", "ghost"),
		heartbeat(4, "g", "b"), heartbeat(4, "g", "a"), heartbeat(4, "g", "c"),
		leave(0, "g", "b"), leave(1, "g", "c"), heartbeat(4, "g", "a"), describeGroups(5, "g"),
		leave(4, "nosuch", "a"), leave(2, "nosuch", "a"), leave(5, "=", "a"), leave(0, "=", "a"), leave(5, "nosuch"),
		leave(5, "g", "a"), describeGroups(6, "g"), heartbeat(4, "g", "a"), syncGroup(4, "g", "a"),
	)},
	{name: "generations go on when a group was empty", steps: append(stable("g", "a"),
		leave(5, "g", "a"), join(3, "g", "b"), syncGroup(3, "g", "b"), leave(5, "g", "b"),
		deleteGroups(2, "g"), join(3, "g", "c"),
	)},
}
