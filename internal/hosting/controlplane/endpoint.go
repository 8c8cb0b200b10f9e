package controlplane

import (
	"context"
	"fmt"
	"net/netip"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// ensureEndpoint says where the API server is. Gateways take their routes from there.
func (r *reconciler) ensureEndpoint(ctx context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	place, err := r.Runner.Reserve(ctx, string(cp.UID), Ports())
	if err != nil {
		return operator.Retry(v1alpha1.ReasonEndpointPending, fmt.Errorf("read the port: %w", err))
	}
	name, api := serverName(cp, r.Domain), place[PortAPI]
	cp.Status.Endpoint = &v1alpha1.ControlPlaneEndpoint{
		ServerName:  name,
		Gateway:     r.GatewayAddress,
		Address:     r.reachable(api.Outside.Addr()).String(),
		NodeAddress: r.AdvertiseAddress.String(),
		Port:        int32(api.Outside.Port()),
	}
	return operator.Done(v1alpha1.ReasonEndpointServing, "the API server is "+name+" at the gateway")
}

func (r *reconciler) removeEndpoint(_ context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	cp.Status.Endpoint = nil
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// reachable is how others reach what listens on addr.
func (r *reconciler) reachable(addr netip.Addr) netip.Addr {
	if addr.IsUnspecified() {
		return r.AdvertiseAddress
	}
	return addr
}
