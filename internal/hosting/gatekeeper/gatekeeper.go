//go:build linux

// Package gatekeeper has the supervisor run the gates of data stores, one process before each: see package storegate for what a gate
// does, and docs/development/adr/0028 for why.
//
// It hides what a gate is to the supervisor, and which ports, folders and rights it has. The engine has it run the gate before the etcd of the installation, and the app those before etcds of others.
package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/storegate"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Files of a gate: who its tenants are, and, in a folder that it writes, what they hold.
const (
	tenantsFile = "tenants.json"
	usageFolder = "usage"
	usageFile   = "usage.json"
	// handoverFolder is where its port is passed on.
	handoverFolder = "handover"
)

const (
	// build is raised for a gate that an upgrade has to replace. API servers connect to the next one then.
	build = "store gate 3"
	// leaves is longer than a gate takes to leave.
	leaves = time.Minute

	// look is the time between two looks at a gate that is awaited.
	look = 50 * time.Millisecond

	component = "store-gate"
	// portClient is where API servers connect, and portHealth begins the names of ports at which gates say how they are.
	portClient = "client"
	portHealth = "health"
)

// limits are those of a gate: all control planes over its store wait for it, and it must not be ended for the memory that
// tenants have it take.
var limits = confine.Limits{Weight: 1000, Tasks: 4096}

// Supervisor runs processes. *supervise.Supervisor offers it.
type Supervisor interface {
	Reserve(ctx context.Context, id string, ports []string) (supervise.Place, error)
	Apply(ctx context.Context, w supervise.Workload) error
	Status(ctx context.Context, id string) (supervise.Status, error)
	Remove(ctx context.Context, id string, grace time.Duration) (bool, error)
}

// Keeper runs gates. It is safe for concurrent use.
type Keeper struct {
	Supervisor Supervisor
	// Program is kqueen.
	Program string
	// Patience is how long Ready waits for a gate: to a KQueen that has just started, one that runs says so after a moment.
	Patience time.Duration
}

// Store is what a gate stands before.
type Store struct {
	// Workload is the gate's to the supervisor, and Subject what that is to users.
	Workload string
	Subject  supervise.Subject
	// Members are host:port of the etcd's members.
	Members []string
	// CA is what their certificates are checked against, in PEM.
	CA []byte
	// Keys are the gate's own, of pki.StoreGate.
	Keys pki.Bundle
}

// Gate is one that runs, or is about to.
type Gate struct {
	// Endpoint is where API servers find it.
	Endpoint string
	// Tenants is the file of its tenants and their quotas, for storegate.OpenTable.
	Tenants string
	// Usage is the file that says what they hold, and how much is left for all, for storegate.ReadUsage.
	Usage string
}

// Members are host:port of endpoints, which are URLs. It is pure.
func Members(endpoints []string) ([]string, error) {
	var out []string
	for _, text := range endpoints {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("endpoint %q: %w", text, err)
		}
		port := u.Port()
		if port == "" {
			port = "443"
		}
		out = append(out, net.JoinHostPort(u.Hostname(), port))
	}
	return out, nil
}

// Run has a gate run before a store, or as s now says. It does not wait for it. What changes and is no part of what the gate is takes effect
// at once; otherwise another one takes its place while it runs.
func (k *Keeper) Run(ctx context.Context, s Store) (Gate, error) {
	place, err := k.Supervisor.Reserve(ctx, s.Workload, []string{portClient, s.health()})
	if err != nil {
		return Gate{}, fmt.Errorf("reserve the ports of the store gate: %w", err)
	}
	if err := k.Supervisor.Apply(ctx, describe(k.Program, place, s)); err != nil {
		return Gate{}, fmt.Errorf("start the store gate: %w", err)
	}
	return Gate{
		Endpoint: "https://" + loopback(place.Port[portClient]), Tenants: filepath.Join(place.Dir, tenantsFile),
		Usage: filepath.Join(place.Dir, usageFolder, usageFile),
	}, nil
}

// Ready says whether the gate of a workload answers.
func (k *Keeper) Ready(ctx context.Context, workload string) (bool, error) {
	late := time.NewTimer(k.Patience)
	defer late.Stop()
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		status, err := k.Supervisor.Status(ctx, workload)
		if err != nil {
			return false, fmt.Errorf("look at the store gate: %w", err)
		}
		if status.Health().Ready() {
			return true, nil
		}
		select {
		case <-again.C:
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// Remove ends the gate of a workload and forgets it. It is idempotent.
func (k *Keeper) Remove(ctx context.Context, workload string) error {
	gone, err := k.Supervisor.Remove(ctx, workload, time.Second)
	if err == nil && !gone {
		err = errors.New("it is still there")
	}
	if err != nil {
		return fmt.Errorf("remove the store gate: %w", err)
	}
	return nil
}

// reach are the addresses that a gate may call: those of the members. It is nil, for any, when one has a name: a rule of the packet
// filter knows addresses alone, and the gate has to look names up. It is pure.
func reach(members []string) []netip.AddrPort {
	var out []netip.AddrPort
	for _, m := range members {
		to, err := netip.ParseAddrPort(m)
		if err != nil {
			return nil
		}
		out = append(out, to)
	}
	return out
}

// health names the port at which a gate of this identity says how it is.
func (s Store) health() string {
	return supervise.PortOf(portHealth, append([]string{build, string(s.CA), string(s.Keys["ca.crt"])}, s.Members...)...)
}

// describe is pure. The gate is what tenants talk to: it can do as little to the host as they can, and connects to etcd
// alone.
func describe(program string, place supervise.Place, s Store) supervise.Workload {
	file, port := func(name string) string { return filepath.Join(place.Dir, name) }, s.health()
	p := storegate.Process{
		Listen: loopback(place.Port[portClient]), Handover: file(handoverFolder), Store: s.Members, Health: loopback(place.Port[port]),
		StoreCA: file("store-ca.crt"), ClientCA: file("ca.crt"), Certificate: file("server.crt"), Key: file("server.key"), Tenants: file(tenantsFile),
		Usage: filepath.Join(file(usageFolder), usageFile),
	}
	return supervise.Workload{
		ID: s.Workload, Subject: s.Subject, Confined: true, Reach: reach(s.Members), Limits: limits, Score: confine.ScoreKept,
		Files: map[string]supervise.File{
			"store-ca.crt": {Data: s.CA}, "ca.crt": {Data: s.Keys["ca.crt"]},
			"server.crt": {Data: s.Keys["server.crt"]}, "server.key": {Data: s.Keys["server.key"]},
		},
		Components: []supervise.Component{{
			Name:  component,
			Path:  program,
			Build: build,
			Args:  append([]string{"store-gate"}, p.Args()...),
			// The gate's own certificate is read again for each connection.
			RestartOn: []string{"store-ca.crt", "ca.crt"},
			Ports:     []string{portClient, port},
			Writes:    []string{file(usageFolder), file(handoverFolder)},
			Probe:     &supervise.Probe{URL: "http://" + p.Health + "/healthz"},
			// Every API server has to connect again, when it is stopped.
			StopGrace: time.Second, HandsOver: leaves, Hands: p.Listen, LatencySensitive: true,
		}},
	}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
