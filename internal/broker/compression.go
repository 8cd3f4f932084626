package broker

import "github.com/fencepostmq/fencepost/internal/wire"

// compression is how the topic wants its batches, nil for as they come.
func (s *settings) compression() *wire.Compression {
	if s.codec == keepCodec {
		return nil
	}
	return &wire.Compression{Codec: s.codec, Level: s.level}
}
