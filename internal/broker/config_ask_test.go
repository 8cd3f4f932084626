package broker

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The types of resources, short for tests.
const (
	ofTopic   = kmsg.ConfigResourceTypeTopic
	ofBroker  = kmsg.ConfigResourceTypeBroker
	ofGroup   = kmsg.ConfigResourceTypeGroupConfig
	ofMetrics = kmsg.ConfigResourceTypeClientMetrics
	ofLoggers = kmsg.ConfigResourceTypeBrokerLogger
)

func describingConfigs(version int16, of resource, names ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = version
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: of.kind, ResourceName: of.name, ConfigNames: names}}
	return req
}

// configsIn lists the configs of an answer as "name=value".
func configsIn(resp kmsg.Response) []string {
	var told []string
	for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
		for _, c := range r.Configs {
			told = append(told, c.Name+"="+text(c.Value))
		}
	}
	return told
}

// configs asks for configs and lists them as "name=value source", with what stands
// behind each: "< name=value source".
func (c *client) configs(of resource, names ...string) []string {
	c.t.Helper()
	req := describingConfigs(newest(c.t, kmsg.DescribeConfigs), of, names...)
	req.IncludeSynonyms = true
	told := []string{}
	for _, config := range c.ask(req).(*kmsg.DescribeConfigsResponse).Resources[0].Configs {
		line := fmt.Sprintf("%s=%s %d", config.Name, text(config.Value), config.Source)
		for _, s := range config.ConfigSynonyms {
			line += fmt.Sprintf(" < %s=%s %d", s.Name, text(s.Value), s.Source)
		}
		told = append(told, line)
	}
	return told
}

// value is what one config is set to.
func (c *client) value(of resource, name string) string {
	c.t.Helper()
	all := configsIn(c.ask(describingConfigs(newest(c.t, kmsg.DescribeConfigs), of, name)))
	if len(all) != 1 {
		c.t.Fatalf("%q are told for %s", all, name)
	}
	return strings.TrimPrefix(all[0], name+"=")
}

// altering asks for a whole set of configs, each "name=value", or "name" for null.
func altering(version int16, of resource, configs ...string) *kmsg.AlterConfigsRequest {
	asked := kmsg.AlterConfigsRequestResource{ResourceType: of.kind, ResourceName: of.name}
	for _, config := range configs {
		var c kmsg.AlterConfigsRequestResourceConfig
		c.Name, c.Value = assignment(config)
		asked.Configs = append(asked.Configs, c)
	}
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Version, req.Resources = version, append(req.Resources, asked)
	return req
}

// assignment takes "name=value" apart; there is no value in "name".
func assignment(config string) (string, *string) {
	name, value, ok := strings.Cut(config, "=")
	if !ok {
		return name, nil
	}
	return name, &value
}

// operating asks for operations, each "set|delete|append|subtract name=value".
func operating(version int16, of resource, operations ...string) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = version
	req.Resources = append(req.Resources, operationsOn(of, operations...))
	return req
}

func operationsOn(of resource, operations ...string) kmsg.IncrementalAlterConfigsRequestResource {
	asked := kmsg.IncrementalAlterConfigsRequestResource{ResourceType: of.kind, ResourceName: of.name}
	for _, operation := range operations {
		op, config, _ := strings.Cut(operation, " ")
		var c kmsg.IncrementalAlterConfigsRequestResourceConfig
		c.Name, c.Value = assignment(config)
		c.Op = map[string]kmsg.IncrementalAlterConfigOp{
			"set": kmsg.IncrementalAlterConfigOpSet, "delete": kmsg.IncrementalAlterConfigOpDelete,
			"append": kmsg.IncrementalAlterConfigOpAppend, "subtract": kmsg.IncrementalAlterConfigOpSubtract, "unknown": 9,
		}[op]
		asked.Configs = append(asked.Configs, c)
	}
	return asked
}

// altered lists what was told as "resource code message".
func altered(resp kmsg.Response) []string {
	var told []string
	line := func(name string, code int16, message *string) {
		told = append(told, name+" "+codeName(code)+" "+text(message))
	}
	switch resp := resp.(type) {
	case *kmsg.AlterConfigsResponse:
		for _, r := range resp.Resources {
			line(r.ResourceName, r.ErrorCode, r.ErrorMessage)
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, r := range resp.Resources {
			line(r.ResourceName, r.ErrorCode, r.ErrorMessage)
		}
	}
	return told
}

// operate makes operations on one resource and gives "code message".
func (c *client) operate(of resource, operations ...string) string {
	c.t.Helper()
	told := altered(c.ask(operating(newest(c.t, kmsg.IncrementalAlterConfigs), of, operations...)))
	return strings.TrimPrefix(told[0], of.name+" ")
}

// alter replaces the configs of one resource and gives "code message".
func (c *client) alter(of resource, configs ...string) string {
	c.t.Helper()
	told := altered(c.ask(altering(newest(c.t, kmsg.AlterConfigs), of, configs...)))
	return strings.TrimPrefix(told[0], of.name+" ")
}

func listingResources(version int16, types ...kmsg.ConfigResourceType) *kmsg.ListConfigResourcesRequest {
	req := kmsg.NewPtrListConfigResourcesRequest()
	req.Version = version
	for _, kind := range types {
		req.ResourceTypes = append(req.ResourceTypes, int8(kind))
	}
	return req
}

// resourcesIn lists the resources of an answer as "type name".
func resourcesIn(resp kmsg.Response) []string {
	var told []string
	for _, r := range resp.(*kmsg.ListConfigResourcesResponse).ConfigResources {
		told = append(told, fmt.Sprint(r.Type, " ", r.Name))
	}
	return told
}
