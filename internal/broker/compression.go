package broker

import (
	"strconv"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// codecLevels names, for each codec that has levels, the config that sets it and
// what it is by default.
var codecLevels = map[int8]struct {
	config string
	usual  int
}{
	1: {"compression.gzip.level", wire.DefaultGzipLevel},
	3: {"compression.lz4.level", wire.DefaultLz4Level},
	4: {"compression.zstd.level", wire.DefaultZstdLevel},
}

// compression is how the topic wants its batches, nil for as they come.
func (s *settings) compression() *wire.Compression {
	if s.codec == keepCodec {
		return nil
	}
	level := codecLevels[s.codec]
	c := &wire.Compression{Codec: s.codec, Level: level.usual}
	if n, err := strconv.Atoi(s.configs[level.config]); err == nil {
		c.Level = n
	}
	return c
}
