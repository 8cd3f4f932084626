package fencepost

import (
	"fmt"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// MaxConnections is how many connections may be open at a time, 10,000 unless
// said otherwise. A client beyond is cut off at once.
func MaxConnections(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return fmt.Errorf("%d connections serve nobody; want 1 or more", n)
		}
		c.limits.MaxConnections = n
		return nil
	}
}

// IdleTimeout is how long a connection may send nothing while no answer is due
// to it, 10 minutes unless said otherwise; 0 for as long as it likes.
func IdleTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 {
			return fmt.Errorf("%v is no time to be idle; want 0, for no limit, or more", d)
		}
		c.limits.IdleTimeout = d
		return nil
	}
}

// MemoryOverhead is the most bytes that clients can make the process take beside
// the records that Memory bounds, ConnectionOverhead for each open connection not
// counted.
func MemoryOverhead() int64 { return wire.Overhead() + stateOverhead }

// ConnectionOverhead is the most bytes that an open connection takes which sends
// small requests and reads its answers.
const ConnectionOverhead = wire.ConnectionOverhead

// stateOverhead is what broker and journal remember at their limits (topics,
// producers, transactional ids, what was out of the ordinary) and the process
// itself, 384 MiB.
const stateOverhead = 384 << 20
