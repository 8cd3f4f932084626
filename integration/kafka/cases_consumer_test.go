package kafka

// Groups of the consumer protocol (KIP-848), in which the broker assigns.
var consumerScripts = []script{
	{name: "a consumer comes and goes", steps: []step{
		coordinated(0, "g"), topic("t", 3), ready("t", "g"),
		beat("g", "a", subscribed("t")), beat("g", "a", owning("t-0", "t-1", "t-2")), beat("g", "a"), describeConsumers(1, "g"), describeConsumers(0, "g"),
		beat("g", "a", with("MemberEpoch", -1)), describeConsumers(1, "g"), beat("g", "a", with("MemberEpoch", -1)),
		beat("g", "a", subscribed("t")), beat("g", "a", with("MemberEpoch", -1)), listGroups(5),
	}},
	{name: "a consumer whose id the broker draws", steps: []step{
		coordinated(0, "g"), topic("t", 1), ready("t", "g"),
		beatIn(0, "g", "a", subscribed("t")), beatIn(0, "g", "a", owning("t-0")), describeConsumers(0, "g"),
		beatIn(0, "g", "a", with("MemberEpoch", -1)), beat("g", "b", subscribed("t"), with("MemberID", "")),
		beatIn(0, "g", "c", subscribed("t"), with("MemberID", "chosen")),
	}},
	{name: "first heartbeats that say too little", steps: []step{
		coordinated(0, "g"), topic("t", 1), ready("t", "g"),
		beat("g", "a", subscribed("t"), with("SubscribedTopicNames", nil)), beat("g", "a", subscribed("t"), with("RebalanceTimeoutMillis", -1)),
		beat("g", "a", subscribed("t"), with("Topics", nil)), beat("g", "a", subscribed("t"), owning("t-0")), beat("g", "a", subscribed("t"), with("RebalanceTimeoutMillis", 0)),
		beat("=", "a", subscribed("t")), beat("=  ", "a", subscribed("t")), beat("g", "a", subscribed("t"), with("InstanceID", "")), beat("g", "a", subscribed("t"), with("RackID", "")),
		beat("g", "a", subscribed("t"), with("ServerAssignor", "nosuch")), beat("g", "a", subscribed("t"), with("ServerAssignor", "")),
		beat("g", "a", subscribed("t"), with("SubscribedTopicRegex", "(")), beat("g", "a", subscribed("t"), with("MemberEpoch", -3)),
		beat("g", "a", with("MemberEpoch", -2)), describeConsumers(1, "g"), listGroups(5),
	}},
	{name: "epochs", steps: []step{
		coordinated(0, "g"), topic("t", 1), ready("t", "g"),
		beat("g", "a", subscribed("t")), beat("g", "a", owning("t-0")),
		beat("g", "a", with("MemberEpoch", 77)), beat("g", "a", with("MemberEpoch", 1)), beat("g", "a", with("MemberEpoch", 1), owning("t-0")),
		beat("g", "a", with("MemberID", "ghost"), with("MemberEpoch", 1)), beat("g", "a", with("MemberID", "ghost"), with("MemberEpoch", -1)),
		beat("nosuch", "a", with("MemberEpoch", 5)), beat("nosuch", "a", with("MemberEpoch", -1)), beat("nosuch", "a", with("MemberEpoch", 0)),
		beat("g", "a", subscribed("t")), // it lost its memory
		beat("g", "a"),
	}},
	{name: "topics that are wanted change", steps: []step{
		coordinated(0, "g"), topic("t", 2), topic("u", 1), ready("u", "g"),
		beat("g", "a", subscribed("t")), beat("g", "a", owning("t-0", "t-1")),
		soon(beat("g", "a", wants("t", "u"))), settle("g", 3, "a"), describeConsumers(1, "g"), beat("g", "a", wants("t", "u")), // nothing new
		soon(beat("g", "a", wants("u"))), settle("g", 4, "a"), describeConsumers(1, "g"),
		soon(beat("g", "a", wants())), settle("g", 5, "a"), describeConsumers(1, "g"),
	}},
	{name: "topics that there are not", steps: []step{
		coordinated(0, "g"), topic("t", 1), ready("t", "g", "h"),
		beat("g", "a", subscribed("nosuch")), describeConsumers(1, "g"),
		soon(beat("g", "a", wants("nosuch", "t"))), settle("g", 3, "a"), describeConsumers(1, "g"),
		beat("h", "b", subscribed("t", "t")), describeConsumers(1, "h"),
	}},
	{name: "topics that match", steps: []step{
		coordinated(0, "g"), topic("t-one", 1), topic("t-two", 1), topic("u", 1), ready("u", "g", "h", "k"),
		soon(beat("g", "a", subscribed("u"), with("SubscribedTopicNames", nil), matching("t-.*"))), settle("g", 2, "a"), describeConsumers(1, "g"),
		soon(beat("g", "a", matching("nothing"))), settle("g", 3, "a"), describeConsumers(1, "g"),
		beat("g", "a", with("SubscribedTopicRegex", "[")),
		soon(beat("h", "b", subscribed("u"), matching("t-o"))), settle("h", 2, "b"), describeConsumers(1, "h"), // the whole name has to match
		beatIn(0, "k", "e", subscribed("t-one"), matching("t-.*")),
	}},
	{name: "assignors", steps: []step{
		coordinated(0, "g"), topic("t", 2), ready("t", "u", "r", "d"),
		beat("u", "a", subscribed("t"), with("ServerAssignor", "uniform")), describeConsumers(1, "u"),
		beat("r", "b", subscribed("t"), with("ServerAssignor", "range")), describeConsumers(1, "r"),
		soon(beat("r", "b", with("ServerAssignor", "uniform"))), settle("r", 3, "b"), describeConsumers(1, "r"),
		beat("r", "b", with("ServerAssignor", "Range")), beat("d", "c", subscribed("t")), describeConsumers(0, "d"),
	}},
	{name: "two consumers", steps: []step{
		coordinated(0, "g"), topic("t", 4), ready("t", "g"),
		beat("g", "a", subscribed("t")), soon(beat("g", "b", subscribed("t"))), settle("g", 3, "a", "b"), counted(describeConsumers(1, "g")),
		beat("g", "b", with("MemberEpoch", -1)), settle("g", 4, "a"), counted(describeConsumers(1, "g")),
	}},
	{name: "more consumers than partitions", steps: []step{
		coordinated(0, "g"), topic("t", 1), topic("u", 3), ready("u", "g"),
		beat("g", "a", subscribed("t")), settle("g", 2, "a"),
		soon(beat("g", "b", subscribed("t"))), settle("g", 3, "a", "b"), describeConsumers(1, "g"), // who has it keeps it
		soon(beat("g", "b", wants("u"))), settle("g", 4, "a", "b"), describeConsumers(1, "g"),
	}},
	{name: "static consumers", steps: []step{
		coordinated(0, "g"), topic("t", 1), ready("t", "g"),
		beat("g", "a", subscribed("t"), instance("i")), beat("g", "a", owning("t-0"), instance("i")), beat("g", "b", subscribed("t"), instance("i")),
		beat("g", "a", instance("other")), beat("g", "a", instance("i"), with("MemberEpoch", -2)), describeConsumers(1, "g"), beat("g", "a", instance("i")),
		beat("g", "b", subscribed("t"), instance("i")), beat("g", "a", instance("i"), with("MemberEpoch", 2)), describeConsumers(1, "g"),
		beat("g", "b", instance("i"), with("MemberEpoch", -1)), describeConsumers(1, "g"),
	}},
	{name: "offsets of consumers", steps: []step{
		coordinated(0, "g"), topic("t", 1), ready("t", "g"),
		beat("g", "a", subscribed("t")), beat("g", "a", owning("t-0")),
		commit(9, "g", "a", offset("t-0", 1)), commit(10, "g", "a", offset("t-0", 2)), commit(8, "g", "a", offset("t-0", 3)), commit(2, "g", "a", offset("t-0", 3)),
		commit(9, "g", "a", with("Generation", 77), offset("t-0", 4)), commit(8, "g", "a", with("Generation", 77), offset("t-0", 4)), commit(9, "g", "a", with("Generation", 1), offset("t-0", 4)),
		commit(9, "g", "a", with("MemberID", "ghost"), offset("t-0", 5)), commit(9, "g", "", offset("t-0", 5)), commit(9, "g", "a", with("Generation", -1), offset("t-0", 5)),
		committed(9, "g", []string{"t-0"}, reading("a", 2)), committed(9, "g", []string{"t-0"}, reading("a", 77)), committed(9, "g", []string{"t-0"}, reading("ghost", 2)),
		committed(10, "g", []string{"t-0"}, reading("a", 1)), committed(9, "g", []string{"t-0"}), committed(8, "g", []string{"t-0"}), committed(1, "g", []string{"t-0"}),
		committed(9, "nosuch", []string{"t-0"}, reading("ghost", 2)), deleteOffsets("g", "t-0"),
		beat("g", "a", with("MemberEpoch", -1)), commit(9, "g", "a", offset("t-0", 9)), commit(9, "g", "", offset("t-0", 9)), committed(9, "g", []string{"t-0"}, reading("a", 2)), deleteOffsets("g", "t-0"),
	}},
	{name: "consumer groups by the other requests", steps: []step{
		coordinated(0, "g"), topic("t", 1), ready("t", "g"),
		beat("g", "a", subscribed("t")), beat("g", "a", owning("t-0")),
		describeGroups(5, "g"), describeGroups(6, "g"), listGroups(3), listGroups(4), listGroups(5), listGroups(5, types("consumer")), listGroups(5, types("Consumer"), states("stable")),
		listGroups(5, states("Assigning")), listGroups(4, states("reconciling")),
		heartbeat(4, "g", "a"), heartbeat(4, "g", "ghost"), syncGroup(4, "g", "a"), deleteGroups(3, "g"), join(9, "g", "c"), join(3, "g", "c", protocols("range:junk")),
		leave(5, "g", "ghost"), leave(5, "g", "a"), describeConsumers(1, "g"), beat("g", "a"), deleteGroups(3, "g"), describeConsumers(0, "g"),
	}},
	{name: "described groups of other kinds", steps: append(append([]step{topic("t", 1)}, stable("g", "a")...),
		describeConsumers(1, "g"), describeConsumers(0, "nosuch"), describeConsumers(1), describeConsumers(1, "="), describeConsumers(1, "nosuch", "nosuch"),
		beat("g", "b", subscribed("t")), leave(5, "g", "a"), beat("g", "b", subscribed("t")), describeConsumers(1, "g"),
	)},
	{name: "a classic member in a consumer group", steps: []step{
		coordinated(0, "g"), topic("t", 2), ready("t", "g", "h"),
		beat("g", "a", subscribed("t")), settle("g", 2, "a"),
		join(9, "g", "c", subscribing("range", "t")), beat("g", "a", with("MemberEpoch", -1)),
		join(3, "h", "d", subscribing("range", "t")), syncGroup(3, "h", "d", assignPartitions("d", "t", 0, 1)), describeGroups(5, "h"),
		beat("h", "e", subscribed("t")), // the group is taken over
		heartbeat(4, "h", "d"),
	}},
}
