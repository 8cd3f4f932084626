package broker

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FindCoordinator, versions 0 to 6 (a list of keys from 4, share groups from 6).
//
// The one broker coordinates every group, transactional id and share partition;
// asking makes nothing. The key of a share partition that is not of its form is
// INVALID_REQUEST, and so is any key of a kind that there is not.

// The kinds of keys (CoordinatorType).
const (
	groupKey = 0
	txnKey   = 1
	shareKey = 2 // GROUP:TOPICID:PARTITION, KIP-932
)

// shareKeysSince is the first version that asks for share partitions.
const shareKeysSince = 6

func findCoordinator(c *wire.Conn, r *kmsg.FindCoordinatorRequest) kmsg.Response {
	share := r.CoordinatorType == shareKey && r.Version >= shareKeysSince
	if !share && r.CoordinatorType != groupKey && r.CoordinatorType != txnKey {
		return wire.ErrorAnswer(r, kerr.InvalidRequest.Code, fmt.Sprintf(
			"version %d has no keys of type %d: there are %d (group), %d (transactional id) and, from version %d on, %d (share partition)",
			r.Version, r.CoordinatorType, groupKey, txnKey, shareKeysSince, shareKey))
	}
	resp := r.ResponseKind().(*kmsg.FindCoordinatorResponse)
	resp.NodeID, resp.Host, resp.Port = NodeID, c.Host, c.Port
	for _, key := range r.CoordinatorKeys {
		k := kmsg.NewFindCoordinatorResponseCoordinator()
		k.Key, k.NodeID, k.Host, k.Port = key, NodeID, c.Host, c.Port
		if share && !isShareKey(key) {
			k.NodeID, k.Host, k.Port = -1, "", -1
			k.ErrorCode = kerr.InvalidRequest.Code
			k.ErrorMessage = kmsg.StringPtr(fmt.Sprintf("%q is no share partition; write it as GROUP:TOPICID:PARTITION", key))
		}
		resp.Coordinators = append(resp.Coordinators, k)
	}
	return resp
}

// isShareKey says whether a key names a share partition. The group may hold
// colons itself, and colons at the end do not count (SharePartitionKey.validate).
func isShareKey(key string) bool {
	parts := strings.Split(strings.TrimRight(key, ":"), ":")
	n := len(parts)
	if n < 3 || strings.TrimSpace(strings.Join(parts[:n-2], ":")) == "" {
		return false
	}
	id, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[n-2], "="))
	if err != nil || len(id) != len(topic{}.id) {
		return false
	}
	_, err = strconv.ParseInt(parts[n-1], 10, 32)
	return err == nil
}
