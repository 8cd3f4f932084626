package kafka

// impatient is a member that is awaited for a second.
var impatient = with("RebalanceTimeoutMillis", 1000)

// Rebalances: several members on connections of their own.
var groupRebalanceScripts = []script{
	{name: "a second member comes", steps: append(stable("g", "a"),
		ahead("b", join(3, "g", "b")),
		heartbeat(4, "g", "a"), heartbeat(0, "g", "a"), syncGroup(4, "g", "a"), describeGroups(5, "g"), listGroups(4),
		join(9, "g", "a"), answerTo("b"),
		heartbeat(4, "g", "b"), heartbeat(4, "g", "a"),
		ahead("b", syncGroup(4, "g", "b")), describeGroups(5, "g"),
		syncGroup(4, "g", "a", assign("a", "left"), assign("b", "right"), assign("stranger", "none")), answerTo("b"),
		heartbeat(4, "g", "b"), heartbeat(4, "g", "a"), describeGroups(5, "g"), syncGroup(0, "g", "b"),
	)},
	{name: "a second member comes twice", steps: append(stable("g", "a"),
		join(9, "g", "b"), heartbeat(4, "g", "a"), // an id is not a member
		ahead("b", join(9, "g", "b", with("Reason", "new"))), heartbeat(4, "g", "a"),
		join(5, "g", "a"), answerTo("b"), ahead("b", syncGroup(5, "g", "b")), syncGroup(5, "g", "a", assign("b", "all")), answerTo("b"),
	)},
	{name: "offsets are committed while members are awaited", steps: append(append([]step{topic("t", 1)}, stable("g", "a")...),
		ahead("b", join(3, "g", "b")),
		commit(8, "g", "a", offset("t-0", 4)), commit(2, "g", "a", offset("t-0", 5)), commit(9, "g", "a", with("Generation", 9), offset("t-0", 6)),
		commit(8, "g", "", offset("t-0", 7)), committed(5, "g", []string{"t-0"}), deleteOffsets("g", "t-0"), deleteGroups(2, "g"),
		join(3, "g", "a"), answerTo("b"),
	)},
	{name: "a follower joins again", steps: append(stable("g", "a", "b"),
		join(5, "g", "b"), join(9, "g", "b"), heartbeat(4, "g", "a"), // with nothing new
		ahead("b", join(5, "g", "b", protocols("range:new"))), heartbeat(4, "g", "a"),
		join(5, "g", "a"), answerTo("b"),
		join(5, "g", "b", protocols("range:new")), join(5, "g", "a"), // before the assignment
		syncGroup(4, "g", "a", assign("b", "b")), syncGroup(4, "g", "b"),
	)},
	{name: "a leader asks for a rebalance", steps: append(stable("g", "a", "b"),
		ahead("a", join(9, "g", "a")), heartbeat(4, "g", "b"), commit(8, "g", "b"),
		join(9, "g", "b"), answerTo("a"),
		ahead("b", syncGroup(4, "g", "b")), syncGroup(4, "g", "a", assign("a", "one"), assign("b", "two")), answerTo("b"),
	)},
	{name: "a member leaves a group of three", steps: append(stable("g", "a", "b", "c"),
		leave(5, "g", "b"), heartbeat(4, "g", "a"), heartbeat(4, "g", "c"),
		ahead("c", join(9, "g", "c")), join(9, "g", "a"), answerTo("c"),
		syncGroup(4, "g", "a", assign("a", "a"), assign("b", "who left"), assign("c", "c")), syncGroup(4, "g", "c"), describeGroups(5, "g"),
	)},
	{name: "a leader leaves", steps: append(stable("g", "a", "b", "c"),
		leave(3, "g", "a"), heartbeat(4, "g", "b"),
		ahead("c", join(9, "g", "c")), prepare(join(9, "g", "b"))[0], prepare(answerTo("c"))[0], // who leads follows from a hash in Kafka
		heartbeat(4, "g", "c"), heartbeat(4, "g", "b"), heartbeat(4, "g", "a"),
	)},
	{name: "a leader leaves one behind", steps: append(stable("g", "a", "b"),
		leave(3, "g", "a"), heartbeat(4, "g", "b"), join(9, "g", "b"), syncGroup(5, "g", "b", assign("b", "all")), heartbeat(4, "g", "b"),
	)},
	{name: "who is awaited leaves", steps: append(stable("g", "a", "b", "c"),
		ahead("a", join(9, "g", "a")), ahead("c", join(9, "g", "c")), leave(4, "g", "b"), answerTo("a"), answerTo("c"),
		ahead("c", syncGroup(4, "g", "c")), syncGroup(4, "g", "a", assign("c", "c")), answerTo("c"),
	)},
	{name: "a member leaves while others wait for the assignment", steps: append(stable("g", "a", "b", "c"),
		ahead("a", join(9, "g", "a")), ahead("b", join(9, "g", "b")), join(9, "g", "c"), answerTo("a"), answerTo("b"),
		ahead("b", syncGroup(4, "g", "b")), leave(4, "g", "c"), answerTo("b"),
		heartbeat(4, "g", "a"), heartbeat(4, "g", "b"), syncGroup(4, "g", "a"),
	)},
	{name: "a member joins while others wait for the assignment", steps: append(stable("g", "a", "b"),
		ahead("a", join(9, "g", "a")), join(9, "g", "b"), answerTo("a"),
		ahead("b", syncGroup(4, "g", "b")), ahead("c", join(3, "g", "c")), answerTo("b"),
		syncGroup(4, "g", "a"), heartbeat(4, "g", "a"), ahead("b", join(9, "g", "b")), join(9, "g", "a"), answerTo("b"), answerTo("c"),
	)},
	{name: "a newcomer leaves while it waits", steps: append(stable("g", "a"),
		ahead("b", join(3, "g", "b")), heartbeat(4, "g", "a"), join(9, "g", "a"), answerTo("b"), leave(4, "g", "b"),
		heartbeat(4, "g", "a"), join(9, "g", "a"), syncGroup(4, "g", "a"), describeGroups(5, "g"),
	)},
	{name: "a member leaves itself behind while it joins", steps: append(stable("g", "a", "b"),
		ahead("b", join(9, "g", "b", protocols("range:new"))), leave(4, "g", "b"), answerTo("b"),
		heartbeat(4, "g", "a"), join(9, "g", "a"),
	)},
	{name: "a connection that goes is no member that leaves", steps: append(stable("g", "a"),
		ahead("b", join(3, "g", "b")), on("b"), hangUp(), on(""), heartbeat(4, "g", "a"), describeGroups(5, "g"),
	)},
	{name: "who misses the rebalance is left behind", steps: append(stableOf("g", func(string) []tweak { return []tweak{impatient} }, "a", "b"),
		ahead("b", join(9, "g", "b", impatient, protocols("range:new"))), answerTo("b"), // a second later
		heartbeat(4, "g", "a"), join(9, "g", "a"), heartbeat(4, "g", "b"), syncGroup(4, "g", "b"), describeGroups(5, "g"),
	)},
	{name: "an id that was given holds up the next rebalance", steps: append(stableOf("g", func(string) []tweak { return []tweak{impatient} }, "a"),
		join(9, "g", "b", impatient), ahead("a", join(9, "g", "a", impatient)), leave(4, "g", "b"), answerTo("a"),
		syncGroup(4, "g", "a"),
	)},
	{name: "an id that was given holds up the next rebalance for a while", steps: append(stableOf("g", func(string) []tweak { return []tweak{impatient} }, "a"),
		join(9, "g", "b", impatient), ahead("a", join(9, "g", "a", impatient)), answerTo("a"), syncGroup(4, "g", "a"),
		ahead("b", join(9, "g", "b", impatient)), join(9, "g", "a", impatient), answerTo("b"), // it is still good
	)},
	{name: "a member that falls silent is removed", steps: append(stableOf("g", func(string) []tweak { return []tweak{with("SessionTimeoutMillis", 6000)} }, "a"),
		has("g", 0), heartbeat(4, "g", "a"), join(9, "g", "a"), describeGroups(5, "g"), commit(8, "g", "a"),
	)},
	{name: "a follower that falls silent is removed", steps: append(append(stable("g", "a"),
		ahead("b", join(3, "g", "b", with("SessionTimeoutMillis", 6000))), join(3, "g", "a"), answerTo("b"), syncGroup(3, "g", "a"), syncGroup(3, "g", "b")),
		has("g", 1), heartbeat(4, "g", "b"), heartbeat(4, "g", "a"), describeGroups(5, "g"), join(9, "g", "a"),
	)},
}

