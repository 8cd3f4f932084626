package broker

import (
	"regexp"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ApiVersions, versions 0 to 4. Any other version is answered before it comes
// here, in the shape of version 0 with UNSUPPORTED_VERSION and the one entry for
// ApiVersions (KIP-511).
//
// No features are named: none of them is served.

// softwareName is what a client may call itself and its version (KIP-511).
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func apiVersions(r *kmsg.ApiVersionsRequest) kmsg.Response {
	if r.Version >= 3 && (!softwareName.MatchString(r.ClientSoftwareName) || !softwareName.MatchString(r.ClientSoftwareVersion)) {
		return wire.ErrorAnswer(r, kerr.InvalidRequest.Code, "")
	}
	resp := r.ResponseKind().(*kmsg.ApiVersionsResponse)
	resp.ApiKeys = wire.Entries()
	return resp
}
