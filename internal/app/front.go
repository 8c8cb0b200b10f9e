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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kqueen.io/kqueen/internal/clusters/cluster"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/gateway"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/prepare"
)

// Workloads of the installation that are gateways. No control plane's UID and no workload of an engine is one of these.
const (
	workloadGateway = "gateway"
	workloadIngress = "ingress"
)

// front is one of the installation's gateways: that of API servers, or that of the applications in clusters.
type front struct {
	id string // of its workload
	// build is raised for one that an upgrade has to replace. Its connections end by themselves then, within gatewayLeaves.
	build  string
	limits confine.Limits
	// plainPort is that of [gateway.Process].
	plainPort uint16
	port      port
	changed   <-chan struct{}
	table     *gateway.Table
}

// remembered is where the settings have its port.
func (f *front) remembered(s *settings) *int {
	if f.id == workloadIngress {
		return &s.IngressPort
	}
	return &s.GatewayPort
}

// newFronts describes both gateways. All clients of all control planes wait for the first one; the second one carries what tenants serve.
func newFronts(c Config, n *notices) (apiServers, applications *front) {
	apiServers = &front{
		id: workloadGateway, build: "gateway 4", limits: confine.Limits{Weight: 1000},
		port: port{"gateway", "--gateway-port", c.GatewayPort, firstGatewayPort}, changed: n.awaited[workloadGateway],
	}
	applications = &front{
		id: workloadIngress, build: "ingress 1", limits: confine.Limits{Weight: 100}, plainPort: gateway.PlainPort,
		port: port{"ingress gateway", "--ingress-port", c.IngressPort, firstIngressPort}, changed: n.awaited[workloadIngress],
	}
	return apiServers, applications
}

// Its file, and the folder in which the port is passed on.
const (
	routesFile     = "routes.json"
	handoverFolder = "handover"
)

// gatewayLeaves is how long a gateway goes on with the connections that it has when another one has taken its place: watches end
// within the hour by themselves.
const gatewayLeaves = time.Hour

// isFront says whether a workload is one of the gateways.
func isFront(id string) bool { return id == workloadGateway || id == workloadIngress }

// owns says whether a workload of the supervisor is the installation's own, and not a control plane or a machine.
func owns(e engine.Engine, id string) bool {
	return isFront(id) || isGate(id) || id == workloadSimulator || engine.Owns(e, id)
}

// openFronts finds the processes of the gateways, or ports for them. They go on when KQueen ends: clients reach their clusters
// whatever becomes of KQueen.
func openFronts(ctx context.Context, a *App) error {
	var free []net.Listener
	defer func() { // not before all have one: the next could choose the same
		for _, l := range free {
			_ = l.Close()
		}
	}()
	for _, f := range []*front{a.gateway, a.ingress} {
		l, err := f.open(ctx, a)
		if l != nil {
			free = append(free, l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open returns the listener of a port that was free; nil where the process runs, and has its port.
func (f *front) open(ctx context.Context, a *App) (net.Listener, error) {
	place, err := a.supervisor.Reserve(ctx, f.id, nil)
	if err != nil {
		return nil, fmt.Errorf("reserve the directory of the %s: %w", f.port.of, err)
	}
	f.table, err = gateway.OpenTable(filepath.Join(place.Dir, routesFile))
	if err != nil { // the gateway's process goes on with those that it has
		aside, failed := atomicfile.SetAside(filepath.Join(place.Dir, routesFile))
		a.Log.Error("the routes are read from the admin plane", "of", f.port.of, "error", err, "setAside", aside, "failed", failed)
	}
	status, err := a.supervisor.Status(ctx, f.id)
	if err != nil {
		return nil, fmt.Errorf("look for the %s: %w", f.port.of, err)
	}
	lastTime := *f.remembered(a.settings)
	if c, ok := status.Component(f.id); ok && c.PID != 0 && lastTime != 0 && (f.port.wish == 0 || f.port.wish == lastTime) {
		return nil, nil
	}
	return a.open(f.port, f.remembered(a.settings))
}

func serveFronts(ctx context.Context, a *App) error {
	for _, f := range []*front{a.gateway, a.ingress} {
		if err := f.serve(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// serve has a gateway's process run, and waits until it does.
func (f *front) serve(ctx context.Context, a *App) error {
	listen := net.JoinHostPort(a.Listen.String(), strconv.Itoa(*f.remembered(a.settings)))
	healthPort := supervise.PortOf("health", f.build, listen)
	place, err := a.supervisor.Reserve(ctx, f.id, []string{healthPort})
	if err != nil {
		return fmt.Errorf("reserve the directory of the %s: %w", f.port.of, err)
	}
	health := net.JoinHostPort(place.Addr.String(), strconv.Itoa(place.Port[healthPort]))
	p := gateway.Process{
		Listen: listen, Handover: filepath.Join(place.Dir, handoverFolder), Routes: filepath.Join(place.Dir, routesFile), Health: health, PlainPort: f.plainPort,
	}
	err = a.supervisor.Apply(ctx, supervise.Workload{ID: f.id, Limits: f.limits, Score: confine.ScoreKept, Components: []supervise.Component{{
		Name:  f.id,
		Path:  a.Program,
		Build: f.build,
		Args:  append([]string{"gateway"}, p.Args()...),
		Ports: []string{healthPort},
		Probe: &supervise.Probe{URL: "http://" + health + "/healthz"},
		// Every client has to connect again, when it is stopped.
		StopGrace: time.Second, HandsOver: gatewayLeaves, Hands: listen, LatencySensitive: true,
	}}})
	if err != nil {
		return fmt.Errorf("start the %s: %w", f.port.of, err)
	}
	return supervise.Await(ctx, a.supervisor, f.id, f.changed)
}

// applicationDomains are those of the applications in a cluster. Names below localhost mean this host to browsers and resolvers, without
// a name service that knows them (RFC 6761, section 6.3).
func applicationDomains(domain string) func(types.NamespacedName) []string {
	return func(of types.NamespacedName) []string {
		return slices.Compact([]string{controlplane.ServerName(of, domain), controlplane.ServerName(of, "localhost")})
	}
}

// applications are reached by the ingress gateway, where their cluster has machines on this host.
func applications(a *App, prepares *prepare.Preparer) cluster.Applications {
	return cluster.Applications{Domains: applicationDomains(a.Domain), Address: prepares.IngressAddress, Port: int32(a.settings.IngressPort)}
}

// routes are the gateway's.
func (a *App) routes(c client.Reader) *gateway.Routes {
	r := &gateway.Routes{Table: a.gateway.table, Client: c, Name: func(of types.NamespacedName) string { return controlplane.ServerName(of, a.Domain) }, Asleep: asleep(a)}
	if a.Listen.IsUnspecified() {
		r.Self = advertiseAddress(a.Listen)
	}
	return r
}

// addRoutes has the gateway's routes be as statuses of control planes have them, and clusters be woken for which clients wait there.
func addRoutes(ctx context.Context, a *App, mgr ctrl.Manager) (*operator.FirstLooks, error) {
	if err := mgr.Add(manager.RunnableFunc(wakes(a).Run)); err != nil {
		return nil, err
	}
	front := a.routes(mgr.GetClient())
	if err := front.Restore(ctx, mgr.GetAPIReader()); err != nil {
		return nil, fmt.Errorf("restore the gateway's routes: %w", err)
	}
	return front.Setup(mgr)
}
