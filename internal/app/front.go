//go:build linux

package app

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/gateway"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// workloadGateway is the gateway's process. No control plane's UID and no workload of an engine is that.
const workloadGateway = "gateway"

// gatewayBuild is raised for a gateway that an upgrade has to replace. Its connections end by themselves then, within gatewayLeaves.
const gatewayBuild = "gateway 3"

// gatewayLimits: all clients of all control planes wait for it.
var gatewayLimits = confine.Limits{Weight: 1000}

// Its file, and the folder in which the port is passed on.
const (
	routesFile     = "routes.json"
	handoverFolder = "handover"
)

// gatewayLeaves is how long a gateway goes on with the connections that it has when another one has taken its place: watches end
// within the hour by themselves.
const gatewayLeaves = time.Hour

// owns says whether a workload of the supervisor is the installation's own, and not a control plane or a machine.
func owns(e engine.Engine, id string) bool {
	return id == workloadGateway || isGate(id) || engine.Owns(e, id)
}

// openFront finds the gateway's process, or a port for it. The process goes on when KQueen ends: clients reach their clusters
// whatever becomes of KQueen.
func (a *App) openFront(ctx context.Context) error {
	place, err := a.supervisor.Reserve(ctx, workloadGateway, nil)
	if err != nil {
		return fmt.Errorf("reserve the gateway's directory: %w", err)
	}
	a.table, err = gateway.OpenTable(filepath.Join(place.Dir, routesFile))
	if err != nil { // the gateway's process goes on with those that it has
		aside, failed := atomicfile.SetAside(filepath.Join(place.Dir, routesFile))
		a.Log.Error("the gateway's routes are read from the admin plane", "error", err, "setAside", aside, "failed", failed)
	}
	status, err := a.supervisor.Status(ctx, workloadGateway)
	if err != nil {
		return fmt.Errorf("look for the gateway: %w", err)
	}
	lastTime := a.settings.GatewayPort
	if c, ok := status.Component(workloadGateway); ok && c.PID != 0 && lastTime != 0 && (a.GatewayPort == 0 || a.GatewayPort == lastTime) {
		return nil // it runs, and has its port
	}
	free, err := a.open(port{"gateway", "--gateway-port", a.GatewayPort, firstGatewayPort}, &a.settings.GatewayPort)
	if err != nil {
		return err
	}
	return free.Close()
}

// serveFront has the gateway's process run, and waits until it does.
func (a *App) serveFront(ctx context.Context) error {
	listen := net.JoinHostPort(a.Listen.String(), strconv.Itoa(a.settings.GatewayPort))
	healthPort := supervise.PortOf("health", gatewayBuild, listen)
	place, err := a.supervisor.Reserve(ctx, workloadGateway, []string{healthPort})
	if err != nil {
		return fmt.Errorf("reserve the gateway's directory: %w", err)
	}
	health := net.JoinHostPort(place.Addr.String(), strconv.Itoa(place.Port[healthPort]))
	p := gateway.Process{
		Listen: listen, Handover: filepath.Join(place.Dir, handoverFolder), Routes: filepath.Join(place.Dir, routesFile), Health: health,
	}
	err = a.supervisor.Apply(ctx, supervise.Workload{ID: workloadGateway, Limits: gatewayLimits, Score: confine.ScoreKept, Components: []supervise.Component{{
		Name:  workloadGateway,
		Path:  a.Program,
		Build: gatewayBuild,
		Args:  append([]string{"gateway"}, p.Args()...),
		Ports: []string{healthPort},
		Probe: &supervise.Probe{URL: "http://" + health + "/healthz"},
		// Every client has to connect again, when it is stopped.
		StopGrace: time.Second, HandsOver: gatewayLeaves, Hands: listen,
	}}})
	if err != nil {
		return fmt.Errorf("start the gateway: %w", err)
	}
	return supervise.Await(ctx, a.supervisor, workloadGateway, a.notices.front)
}

// applicationDomains are those of the applications in a cluster. Names below localhost mean this host to browsers and resolvers, without
// a name service that knows them (RFC 6761, section 6.3).
func (a *App) applicationDomains(of types.NamespacedName) []string {
	return slices.Compact([]string{controlplane.ServerName(of, a.Domain), controlplane.ServerName(of, "localhost")})
}

// routes are the gateway's.
func (a *App) routes(c client.Reader) *gateway.Routes {
	r := &gateway.Routes{Table: a.table, Client: c, Name: func(of types.NamespacedName) string { return controlplane.ServerName(of, a.Domain) }}
	if a.Listen.IsUnspecified() {
		r.Self = advertiseAddress(a.Listen)
	}
	return r
}
