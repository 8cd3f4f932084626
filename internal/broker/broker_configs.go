package broker

import (
	"maps"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// An update says how a broker's config may be changed (Kafka's
// DynamicBrokerConfig).
type update uint8

const (
	fixed       update = iota // not while the broker runs
	dynamic                   // for this broker, or for the whole cluster
	perBroker                 // for this broker only
	perListener               // for this broker, behind listener.name.NAME. only
)

// A brokerEntry is one line of the table of a broker's configs.
type brokerEntry struct {
	config
	update update
}

// brokerConfigs lists the configs of a broker that mean something here or that
// clients and tools ask for, with the defaults of Apache Kafka 4.4, which has 350.
// Those that topics and groups follow come from their tables, see brokerConfig.
var brokerConfigs = []brokerEntry{
	{config{name: "advertised.listeners", kind: aList, value: null, doc: "The address that clients are told."}, fixed},
	{config{name: "alter.config.policy.class.name", kind: aClass, value: null, doc: "A class that judges changes of configs. There is none here."}, fixed},
	{config{name: "authorizer.class.name", kind: aString, doc: "Who decides what is allowed. Here everything is."}, fixed},
	{config{name: "auto.create.topics.enable", kind: aBool, value: "true", doc: "Whether a topic is made when it is first asked for."}, fixed},
	{config{name: "auto.leader.rebalance.enable", kind: aBool, value: "true", doc: "Whether leaders move back. There is one broker here."}, fixed},
	{config{name: "background.threads", kind: anInt, value: "10", check: atLeast(1), doc: "Threads for background work. Nothing here goes by it."}, dynamic},
	{config{name: "broker.id", kind: anInt, value: "-1", doc: "The broker's number."}, fixed},
	{config{name: "broker.rack", kind: aString, value: null, doc: "Where the broker stands."}, fixed},
	{config{name: "config.providers", kind: aList, doc: "Where else values of configs come from. Nothing here goes by it."}, dynamic},
	{config{name: "connections.max.idle.ms", kind: aLong, value: "600000", doc: "How long a connection may be idle."}, fixed},
	{config{name: "controlled.shutdown.enable", kind: aBool, value: "true", doc: "Whether leaders move away before a broker ends. There is one broker here."}, fixed},
	{config{name: "create.topic.policy.class.name", kind: aClass, value: null, doc: "A class that judges new topics. There is none here."}, fixed},
	{config{name: "default.replication.factor", kind: anInt, value: "1", doc: "Replicas of a topic that does not say. It has to be 1 here."}, fixed},
	{config{name: "delete.topic.enable", kind: aBool, value: "true", doc: "Whether topics can be deleted."}, fixed},
	{config{name: "fetch.max.bytes", kind: anInt, value: "57671680", doc: "The most bytes of an answer to a Fetch."}, fixed},
	{config{name: "group.consumer.assignment.interval.ms", kind: anInt, value: "1000", check: atLeast(0), doc: "The default of consumer.assignment.interval.ms."}, dynamic},
	{config{name: "group.initial.rebalance.delay.ms", kind: anInt, value: "3000", doc: "How long a new group waits for more members."}, fixed},
	{config{name: "group.max.session.timeout.ms", kind: anInt, value: "1800000", doc: "The longest session of a member of a classic group."}, fixed},
	{config{name: "group.max.size", kind: anInt, value: "2147483647", doc: "The most members of a classic group."}, fixed},
	{config{name: "group.min.session.timeout.ms", kind: anInt, value: "6000", doc: "The shortest session of a member of a classic group."}, fixed},
	{config{name: "group.share.assignment.interval.ms", kind: anInt, value: "1000", check: atLeast(0), doc: "The default of share.assignment.interval.ms."}, dynamic},
	{config{name: "group.streams.assignment.interval.ms", kind: anInt, value: "1000", check: atLeast(0), doc: "The default of streams.assignment.interval.ms."}, dynamic},
	{config{name: "group.streams.assignors", kind: aList, value: "sticky", doc: "Assignors of streams groups. There are none here."}, fixed},
	{config{name: "inter.broker.listener.name", kind: aString, value: null, doc: "The listener for other brokers. There are none here."}, fixed},
	{config{name: "listener.security.protocol.map", kind: aString, value: "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
		doc: "What listeners speak. Here it is PLAINTEXT."}, perBroker},
	{config{name: "listeners", kind: aList, value: "PLAINTEXT://:9092", doc: "The addresses that are listened at."}, perBroker},
	{config{name: "log.cleaner.threads", kind: anInt, value: "1", check: atLeast(0), doc: "Threads that compact logs. Nothing is compacted here."}, dynamic},
	{config{name: "log.dir", kind: aList, value: "/tmp/kafka-logs", doc: "Where logs are, unless log.dirs says."}, fixed},
	{config{name: "log.dirs", kind: aList, value: null, doc: "Where logs are. Here they are in memory."}, fixed},
	{config{name: "log.flush.interval.ms", kind: aLong, value: null, doc: "The default of flush.ms."}, dynamic},
	{config{name: "log.retention.check.interval.ms", kind: aLong, value: "300000", doc: "How often old records are looked for."}, fixed},
	{config{name: "log.retention.hours", kind: anInt, value: "168", doc: "The default of retention.ms in hours; here nothing is deleted by it."}, fixed},
	{config{name: "log.retention.minutes", kind: anInt, value: null, doc: "The default of retention.ms in minutes."}, fixed},
	{config{name: "log.retention.ms", kind: aLong, value: null, check: required("unlimited (-1) or, greater than or equal to 1", func(n int64) bool { return n != 0 }), doc: "The default of retention.ms."}, dynamic},
	{config{name: "log.roll.hours", kind: anInt, value: "168", doc: "The default of segment.ms in hours."}, fixed},
	{config{name: "log.roll.jitter.hours", kind: anInt, value: "0", doc: "The default of segment.jitter.ms in hours."}, fixed},
	{config{name: "log.roll.jitter.ms", kind: aLong, value: null, check: required("greater than or equal to 0", func(n int64) bool { return n >= 0 }), doc: "The default of segment.jitter.ms."}, dynamic},
	{config{name: "log.roll.ms", kind: aLong, value: null, check: required("greater than or equal to 1", func(n int64) bool { return n >= 1 }), doc: "The default of segment.ms."}, dynamic},
	{config{name: "max.connection.creation.rate", kind: anInt, value: "2147483647", check: atLeast(0), doc: "New connections per second. There is no limit here."}, dynamic},
	{config{name: "max.connections", kind: anInt, value: "2147483647", check: atLeast(0), doc: "The most connections. Nothing here goes by it."}, dynamic},
	{config{name: "max.connections.per.ip", kind: anInt, value: "2147483647", check: atLeast(0), doc: "The most connections of an address. There is no limit here."}, dynamic},
	{config{name: "max.connections.per.ip.overrides", kind: aString, doc: "Exceptions from max.connections.per.ip."}, dynamic},
	{config{name: "max.incremental.fetch.session.cache.slots", kind: anInt, value: "1000", doc: "The most fetch sessions."}, fixed},
	{config{name: "max.request.partition.size.limit", kind: anInt, value: "2000", doc: "The most partitions that DescribeTopicPartitions tells at once."}, fixed},
	{config{name: "metric.reporters", kind: aList, value: "org.apache.kafka.common.metrics.JmxReporter", doc: "Who is told of metrics. Here they are served over HTTP."}, dynamic},
	{config{name: "node.id", kind: anInt, value: null, doc: "The node's number."}, fixed},
	{config{name: "num.io.threads", kind: anInt, value: "8", check: atLeast(1), doc: "Threads that handle requests. Here each connection has its own."}, dynamic},
	{config{name: "num.network.threads", kind: anInt, value: "3", check: atLeast(1), doc: "Threads that read and write sockets. Here each connection has its own."}, dynamic},
	{config{name: "num.partitions", kind: anInt, value: "1", doc: "Partitions of a topic that does not say."}, fixed},
	{config{name: "num.recovery.threads.per.data.dir", kind: anInt, value: "2", check: atLeast(1), doc: "Threads that open logs. There is no disk here."}, dynamic},
	{config{name: "num.replica.fetchers", kind: anInt, value: "1", check: atLeast(1), doc: "Threads that copy from leaders. There is one broker here."}, dynamic},
	{config{name: "offset.metadata.max.bytes", kind: anInt, value: "4096", doc: "The most bytes of what stands beside a committed offset."}, fixed},
	{config{name: "offsets.retention.minutes", kind: anInt, value: "10080", doc: "How long a group without members keeps its offsets."}, fixed},
	{config{name: "offsets.topic.num.partitions", kind: anInt, value: "50", doc: "Partitions of __consumer_offsets."}, fixed},
	{config{name: "offsets.topic.replication.factor", kind: aShort, value: "3", doc: "Replicas of __consumer_offsets. It is 1 here."}, fixed},
	{config{name: "principal.builder.class", kind: aClass, value: "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
		doc: "Who says who a client is. Here nobody asks."}, perListener},
	{config{name: "process.roles", kind: aList, value: null, doc: "What this process is: broker, controller or both."}, fixed},
	{config{name: "producer.id.expiration.ms", kind: anInt, value: "86400000", check: atLeast(1), doc: "How long an idle producer is remembered. Here it is for ever."}, dynamic},
	{config{name: "queued.max.requests", kind: anInt, value: "500", doc: "The most requests that wait. Here a connection has one at a time."}, fixed},
	{config{name: "quota.window.num", kind: anInt, value: "11", doc: "Samples that quotas are judged by. There are no quotas here."}, fixed},
	{config{name: "quota.window.size.seconds", kind: anInt, value: "1", doc: "The length of a sample of a quota. There are no quotas here."}, fixed},
	{config{name: "replica.fetch.max.bytes", kind: anInt, value: "1048576", doc: "The most bytes of a partition that a replica copies at once. There is one broker here."}, fixed},
	{config{name: "replica.lag.time.max.ms", kind: aLong, value: "30000", doc: "How long a replica may lag. There is one broker here."}, fixed},
	{config{name: "replica.selector.class", kind: aString, value: null, doc: "Who chooses the replica to read from. There is one broker here."}, fixed},
	{config{name: "request.timeout.ms", kind: anInt, value: "30000", doc: "How long the broker waits for another. There are none here."}, fixed},
	{config{name: "sasl.enabled.mechanisms", kind: aList, value: "GSSAPI", doc: "How clients may log in. They cannot here."}, perListener},
	{config{name: "sasl.jaas.config", kind: aPassword, value: null, doc: "Login modules. Clients cannot log in here."}, perListener},
	{config{name: "security.inter.broker.protocol", kind: aString, value: "PLAINTEXT", doc: "What brokers speak among themselves. There is one here."}, fixed},
	{config{name: "socket.receive.buffer.bytes", kind: anInt, value: "102400", doc: "The receive buffer of a socket. Here it is the system's own."}, fixed},
	{config{name: "socket.request.max.bytes", kind: anInt, value: "104857600", doc: "The most bytes of a Produce request; other requests have a lower limit here."}, fixed},
	{config{name: "socket.send.buffer.bytes", kind: anInt, value: "102400", doc: "The send buffer of a socket. Here it is the system's own."}, fixed},
	{config{name: "ssl.client.auth", kind: aString, value: "none", doc: "Whether clients need a certificate. There is no TLS here."}, perListener},
	{config{name: "ssl.enabled.protocols", kind: aList, value: "TLSv1.2,TLSv1.3", doc: "Versions of TLS. There is none here."}, perListener},
	{config{name: "ssl.key.password", kind: aPassword, value: null, doc: "The password of the key. There is no TLS here."}, perListener},
	{config{name: "ssl.keystore.location", kind: aString, value: null, doc: "Where the certificate is. There is no TLS here."}, perListener},
	{config{name: "ssl.keystore.password", kind: aPassword, value: null, doc: "The password of the certificate's file. There is no TLS here."}, perListener},
	{config{name: "ssl.keystore.type", kind: aString, value: "JKS", doc: "The form of the certificate's file. There is no TLS here."}, perListener},
	{config{name: "ssl.truststore.location", kind: aString, value: null, doc: "Where trusted certificates are. There is no TLS here."}, perListener},
	{config{name: "ssl.truststore.password", kind: aPassword, value: null, doc: "The password of the trusted certificates' file. There is no TLS here."}, perListener},
	{config{name: "ssl.truststore.type", kind: aString, value: "JKS", doc: "The form of the trusted certificates' file. There is no TLS here."}, perListener},
	{config{name: "transaction.max.timeout.ms", kind: anInt, value: "900000", doc: "The longest timeout of a transaction."}, fixed},
	{config{name: "transaction.partition.verification.enable", kind: aBool, value: "true", doc: "Whether a partition has to be added to a transaction. Nothing here goes by it."}, dynamic},
	{config{name: "transaction.state.log.min.isr", kind: anInt, value: "2", doc: "min.insync.replicas of __transaction_state. It is 1 here."}, fixed},
	{config{name: "transaction.state.log.num.partitions", kind: anInt, value: "50", doc: "Partitions of __transaction_state."}, fixed},
	{config{name: "transaction.state.log.replication.factor", kind: aShort, value: "3", doc: "Replicas of __transaction_state. It is 1 here."}, fixed},
	{config{name: "transactional.id.expiration.ms", kind: anInt, value: "604800000", doc: "How long an idle transactional id is remembered."}, fixed},
}

// brokerConfig finds the configs of a broker by name, and brokerUpdate how they
// may be changed: the table above, and what topics and groups follow.
var brokerConfig, brokerUpdate = allOfBroker()

func allOfBroker() (map[string]*config, map[string]update) {
	found, how := followed(topicConfigs, ""), map[string]update{}
	for name := range found {
		how[name] = dynamic
	}
	maps.Copy(found, followed(groupConfigs, "group."))
	for i := range brokerConfigs {
		e := &brokerConfigs[i]
		found[e.name], how[e.name] = &e.config, e.update
	}
	for name, c := range found {
		c.from, c.fixed = name, how[name] == fixed
	}
	return found, how
}

// followed makes of the configs of a table those of the broker that they follow,
// whose names have this prefix.
func followed(table []config, prefix string) map[string]*config {
	found := map[string]*config{}
	for _, c := range table {
		if c.from != "" && strings.HasPrefix(c.from, prefix) {
			found[c.from] = &config{name: c.from, kind: c.kind, value: c.value, check: c.check, doc: "The default of " + c.name + "."}
		}
	}
	return found
}

// required wants a number as Kafka's KafkaConfig.validateValues does, in its words.
func required(what string, is func(n int64) bool) valueCheck {
	return func(name, value string) *refusal {
		if is(whole(value)) {
			return nil
		}
		return refuse(kerr.InvalidRequest, "requirement failed: %s must be %s", name, what)
	}
}
