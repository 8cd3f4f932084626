package broker

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAlterConfigs_ReplacesTheWholeSet(t *testing.T) {
	everyVersion(t, kmsg.AlterConfigs, func(t *testing.T, version int16) {
		n, c := startWith(t)
		n.make("t", 1, map[string]string{"retention.ms": "5", "flush.ms": "7"})
		at := resource{ofTopic, "t"}
		want(t, "told", altered(c.ask(altering(version, at, "segment.ms=60000"))), []string{"t NONE null"})
		want(t, "configs", c.configs(at, "retention.ms", "flush.ms", "segment.ms"), []string{
			"flush.ms=9223372036854775807 5", "retention.ms=604800000 5", "segment.ms=60000 1 < segment.ms=60000 1",
		})
		want(t, "nothing", altered(c.ask(altering(version, at))), []string{"t NONE null"})
		want(t, "segment.ms", c.value(at, "segment.ms"), "604800000")
	})
}

// refusals are refused alike by both APIs that alter configs. A set of configs
// stands for as many operations that set one.
var refusals = []struct {
	name    string
	of      resource
	configs []string
	want    string
}{
	{"an unknown topic", resource{ofTopic, "no"}, []string{"flush.ms=1"}, "UNKNOWN_TOPIC_OR_PARTITION The topic 'no' does not exist."},
	{"nothing on an unknown topic", resource{ofTopic, "no"}, nil, "UNKNOWN_TOPIC_OR_PARTITION The topic 'no' does not exist."},
	{"a bad value for an unknown topic", resource{ofTopic, "no"}, []string{"flush.ms=x"},
		"INVALID_CONFIG Invalid value x for configuration flush.ms: Not a number of type LONG"},
	{"the topic without a name", resource{ofTopic, ""}, []string{"flush.ms=x"}, "INVALID_REQUEST Default topic resources are not allowed."},
	{"a bad topic name", resource{ofTopic, "a b"}, []string{"flush.ms=x"},
		"INVALID_TOPIC_EXCEPTION Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
	{"an unknown config", resource{ofTopic, "there"}, []string{"no.such.key=1"}, "INVALID_CONFIG Unknown topic config name: no.such.key"},
	{"one bad value of two", resource{ofTopic, "there"}, []string{"retention.ms=1", "flush.ms=-1"},
		"INVALID_CONFIG Invalid value -1 for configuration flush.ms: Value must be at least 0"},
	{"two that do not go together", resource{ofTopic, "there"}, []string{"min.compaction.lag.ms=9", "max.compaction.lag.ms=8"},
		"INVALID_CONFIG conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)"},
	{"nulls", resource{ofTopic, "there"}, []string{"retention.ms", "flush.ms"}, "INVALID_REQUEST Null value not supported for : retention.ms, flush.ms"},
	{"a name twice, before nulls", resource{ofTopic, "there"}, []string{"retention.ms", "retention.ms=1"}, "INVALID_REQUEST Error due to duplicate config keys"},
	{"an unknown type", resource{99, "x"}, []string{"a=b"}, "INVALID_REQUEST Unknown resource type 99"},
	{"a negative type", resource{-1, "x"}, []string{"a=b"}, "INVALID_REQUEST Unknown resource type -1"},
	{"another broker", resource{ofBroker, "7777"}, []string{"log.retention.ms=x"}, "INVALID_REQUEST Unexpected broker id, expected 1, but received 7777"},
	{"no broker", resource{ofBroker, "abc"}, []string{"log.retention.ms=x"}, "INVALID_REQUEST Node id must be an integer, but it is: abc"},
	{"what a broker is started with", resource{ofBroker, "1"}, []string{"num.partitions=3", "log.retention.ms=x", "broker.id=2"},
		"INVALID_REQUEST Cannot update these configs dynamically: [broker.id, num.partitions]"},
	{"what a broker that is started with for the cluster", resource{ofBroker, ""}, []string{"advertised.listeners=x"},
		"INVALID_REQUEST Cannot update these configs dynamically: [advertised.listeners]"},
	{"what belongs to a listener", resource{ofBroker, "1"}, []string{"ssl.keystore.type=JKS"},
		"INVALID_REQUEST These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.keystore.type]"},
	{"what belongs to a broker, for the cluster", resource{ofBroker, ""}, []string{"listeners=x", "listener.name.plaintext.ssl.keystore.type=JKS"},
		"INVALID_REQUEST Cannot update these configs at default cluster level, broker id must be specified: [listener.name.plaintext.ssl.keystore.type, listeners]"},
	{"a bad value of a broker", resource{ofBroker, "1"}, []string{"message.max.bytes=-1"},
		"INVALID_REQUEST Invalid value -1 for configuration message.max.bytes: Value must be at least 0"},
	{"no retention time at all", resource{ofBroker, "1"}, []string{"log.retention.ms=0"},
		"INVALID_REQUEST requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"},
	{"no time to roll", resource{ofBroker, ""}, []string{"log.roll.ms=0"}, "INVALID_REQUEST requirement failed: log.roll.ms must be greater than or equal to 1"},
	{"a jitter below none", resource{ofBroker, ""}, []string{"log.roll.jitter.ms=-1"},
		"INVALID_REQUEST requirement failed: log.roll.jitter.ms must be greater than or equal to 0"},
	{"a broker's own count of replicas", resource{ofBroker, "1"}, []string{"min.insync.replicas=2"},
		"INVALID_CONFIG Broker-level min.insync.replicas cannot be altered while ELR is enabled."},
	{"the group without a name", resource{ofGroup, ""}, []string{"x=1"}, "INVALID_REQUEST Default group resources are not allowed."},
	{"an unknown config of a group", resource{ofGroup, "g"}, []string{"no.such.key=1"}, "INVALID_CONFIG Unknown group config name: no.such.key"},
	{"a bad value of a group", resource{ofGroup, "g"}, []string{"consumer.session.timeout.ms=0"},
		"INVALID_CONFIG Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1"},
	{"a session that is too short", resource{ofGroup, "g"}, []string{"consumer.session.timeout.ms=44999"},
		"INVALID_CONFIG consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
	{"too many copies", resource{ofGroup, "g"}, []string{"streams.num.standby.replicas=3"},
		"INVALID_CONFIG streams.num.standby.replicas must be less than or equal to 2"},
	{"an unknown assignor", resource{ofGroup, "g"}, []string{"streams.assignor.name=x"},
		"INVALID_CONFIG streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky]."},
	{"an unknown start", resource{ofGroup, "g"}, []string{"share.auto.offset.reset=x"},
		"INVALID_CONFIG Invalid value x for configuration share.auto.offset.reset: Invalid value `x` for configuration share.auto.offset.reset. " +
			"The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."},
	{"metrics without a name", resource{ofMetrics, ""}, []string{"interval.ms=1000"}, "INVALID_REQUEST Subscription name can't be empty"},
	{"an unknown config of metrics", resource{ofMetrics, "m"}, []string{"x=1"}, "INVALID_REQUEST Unknown client metrics configuration: x"},
	{"too often", resource{ofMetrics, "m"}, []string{"interval.ms=5"},
		"INVALID_REQUEST Invalid value 5 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
	{"a pattern of nothing known", resource{ofMetrics, "m"}, []string{"match=client_id=a,x=b"}, "INVALID_CONFIG Illegal client matching pattern: x=b"},
	{"loggers", resource{ofLoggers, "1"}, []string{"root=INFO"}, "INVALID_REQUEST Unknown resource type 8"},
}

func TestAlterConfigs_Refuses(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			n, c := startWith(t, "there")
			want(t, "told", c.alter(tt.of, tt.configs...), tt.want)
			n.wantUntouched(c)
		})
	}
	// With a whole set, what is not in it goes.
	_, c := startWith(t, "there")
	want(t, "the cluster's count of replicas", c.alter(resource{ofBroker, ""}),
		"INVALID_CONFIG Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
	want(t, "another one", c.alter(resource{ofBroker, ""}, "min.insync.replicas=2"), "NONE null")
}

// wantUntouched wants the configs of a node that has nothing but the topic "there".
func (n *node) wantUntouched(c *client) {
	n.t.Helper()
	for _, of := range []resource{{ofTopic, "there"}, {ofBroker, "1"}, {ofBroker, ""}, {ofGroup, "g"}, {ofMetrics, "m"}} {
		for _, told := range c.configs(of) {
			if strings.Contains(told, " 1 <") || strings.Contains(told, " 2 <") || strings.Contains(told, " 8 <") || strings.Contains(told, " 7 <") {
				n.t.Errorf("%v has %s, and nothing was to be set", of, told)
			}
		}
	}
	want(n.t, "bytes of configs", n.configBytes, 0)
}

func TestAlterConfigs_AResourceTwiceIsRefusedEachTime(t *testing.T) {
	_, c := startWith(t, "a", "b")
	req := altering(2, resource{ofTopic, "a"}, "flush.ms=1")
	req.Resources = append(req.Resources, altering(2, resource{ofTopic, "b"}, "flush.ms=2").Resources[0], req.Resources[0])
	const twice = "a INVALID_REQUEST Each resource must appear at most once."
	want(t, "told", altered(c.ask(req)), []string{twice, "b NONE null", twice})
	want(t, "of a", c.value(resource{ofTopic, "a"}, "flush.ms"), maxLong)
	want(t, "of b", c.value(resource{ofTopic, "b"}, "flush.ms"), "2")
}

func TestAlterConfigs_ValidateOnlyChangesNothing(t *testing.T) {
	n, c := startWith(t, "there")
	for _, of := range []struct {
		resource
		config string
	}{
		{resource{ofTopic, "there"}, "flush.ms=1"}, {resource{ofBroker, "1"}, "message.max.bytes=1"},
		{resource{ofGroup, "g"}, "consumer.session.timeout.ms=50000"}, {resource{ofMetrics, "m"}, "interval.ms=1000"},
	} {
		req := altering(2, of.resource, of.config)
		req.ValidateOnly = true
		want(t, "told", altered(c.ask(req)), []string{of.name + " NONE null"})
		increment := operating(1, of.resource, "set "+of.config)
		increment.ValidateOnly = true
		want(t, "told of an increment", altered(c.ask(increment)), []string{of.name + " NONE null"})
	}
	n.wantUntouched(c)
}

func TestConfigs_OfATopicTakeEffectAtOnce(t *testing.T) {
	_, c := startWith(t, "t")
	batch := plain(1).sized(500)
	size := len(batch.bytes())
	at := resource{ofTopic, "t"}
	for _, step := range []struct {
		alter   func() string
		produce string
	}{
		{func() string { return c.operate(at, fmt.Sprint("set max.message.bytes=", size-1)) }, "MESSAGE_TOO_LARGE"},
		{func() string { return c.operate(at, fmt.Sprint("set max.message.bytes=", size)) }, "NONE"},
		{func() string { return c.alter(at, "max.message.bytes=1") }, "MESSAGE_TOO_LARGE"},
		{func() string { return c.alter(at) }, "NONE"},
	} {
		want(t, "told", step.alter(), "NONE null")
		wantCode(t, c.produce("t", 0, batch).ErrorCode, step.produce)
	}
}

// A topic follows the broker: what was set for this one, else for the cluster.
func TestConfigs_OfTheBrokerTakeEffectOnTopicsThatDoNotSay(t *testing.T) {
	n, c := startWith(t, "follows")
	n.make("says", 1, map[string]string{"max.message.bytes": "1048588"})
	batch := plain(1).sized(500)
	size := len(batch.bytes())
	broker, cluster := resource{ofBroker, "1"}, resource{ofBroker, ""}
	for _, step := range []struct {
		of        resource
		operation string
		follows   string
		shown     string
	}{
		{cluster, fmt.Sprint("set message.max.bytes=", size-1), "MESSAGE_TOO_LARGE", fmt.Sprintf("max.message.bytes=%d 3 < message.max.bytes=%[1]d 3", size-1)},
		{broker, fmt.Sprint("set message.max.bytes=", size), "NONE",
			fmt.Sprintf("max.message.bytes=%d 2 < message.max.bytes=%[1]d 2 < message.max.bytes=%d 3", size, size-1)},
		{broker, "delete message.max.bytes", "MESSAGE_TOO_LARGE", fmt.Sprintf("max.message.bytes=%d 3 < message.max.bytes=%[1]d 3", size-1)},
		{cluster, "delete message.max.bytes", "NONE", "max.message.bytes=1048588 5"},
	} {
		want(t, step.operation, c.operate(step.of, step.operation), "NONE null")
		wantCode(t, c.produce("follows", 0, batch).ErrorCode, step.follows)
		wantCode(t, c.produce("says", 0, batch).ErrorCode, "NONE")
		want(t, "shown", c.configs(resource{ofTopic, "follows"}, "max.message.bytes"), []string{step.shown + " < message.max.bytes=1048588 5"})
		n.make("new", 1, nil)
		wantCode(t, c.produce("new", 0, batch).ErrorCode, step.follows)
		c.ask(deleting(6, "new"))
	}
}

func TestConfigs_NothingIsDeletedForItsAgeUnlessThatWasSet(t *testing.T) {
	n, c := startWith(t, "t")
	millis := func() int64 { return n.lookup("t").settings.Load().retentionMillis }
	at := resource{ofTopic, "t"}
	want(t, "shown", c.value(at, "retention.ms"), "604800000")
	want(t, "by default", millis(), -1)
	c.operate(resource{ofBroker, "1"}, "set log.retention.ms=9")
	want(t, "as the broker says", millis(), 9)
	c.operate(at, "set retention.ms=5")
	want(t, "as the topic says", millis(), 5)
	c.operate(at, "delete retention.ms")
	c.operate(resource{ofBroker, "1"}, "set log.retention.ms=-7")
	want(t, "without a limit", millis(), -1)
}

func TestLimits_BytesOfConfigs(t *testing.T) {
	n, c := startWith(t, "t")
	at := resource{ofTopic, "t"}
	n.configBytes = MaxConfigBytes - len("flush.ms") - 1 // as if of other topics
	says := fmt.Sprintf("POLICY_VIOLATION With these there would be over %d bytes of configs, the most that this broker keeps.", MaxConfigBytes)
	want(t, "too many", c.operate(at, "set flush.ms=10"), says)
	want(t, "of a group", c.operate(resource{ofGroup, "g"}, "set consumer.session.timeout.ms=50000"), says)
	told := c.createOne(configured("new", "flush.ms=10"))
	wantCode(t, told.ErrorCode, "POLICY_VIOLATION")
	want(t, "as many as there may be", c.operate(at, "set flush.ms=1"), "NONE null")
	want(t, "taken back", c.operate(at, "delete flush.ms"), "NONE null")
	want(t, "with a topic", c.create(configured("new", "flush.ms=1")), []string{"new NONE"})
	c.ask(deleting(6, "new"))
	want(t, "bytes that are left", MaxConfigBytes-n.configBytes, len("flush.ms")+1)
}

func TestConfigs_ManyAtOnce(t *testing.T) {
	n, c := startWith(t, "t")
	var work sync.WaitGroup
	for i := range 8 {
		other := n.dial()
		work.Go(func() {
			for range 20 {
				for _, req := range []kmsg.Request{
					operating(1, resource{ofTopic, "t"}, fmt.Sprint("set flush.ms=", i)), operating(1, resource{ofBroker, "1"}, fmt.Sprint("set message.max.bytes=", 2_000+i)),
					describingConfigs(4, resource{ofTopic, "t"}), describingConfigs(4, resource{ofBroker, "1"}), altering(2, resource{ofTopic, "t"}),
				} {
					if _, err := other.try(req); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	work.Wait()
	want(t, "told", c.alter(resource{ofTopic, "t"}), "NONE null")
	want(t, "bytes of configs", n.configBytes, len("message.max.bytes")+len("2000"))
}
