package broker

import (
	"slices"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeConfigs, versions 1 to 4: of topics, the broker ("" for what is set for
// the cluster), groups, client metrics, and of the broker's loggers.
//
// An empty list of names asks for all, as a null one does. Names that there are
// not are left out without a word, and so are names given twice. A request that
// names an unknown type of resource is refused whole.
//
// Differences from Apache Kafka: of a broker's configs those are told that mean
// something here or that clients ask for, a third of Kafka's. There are no loggers.
// The message on an unknown type says which. The documentation is our own.

// maxConfigsTold is the most configs that one answer tells of, those of 1,350
// topics: a small request may name one topic many times.
const maxConfigsTold = 50_000

func (b *Broker) describeConfigs(c *wire.Conn, r *kmsg.DescribeConfigsRequest) kmsg.Response {
	for i := range r.Resources {
		if kind := r.Resources[i].ResourceType; !slices.Contains(resourceTypes, kind) {
			bad := refuse(kerr.InvalidRequest, "Unknown resource type %d", kind)
			return wire.ErrorAnswer(r, bad.code, bad.text)
		}
	}
	resp := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
	left := maxConfigsTold
	for i := range r.Resources {
		asked := &r.Resources[i]
		told := kmsg.NewDescribeConfigsResponseResource()
		told.ResourceType, told.ResourceName = asked.ResourceType, asked.ResourceName
		v, all, refused := b.configsToTell(c, asked, left)
		if told.ErrorCode, told.ErrorMessage = refused.told(); told.ErrorMessage == nil {
			told.ErrorMessage = new(string) // as Kafka says nothing here
		}
		for _, c := range all {
			told.Configs = append(told.Configs, v.describe(c, r))
		}
		left -= max(len(all), 1) // a resource without configs takes its place too
		resp.Resources = append(resp.Resources, told)
	}
	return resp
}

// resourceTypes are Kafka's types of resources that have configs, in the order in
// which ListConfigResources tells of them.
var resourceTypes = []kmsg.ConfigResourceType{
	kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeBrokerLogger,
	kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeTopic,
}

// configsToTell finds the configs that are asked for of a resource, unless there
// is no room left for them.
func (b *Broker) configsToTell(c *wire.Conn, asked *kmsg.DescribeConfigsRequestResource, left int) (configView, []*config, *refusal) {
	tooMany := refuse(kerr.PolicyViolation, "One answer tells of %d configs at most. Ask for fewer resources, or name their configs.", maxConfigsTold)
	if left <= 0 {
		return configView{}, nil, tooMany
	}
	v, all, refused := b.configsOf(c, resource{asked.ResourceType, asked.ResourceName})
	if all = named(all, asked.ConfigNames); len(all) > left {
		return configView{}, nil, tooMany
	}
	return v, all, refused
}

// named picks configs by name, all of them if there are no names.
func named(all []*config, names []string) (picked []*config) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	for _, c := range all {
		if len(names) == 0 || wanted[c.name] {
			picked = append(picked, c)
		}
	}
	return picked
}

// configsOf finds the configs of a resource and what they are set to.
func (b *Broker) configsOf(c *wire.Conn, of resource) (configView, []*config, *refusal) {
	switch of.kind {
	case kmsg.ConfigResourceTypeTopic:
		return b.configsOfTopic(of.name)
	case kmsg.ConfigResourceTypeBroker:
		return b.configsOfBroker(c, of.name)
	case kmsg.ConfigResourceTypeBrokerLogger:
		return configView{}, nil, checkLogger(of.name)
	case kmsg.ConfigResourceTypeGroupConfig:
		if of.name == "" {
			return configView{}, nil, refuse(kerr.InvalidRequest, "Group name must not be empty")
		}
		set, above := b.setOf(of)
		return configView{own: configLayer{kmsg.ConfigSourceGroupConfig, set}, above: above}, groupsByName, nil
	default: // client metrics
		if of.name == "" {
			return configView{}, nil, refuse(kerr.InvalidRequest, "Client metrics subscription name must not be empty")
		}
		set, _ := b.setOf(of)
		return configView{own: configLayer{kmsg.ConfigSourceClientMetricsConfig, set}}, metricsByName, nil
	}
}

func (b *Broker) configsOfTopic(name string) (configView, []*config, *refusal) {
	if problem := badTopicName(name); problem != "" {
		return configView{}, nil, refuse(kerr.InvalidTopicException, "Topic name is invalid: %s", problem)
	}
	t := b.lookup(name)
	if t == nil {
		return configView{}, nil, refuse(kerr.UnknownTopicOrPartition, "")
	}
	_, above := b.setOf(thisBroker)
	return topicView(t.settings.Load().configs, above), topicsByName, nil
}

func (b *Broker) configsOfBroker(c *wire.Conn, name string) (configView, []*config, *refusal) {
	if name == "" {
		set, _ := b.setOf(allBrokers)
		v := configView{own: configLayer{kmsg.ConfigSourceDynamicDefaultBrokerConfig, set}, alone: true}
		return v, configsAtBroker(set, func(c *config) bool { _, ok := set[c.name]; return ok }), nil
	}
	if r := checkNodeID(name, noBrokerID, "Unexpected broker id, expected %d or empty string, but received %s"); r != nil {
		return configView{}, nil, r
	}
	set, above := b.setOf(thisBroker)
	v := configView{own: above[0], above: append(above[1:], configLayer{kmsg.ConfigSourceStaticBrokerConfig, b.static(c)})}
	return v, configsAtBroker(set, func(*config) bool { return true }), nil
}

// checkLogger says whether a name is the one broker's, whose loggers are meant.
func checkLogger(name string) *refusal {
	if name == "" {
		return refuse(kerr.InvalidRequest, "Broker id must not be empty")
	}
	return checkNodeID(name, noBrokerID, "Unexpected broker id, expected %d but received %s")
}

const noBrokerID = "Broker id must be an integer, but it is: %s"
