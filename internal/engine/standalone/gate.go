//go:build linux

package standalone

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/gatekeeper"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// portHealth begins the name of the port at which the egress says how it is.
const portHealth = "health"

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
	etcd, err := u.Supervisor.Reserve(ctx, WorkloadStore, []string{portClient, portPeer, portHTTP})
	if err != nil {
		return fmt.Errorf("find the port of etcd: %w", err)
	}
	keeper := &gatekeeper.Keeper{Supervisor: u.Supervisor, Program: u.Program}
	gate, err := keeper.Run(ctx, gatekeeper.Store{
		Workload: WorkloadGate, Members: []string{loopback(etcd.Port[portClient])}, CA: u.credentials.Keys["ca.crt"], Keys: keys,
	})
	if err != nil {
		return err
	}
	if err := u.wait(ctx, WorkloadGate); err != nil {
		return err
	}
	u.credentials.Gate = &engine.StoreGate{Endpoint: gate.Endpoint, Keys: keys, Tenants: gate.Tenants, Usage: gate.Usage}
	return nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