// Static members (KIP-345).
var groupStaticScripts = []script{
	{name: "a static member joins at once", steps: []step{
		coordinated(0, "g"),
		join(5, "g", "a", instance("i")), syncGroup(3, "g", "a", instance("i"), assign("a", "all")), heartbeat(3, "g", "a", instance("i")),
		heartbeat(3, "g", "a"), heartbeat(3, "g", "a", instance("other")), heartbeat(4, "g", "a", instance("i"), with("Generation", 9)),
		heartbeat(4, "g", "a", instance("i"), with("MemberID", "ghost")), heartbeat(4, "g", "a", instance("")), describeGroups(3, "g"), describeGroups(5, "g"),
	}},
	{name: "a static leader comes back", steps: append(static("a"),
		join(5, "g", "b", instance("i-a")), // it takes the place of its older self
		heartbeat(4, "g", "a", instance("i-a")), heartbeat(4, "g", "a"), syncGroup(4, "g", "a", instance("i-a")), syncGroup(4, "g", "b", instance("i-a")),
		commit(8, "g", "a", instance("i-a"), offset("t-0", 1)), commit(8, "g", "a", offset("t-0", 1)), join(5, "g", "a", instance("i-a")), join(9, "g", "a"),
		leave(3, "g", "a/i-a"), heartbeat(4, "g", "b", instance("i-a")),
		join(9, "g", "c", instance("i-a")), syncGroup(5, "g", "c"), describeGroups(5, "g"),
	)},
	{name: "a static member comes back in each version", steps: append(static("a"),
		join(6, "g", "b", instance("i-a")), join(7, "g", "c", instance("i-a")), join(8, "g", "d", instance("i-a")), join(9, "g", "e", instance("i-a")),
		heartbeat(4, "g", "e"), heartbeat(4, "g", "d"),
	)},
	{name: "a static follower comes back", steps: append(static("a", "b"),
		join(9, "g", "c", instance("i-b")), syncGroup(4, "g", "c"), heartbeat(4, "g", "a"), heartbeat(4, "g", "b", instance("i-b")),
		join(5, "g", "d", instance("i-b")), describeGroups(5, "g"),
	)},
	{name: "a static member comes back with other protocols", steps: append(static("a"),
		join(9, "g", "b", instance("i-a"), protocols("range:new")), // the same choice
		describeGroups(5, "g"),
		join(9, "g", "c", instance("i-a"), protocols("roundrobin", "range")), // another choice
		syncGroup(5, "g", "c", with("Protocol", "roundrobin")), heartbeat(4, "g", "c"),
		join(9, "g", "d", instance("i-a"), protocols("other")), join(9, "g", "e", instance("i-a"), with("ProtocolType", "connect")),
	)},
	{name: "a static member comes back while members are awaited", steps: append(static("a", "b"),
		ahead("c", join(3, "g", "c")), heartbeat(4, "g", "b"),
		ahead("d", join(5, "g", "d", instance("i-b"))), heartbeat(4, "g", "b", instance("i-b")),
		join(5, "g", "a", instance("i-a")), answerTo("d"), answerTo("c"),
	)},
	{name: "the older self of a static member waits", steps: append(static("a", "b"),
		ahead("b", join(5, "g", "b", instance("i-b"), protocols("range:new"))),
		ahead("c", join(5, "g", "c", instance("i-b"))), answerTo("b"),
		join(5, "g", "a", instance("i-a")), answerTo("c"),
	)},
	{name: "a static member comes back before the assignment", steps: []step{
		coordinated(0, "g"), join(5, "g", "a", instance("i")), join(5, "g", "b", instance("i")),
		syncGroup(4, "g", "a", instance("i")), syncGroup(4, "g", "b", instance("i"), assign("b", "all")), heartbeat(4, "g", "b"),
	}},
	{name: "static members leave", steps: append(static("a", "b"),
		leave(3, "g", "/nosuch"), leave(5, "g", "b/i-a"), leave(4, "g", "ghost/i-b"), leave(2, "g", "b"), heartbeat(4, "g", "b"),
		leave(5, "g", "/i-b", "/nosuch", "/i-a"), describeGroups(5, "g"), heartbeat(4, "g", "a"),
	)},
	{name: "commits of a static member", steps: append(append([]step{topic("t", 1)}, static("a")...),
		commit(7, "g", "a", instance("i-a"), offset("t-0", 1)), commit(8, "g", "a", offset("t-0", 2)), commit(9, "g", "a", instance("other"), offset("t-0", 3)),
		commit(9, "g", "a", instance("i-a"), with("MemberID", "ghost"), offset("t-0", 4)), commit(9, "g", "a", instance("i-a"), with("Generation", 5), offset("t-0", 5)),
		commit(6, "g", "a", offset("t-0", 6)), committed(7, "g", []string{"t-0"}),
	)},
	{name: "an id that was given does not become a static member", steps: []step{
		coordinated(0, "g"), join(9, "g", "a"), join(9, "g", "a", with("InstanceID", "i")), known("g"), describeGroups(5, "g"),
	}},
}

// static is a stable group of static members: the instance of a is i-a.
func static(names ...string) []step {
	steps := prepare(join(5, "g", names[0], instance("i-"+names[0])), syncGroup(3, "g", names[0], assign(names[0], names[0])))
	for _, name := range names[1:] {
		leader := names[0]
		steps = append(steps, prepare(
			ahead(name, join(5, "g", name, instance("i-"+name))), join(5, "g", leader, instance("i-"+leader)), answerTo(name),
			syncGroup(3, "g", leader, assign(leader, leader), assign(name, name)), syncGroup(3, "g", name),
		)...)
	}
	return append([]step{coordinated(0, "g")}, steps...)
}
