package broker

import (
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeCluster, versions 0 to 2 (endpoint types from 1, fenced brokers from 2).
//
// The one broker is the whole cluster, and no broker is ever fenced. Who asks for
// the controllers' own endpoints is told MISMATCHED_ENDPOINT_TYPE.

// The types of endpoint (KIP-919).
const (
	brokerEndpoint     = 1
	controllerEndpoint = 2
)

func (b *Broker) describeCluster(c *wire.Conn, r *kmsg.DescribeClusterRequest) kmsg.Response {
	if r.Version >= 1 && r.EndpointType != brokerEndpoint {
		return wrongEndpoint(r)
	}
	resp := r.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterID, resp.ControllerID = b.clusterID, NodeID
	if r.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	node := kmsg.NewDescribeClusterResponseBroker()
	node.NodeID, node.Host, node.Port = NodeID, c.Host, c.Port
	resp.Brokers = append(resp.Brokers, node)
	return resp
}

func wrongEndpoint(r *kmsg.DescribeClusterRequest) kmsg.Response {
	refused := refuse(kerr.UnsupportedEndpointType, "Unsupported endpoint type %d", r.EndpointType)
	if r.EndpointType == controllerEndpoint {
		refused = refuse(kerr.MismatchedEndpointType,
			"The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
	}
	resp := wire.ErrorAnswer(r, refused.code, refused.text).(*kmsg.DescribeClusterResponse)
	resp.EndpointType = brokerEndpoint
	return resp
}
