package broker

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A configLayer is what was set in one place.
type configLayer struct {
	source kmsg.ConfigSource
	set    map[string]string
}

// A configView is the configs of one resource from all places where they may be set.
type configView struct {
	own   configLayer   // what the resource itself sets, by the name of the config
	above []configLayer // what the broker sets, by the name that the config follows; the stronger first
	alone bool          // nothing but own counts, not even a default: the cluster's defaults of a broker
}

// A configSetting is what a config is set to in one place.
type configSetting struct {
	name, value string
	source      kmsg.ConfigSource
}

// given lists what a config is set to, the setting that counts first.
func (v configView) given(c *config) (all []configSetting) {
	if value, ok := v.own.set[c.name]; ok {
		all = append(all, configSetting{c.name, value, v.own.source})
	}
	for _, l := range v.above {
		if value, ok := l.set[c.from]; ok && c.from != "" {
			all = append(all, configSetting{c.from, value, l.source})
		}
	}
	return all
}

// synonyms is given with the broker's own default at the end. A config that
// follows no other, or one without a default, has none there: retention.ms is one,
// since its default comes from log.retention.hours (Kafka's ConfigHelper).
func (v configView) synonyms(c *config) []configSetting {
	all := v.given(c)
	value := c.value
	if follows := brokerConfig[c.from]; follows != nil {
		value = follows.value
	}
	if v.alone || c.from == "" || value == null {
		return all
	}
	return append(all, configSetting{c.from, value, kmsg.ConfigSourceDefaultConfig})
}

// effective is the setting that counts: the default if nothing is set.
func (v configView) effective(c *config) configSetting {
	if all := v.given(c); len(all) > 0 {
		return all[0]
	}
	return configSetting{c.name, c.value, kmsg.ConfigSourceDefaultConfig}
}

// describe is a config as DescribeConfigs tells it.
func (v configView) describe(c *config, r *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	told := kmsg.NewDescribeConfigsResponseResourceConfig()
	counts := v.effective(c)
	told.Name, told.Value, told.Source = c.name, c.told(counts.value), counts.source
	told.ReadOnly, told.IsSensitive, told.ConfigType = c.fixed, c.secret(), c.kind
	if r.IncludeDocumentation {
		told.Documentation = &c.doc
	}
	if r.IncludeSynonyms {
		for _, s := range v.synonyms(c) {
			told.ConfigSynonyms = append(told.ConfigSynonyms, kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
				Name: s.name, Value: c.told(s.value), Source: s.source,
			})
		}
	}
	return told
}

// told is a value as it goes into an answer: null if there is none, or if it is
// for nobody to see.
func (c *config) told(value string) *string {
	if value == null || c.secret() {
		return nil
	}
	value = c.shown(value)
	return &value
}

// The tables by name, as answers list them.
var (
	topicsByName  = sorted(topicConfig)
	brokerByName  = sorted(brokerConfig)
	groupsByName  = sorted(groupConfig)
	metricsByName = sorted(metricsConfig)
)

func sorted(table map[string]*config) []*config {
	return slices.SortedFunc(maps.Values(table), byConfigName)
}

func byConfigName(a, b *config) int { return strings.Compare(a.name, b.name) }

// configsAtBroker lists some of a broker's configs by name: those of the table, and those
// that are set and stand in none.
func configsAtBroker(set map[string]string, is func(*config) bool) (all []*config) {
	for _, c := range brokerByName {
		if is(c) {
			all = append(all, c)
		}
	}
	known := len(all)
	for name := range set {
		if brokerConfig[name] == nil {
			all = append(all, &config{name: name, value: null, from: name})
		}
	}
	if len(all) > known {
		slices.SortFunc(all, byConfigName)
	}
	return all
}
