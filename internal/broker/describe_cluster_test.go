package broker

import (
	"fmt"
	"math"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeCluster_IsTheOneNode(t *testing.T) {
	n := start(t, Options{})
	c := n.dialAs(wire.Advertised{Host: "kafka.example", Port: 29092})
	everyVersion(t, kmsg.DescribeCluster, func(t *testing.T, version int16) {
		for operations, asked := range map[int32]bool{math.MinInt32: false, 8096: true} {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.Version, req.IncludeClusterAuthorizedOperations, req.IncludeFencedBrokers = version, asked, asked
			wanted := kmsg.NewPtrDescribeClusterResponse()
			wanted.Version, wanted.ClusterID, wanted.ControllerID = version, n.clusterID, NodeID
			wanted.ClusterAuthorizedOperations = operations
			wanted.Brokers = []kmsg.DescribeClusterResponseBroker{{NodeID: NodeID, Host: "kafka.example", Port: 29092}}
			want(t, fmt.Sprintf("operations asked for: %v", asked), c.ask(req), kmsg.Response(wanted))
		}
	})
}

func TestDescribeCluster_OfAnotherTypeOfEndpoint(t *testing.T) {
	c := start(t, Options{}).dial()
	for _, tt := range []struct {
		name     string
		endpoint int8
		code     string
		message  string
	}{
		{"controllers", controllerEndpoint, "MISMATCHED_ENDPOINT_TYPE",
			"The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"},
		{"none", 0, "UNSUPPORTED_ENDPOINT_TYPE", "Unsupported endpoint type 0"},
		{"one that there is not", 3, "UNSUPPORTED_ENDPOINT_TYPE", "Unsupported endpoint type 3"},
		{"one below 0", -1, "UNSUPPORTED_ENDPOINT_TYPE", "Unsupported endpoint type -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everyVersion(t, kmsg.DescribeCluster, func(t *testing.T, version int16) {
				req := kmsg.NewPtrDescribeClusterRequest()
				req.Version, req.EndpointType, req.IncludeClusterAuthorizedOperations = version, tt.endpoint, true
				resp := c.ask(req).(*kmsg.DescribeClusterResponse)
				if version == 0 { // it has no place for a type
					wantCode(t, resp.ErrorCode, "NONE")
					return
				}
				wantCode(t, resp.ErrorCode, tt.code)
				wanted := kmsg.NewPtrDescribeClusterResponse()
				wanted.Version, wanted.ErrorCode, wanted.ErrorMessage = version, resp.ErrorCode, &tt.message
				want(t, "told", kmsg.Response(resp), kmsg.Response(wanted))
			})
		})
	}
}
