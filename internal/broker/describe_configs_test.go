package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeConfigs_OfATopic(t *testing.T) {
	n, c := startWith(t)
	n.make("t", 1, map[string]string{"max.message.bytes": "2000", "retention.ms": "5"})
	at := resource{ofTopic, "t"}
	for _, tt := range []struct{ name, want string }{
		{"max.message.bytes", "max.message.bytes=2000 1 < max.message.bytes=2000 1 < message.max.bytes=1048588 5"},
		{"retention.ms", "retention.ms=5 1 < retention.ms=5 1"},
		{"retention.bytes", "retention.bytes=-1 5 < log.retention.bytes=-1 5"},
		{"min.insync.replicas", "min.insync.replicas=1 3 < min.insync.replicas=1 3 < min.insync.replicas=1 5"},
		{"flush.ms", "flush.ms=9223372036854775807 5"},
		{"preallocate", "preallocate=false 5 < log.preallocate=false 5"},
		{"leader.replication.throttled.replicas", "leader.replication.throttled.replicas= 5"},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, "told", c.configs(at, tt.name), []string{tt.want}) })
	}
	want(t, "no such config", c.configs(at, "no.such.key"), []string{})
	want(t, "two of three, one asked for twice", configsIn(c.ask(describingConfigs(4, at, "retention.ms", "no.such.key", "flush.ms", "flush.ms"))),
		[]string{"flush.ms=9223372036854775807", "retention.ms=5"})
	want(t, "with no names", len(c.configs(at)), len(topicConfigs))
}

func TestDescribeConfigs_TellsWhatItIsAskedFor(t *testing.T) {
	everyVersion(t, kmsg.DescribeConfigs, func(t *testing.T, version int16) {
		_, c := startWith(t, "t")
		for _, asked := range []bool{false, true} {
			req := describingConfigs(version, resource{ofTopic, "t"}, "segment.bytes")
			req.IncludeSynonyms, req.IncludeDocumentation = asked, asked
			told := c.ask(req).(*kmsg.DescribeConfigsResponse).Resources[0]
			want(t, "message", text(told.ErrorMessage), "")
			want(t, "synonyms", len(told.Configs[0].ConfigSynonyms) > 0, asked)
			if version >= 3 {
				want(t, "documentation", told.Configs[0].Documentation != nil, asked)
				want(t, "type", told.Configs[0].ConfigType, kmsg.ConfigTypeInt)
			}
		}
		req := describingConfigs(version, resource{ofTopic, "t"})
		req.Resources[0].ConfigNames = []string{}
		want(t, "with an empty list of names", len(configsIn(c.ask(req))), len(topicConfigs))
	})
}

func TestDescribeConfigs_OfTheBroker(t *testing.T) {
	c := start(t, Options{Partitions: 3}).dial()
	at := resource{ofBroker, "1"}
	for _, tt := range []struct{ name, want string }{
		{"num.partitions", "num.partitions=3 4 < num.partitions=3 4 < num.partitions=1 5"},
		{"auto.create.topics.enable", "auto.create.topics.enable=false 4 < auto.create.topics.enable=false 4 < auto.create.topics.enable=true 5"},
		{"log.retention.ms", "log.retention.ms=null 5"},
		{"log.retention.hours", "log.retention.hours=168 5 < log.retention.hours=168 5"},
		{"message.max.bytes", "message.max.bytes=1048588 5 < message.max.bytes=1048588 5"},
		{"advertised.listeners", "advertised.listeners=PLAINTEXT://pipe:9092 4 < advertised.listeners=PLAINTEXT://pipe:9092 4"},
		{"ssl.keystore.password", "ssl.keystore.password=null 5"},
		{"group.consumer.session.timeout.ms", "group.consumer.session.timeout.ms=45000 5 < group.consumer.session.timeout.ms=45000 5"},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, "told", c.configs(at, tt.name), []string{tt.want}) })
	}
	want(t, "by another spelling", c.value(resource{ofBroker, "+01"}, "num.partitions"), "3")
	for _, told := range c.ask(describingConfigs(4, at)).(*kmsg.DescribeConfigsResponse).Resources[0].Configs {
		want(t, told.Name+" is read-only", told.ReadOnly, brokerUpdate[told.Name] == fixed)
		want(t, told.Name+" is sensitive", told.IsSensitive, told.ConfigType == kmsg.ConfigTypePassword)
	}
	want(t, "what is set for the cluster", c.configs(resource{ofBroker, ""}), []string{"min.insync.replicas=1 3 < min.insync.replicas=1 3"})
	want(t, "what is not", c.configs(resource{ofBroker, ""}, "num.partitions"), []string{})
}

func TestDescribeConfigs_OfGroupsMetricsAndLoggers(t *testing.T) {
	c := start(t, Options{}).dial()
	want(t, "a group", c.configs(resource{ofGroup, "g"}, "consumer.session.timeout.ms", "share.isolation.level"), []string{
		"consumer.session.timeout.ms=45000 5 < group.consumer.session.timeout.ms=45000 5",
		"share.isolation.level=read_uncommitted 5 < share.isolation.level=read_uncommitted 5",
	})
	want(t, "metrics", c.configs(resource{ofMetrics, "m"}), []string{"interval.ms=300000 5", "match= 5", "metrics= 5"})
	want(t, "loggers", c.configs(resource{ofLoggers, "1"}), []string{})
}

