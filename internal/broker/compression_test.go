package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestSettings_CompressionLevel(t *testing.T) {
	type set = map[string]string
	for name, c := range map[string]struct {
		topic, broker set
		want          int
	}{
		"gzip by default":       {set{"compression.type": "gzip"}, nil, -1},
		"lz4 by default":        {set{"compression.type": "lz4"}, nil, 9},
		"zstd by default":       {set{"compression.type": "zstd"}, nil, 3},
		"snappy has none":       {set{"compression.type": "snappy"}, nil, 0},
		"the topic's":           {set{"compression.type": "zstd", "compression.zstd.level": "7"}, nil, 7},
		"the topic's in spaces": {set{"compression.type": "zstd", "compression.zstd.level": " 7 "}, nil, 7},
		"another codec's":       {set{"compression.type": "zstd", "compression.gzip.level": "7"}, nil, 3},
		"the broker's":          {set{"compression.type": "gzip"}, set{"compression.gzip.level": "4"}, 4},
		"the topic's before it": {set{"compression.type": "gzip", "compression.gzip.level": "5"}, set{"compression.gzip.level": "4"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := newSettings(c.topic, []configLayer{{kmsg.ConfigSourceDynamicBrokerConfig, c.broker}})
			if r != nil {
				t.Fatal(r)
			}
			if got := s.compression.Level; got != c.want {
				t.Errorf("level %d instead of %d", got, c.want)
			}
		})
	}
}
