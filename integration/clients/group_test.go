package clients

import (
	"testing"

	"github.com/fencepostmq/fencepost"
)

func (c *client) group(t *testing.T, p *page, b *fencepost.Broker, protocol string) {
	t.Skip()
}