func TestDescribeConfigs_Refuses(t *testing.T) {
	for _, tt := range []struct {
		of   resource
		want string
	}{
		{resource{ofTopic, "no"}, "UNKNOWN_TOPIC_OR_PARTITION "},
		{resource{ofTopic, ""}, "INVALID_TOPIC_EXCEPTION Topic name is invalid: the empty string is not allowed"},
		{resource{ofTopic, ".."}, "INVALID_TOPIC_EXCEPTION Topic name is invalid: '..' is not allowed"},
		{resource{ofBroker, "7777"}, "INVALID_REQUEST Unexpected broker id, expected 1 or empty string, but received 7777"},
		{resource{ofBroker, "abc"}, "INVALID_REQUEST Broker id must be an integer, but it is: abc"},
		{resource{ofGroup, ""}, "INVALID_REQUEST Group name must not be empty"},
		{resource{ofMetrics, ""}, "INVALID_REQUEST Client metrics subscription name must not be empty"},
		{resource{ofLoggers, ""}, "INVALID_REQUEST Broker id must not be empty"},
		{resource{ofLoggers, "x"}, "INVALID_REQUEST Broker id must be an integer, but it is: x"},
		{resource{ofLoggers, "2"}, "INVALID_REQUEST Unexpected broker id, expected 1 but received 2"},
	} {
		t.Run(fmt.Sprint(tt.of), func(t *testing.T) {
			_, c := startWith(t, "there")
			req := describingConfigs(4, tt.of, "retention.ms")
			req.Resources = append(req.Resources, describingConfigs(4, resource{ofTopic, "there"}, "retention.ms").Resources...)
			told := c.ask(req).(*kmsg.DescribeConfigsResponse)
			want(t, "told", codeName(told.Resources[0].ErrorCode)+" "+text(told.Resources[0].ErrorMessage), tt.want)
			want(t, "the other one", configsIn(told), []string{"retention.ms=604800000"})
		})
	}
}

func TestDescribeConfigs_AnUnknownTypeRefusesTheWholeRequest(t *testing.T) {
	_, c := startWith(t, "there")
	req := describingConfigs(4, resource{ofTopic, "there"})
	req.Resources = append(req.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: 3, ResourceName: "x"})
	told := c.ask(req).(*kmsg.DescribeConfigsResponse)
	for i, name := range []string{"there", "x"} {
		r := told.Resources[i]
		want(t, "told", r.ResourceName+" "+codeName(r.ErrorCode)+" "+text(r.ErrorMessage), name+" INVALID_REQUEST Unknown resource type 3")
	}
	want(t, "configs", configsIn(told), nil)
}

func TestDescribeConfigs_OneAnswerIsBounded(t *testing.T) {
	_, c := startWith(t, "there")
	req := describingConfigs(4, resource{ofTopic, "there"})
	whole := maxConfigsTold / len(topicConfigs)
	for range whole {
		req.Resources = append(req.Resources, req.Resources[0])
	}
	told := c.ask(req).(*kmsg.DescribeConfigsResponse).Resources
	want(t, "the last that fits", len(told[whole-1].Configs), len(topicConfigs))
	wantCode(t, told[whole].ErrorCode, "POLICY_VIOLATION")
	if says := text(told[whole].ErrorMessage); !strings.Contains(says, fmt.Sprint(maxConfigsTold)) {
		t.Errorf("the message %q does not tell the limit", says)
	}
}

func TestListConfigResources(t *testing.T) {
	_, c := startWith(t, "b", "a")
	c.operate(resource{ofGroup, "g2"}, "set consumer.session.timeout.ms=50000")
	c.operate(resource{ofGroup, "g1"}, "set consumer.session.timeout.ms=50000")
	c.operate(resource{ofMetrics, "m"}, "set interval.ms=1000")
	for _, tt := range []struct {
		name  string
		types []kmsg.ConfigResourceType
		want  []string
	}{
		{"everything", nil, []string{"32 g1", "32 g2", "16 m", "8 1", "4 1", "2 a", "2 b"}},
		{"topics and brokers", []kmsg.ConfigResourceType{ofTopic, ofBroker, ofTopic}, []string{"4 1", "2 a", "2 b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want(t, "told", resourcesIn(c.ask(listingResources(1, tt.types...))), tt.want)
		})
	}
	want(t, "version 0", resourcesIn(c.ask(listingResources(0))), []string{"16 m"})
	resp := c.ask(listingResources(1, ofTopic, 99)).(*kmsg.ListConfigResourcesResponse)
	wantCode(t, resp.ErrorCode, "UNSUPPORTED_VERSION")
	want(t, "with an unknown type", resourcesIn(resp), nil)
}
