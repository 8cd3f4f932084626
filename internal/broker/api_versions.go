package broker

import (
	"regexp"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ApiVersions, versions 0 to 5. Any other version is answered before it comes
// here, in the shape of version 0 with UNSUPPORTED_VERSION and the one entry for
// ApiVersions (KIP-511).
//
// From version 5 a client may say which node of which cluster it means to speak
// to (KIP-1242). It says both or neither, else INVALID_REQUEST; if this is
// another node, or a node of another cluster, it is told REBOOTSTRAP_REQUIRED.
//
// Differences from Apache Kafka: no features are named, as none is served.

// softwareName is what a client may call itself and its version (KIP-511).
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (b *Broker) apiVersions(r *kmsg.ApiVersionsRequest) kmsg.Response {
	if err := b.misdirected(r); err != nil {
		return wire.ErrorAnswer(r, err.Code, "")
	}
	resp := r.ResponseKind().(*kmsg.ApiVersionsResponse)
	resp.ApiKeys = wire.Entries()
	return resp
}

// misdirected says what is wrong with what a client says of itself and of whom
// it takes this broker for, nil if nothing is.
func (b *Broker) misdirected(r *kmsg.ApiVersionsRequest) *kerr.Error {
	const noNode = -1
	switch {
	case r.Version >= 3 && (!softwareName.MatchString(r.ClientSoftwareName) || !softwareName.MatchString(r.ClientSoftwareVersion)):
		return kerr.InvalidRequest
	case r.Version < 5 || r.ClusterID == nil && r.NodeID == noNode:
		return nil
	case r.ClusterID == nil || r.NodeID == noNode:
		return kerr.InvalidRequest
	case *r.ClusterID != b.clusterID || r.NodeID != NodeID:
		return kerr.RebootstrapRequired
	}
	return nil
}
