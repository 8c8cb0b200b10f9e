//go:build linux

package standalone

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/storegate"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Files of the store gate: who its tenants are, and, in a folder that it writes, what they hold.
const (
	tenantsFile = "tenants.json"
	usageFolder = "usage"
	usageFile   = "usage.json"
	// handoverFolder is where its port is passed on.
	handoverFolder = "handover"
)

const (
	// gateBuild is raised for a gate that an upgrade has to replace. API servers connect to the next one then.
	gateBuild = "store gate 2"
	// gateLeaves is longer than a gate takes to leave.
	gateLeaves = time.Minute
	// portHealth begins the names of ports at which egress and store gate say how they are.
	portHealth = "health"
)

// gate runs what stands before etcd for all control planes but the admin plane. Without KQueen it goes on, as the API servers
// do.
func (u *bringUp) gate(ctx context.Context) error {
	set, err := pki.StoreGate("default")
	if err != nil {
		return err
	}
	// With other keys the certificates of tenants are issued anew.
	keys, err := u.replaceable("store gate", filepath.Join(u.Dir, "keys", "store-gate.json"), set)
	if err != nil {
		return fmt.Errorf("keys of the store gate: %w", err)
	}
	place, err := u.Supervisor.Reserve(ctx, WorkloadGate, []string{portClient, gateHealth(u.credentials.Keys, keys)})
	if err != nil {
		return fmt.Errorf("reserve the ports of the store gate: %w", err)
	}
	etcd, err := u.Supervisor.Reserve(ctx, WorkloadStore, []string{portClient, portPeer, portHTTP})
	if err != nil {
		return fmt.Errorf("find the port of etcd: %w", err)
	}
	reach := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(etcd.Port[portClient]))
	if err := u.Supervisor.Apply(ctx, describeGate(u.Program, place, reach, u.credentials.Keys, keys)); err != nil {
		return fmt.Errorf("start the store gate: %w", err)
	}
	if err := u.wait(ctx, WorkloadGate); err != nil {
		return err
	}
	u.credentials.Gate = &engine.StoreGate{
		Endpoint: endpoint(place.Port[portClient]), Keys: keys, Tenants: filepath.Join(place.Dir, tenantsFile),
		Usage: filepath.Join(place.Dir, usageFolder, usageFile),
	}
	return nil
}

// gateHealth is the port at which a gate with these authorities says how it is. It is pure.
func gateHealth(store, keys pki.Bundle) string {
	return supervise.PortOf(portHealth, gateBuild, string(store["ca.crt"]), string(keys["ca.crt"]))
}

// describeGate is pure. The gate is what tenants talk to: it can do as little to the host as they can, and connects to etcd
// alone.
func describeGate(program string, place supervise.Place, etcd netip.AddrPort, store, keys pki.Bundle) supervise.Workload {
	file, port := func(name string) string { return filepath.Join(place.Dir, name) }, gateHealth(store, keys)
	p := storegate.Process{
		Listen: loopback(place.Port[portClient]), Handover: file(handoverFolder), Store: []string{etcd.String()}, Health: loopback(place.Port[port]),
		StoreCA: file("store-ca.crt"), ClientCA: file("ca.crt"), Certificate: file("server.crt"), Key: file("server.key"), Tenants: file(tenantsFile),
		Usage: filepath.Join(file(usageFolder), usageFile),
	}
	return supervise.Workload{
		ID: WorkloadGate, Confined: true, Reach: []netip.AddrPort{etcd}, Limits: storeLimits, Score: confine.ScoreKept,
		Files: map[string]supervise.File{
			"store-ca.crt": {Data: store["ca.crt"]}, "ca.crt": {Data: keys["ca.crt"]},
			"server.crt": {Data: keys["server.crt"]}, "server.key": {Data: keys["server.key"]},
		},
		Components: []supervise.Component{{
			Name:  WorkloadGate,
			Path:  program,
			Build: gateBuild,
			Args:  append([]string{"store-gate"}, p.Args()...),
			// The gate's own certificate is read again for each connection.
			RestartOn: []string{"store-ca.crt", "ca.crt"},
			Ports:     []string{portClient, port},
			Writes:    []string{file(usageFolder), file(handoverFolder)},
			Probe:     &supervise.Probe{URL: "http://" + p.Health + "/healthz"},
			// Every API server has to connect again, when it is stopped.
			StopGrace: time.Second, HandsOver: gateLeaves, Hands: p.Listen,
		}},
	}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
