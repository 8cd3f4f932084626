package broker

import (
	"fmt"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FindCoordinator, versions 0 to 6 (a list of keys from 4).
//
// The one broker coordinates every group and transactional id; asking makes
// nothing.

// The kinds of keys: a group and a transactional id. Share groups (2) are not
// served.
const (
	groupKey = 0
	txnKey   = 1
)

func findCoordinator(c *wire.Conn, r *kmsg.FindCoordinatorRequest) kmsg.Response {
	if r.CoordinatorType != groupKey && r.CoordinatorType != txnKey {
		return wire.ErrorAnswer(r, kerr.InvalidRequest.Code,
			fmt.Sprintf("key type %d is not served, only %d (group) and %d (transactional id)", r.CoordinatorType, groupKey, txnKey))
	}
	resp := r.ResponseKind().(*kmsg.FindCoordinatorResponse)
	resp.NodeID, resp.Host, resp.Port = NodeID, c.Host, c.Port
	for _, key := range r.CoordinatorKeys {
		k := kmsg.NewFindCoordinatorResponseCoordinator()
		k.Key, k.NodeID, k.Host, k.Port = key, NodeID, c.Host, c.Port
		resp.Coordinators = append(resp.Coordinators, k)
	}
	return resp
}
