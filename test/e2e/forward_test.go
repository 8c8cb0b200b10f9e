//go:build linux

package e2e

import (
	"net"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/vishvananda/netns"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/internal/platform/osthread"
	"kqueen.io/kqueen/internal/platform/relay"
)

// entry is a port of this host which leads nowhere until it is opened.
func (l *lan) entry() net.Listener {
	l.t.Helper()
	entry, err := net.Listen("tcp", net.JoinHostPort(l.gateway.String(), "0"))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = entry.Close() })
	return entry
}

// opens has a entry lead to the API server of the cluster, in the machine's own network.
func (f *far) opens(t *testing.T, entry net.Listener) {
	t.Helper()
	server, machine := f.server(t).Host, f.init.Process.Pid
	go func() {
		for {
			near, err := entry.Accept()
			if err != nil {
				return
			}
			go func() {
				far, err := dialIn(machine, server)
				if err != nil { // the machine has ended
					_ = near.Close()
					return
				}
				relay.Both(t.Context(), near, far)
			}()
		}
	}()
}

// server is where the machine finds the API server of its cluster.
func (f *far) server(t *testing.T) *url.URL {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.config)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// dialIn connects to an address in the network of a process.
func dialIn(pid int, address string) (net.Conn, error) {
	type answer struct {
		conn net.Conn
		err  error
	}
	answers := make(chan answer, 1)
	// Were it the first thread of the process, all tests beside this one would find themselves in that network.
	osthread.Spend(func() {
		network, err := netns.GetFromPid(pid)
		if err != nil {
			answers <- answer{nil, err}
			return
		}
		defer network.Close()
		if err := netns.Set(network); err != nil {
			answers <- answer{nil, err}
			return
		}
		conn, err := net.Dial("tcp", address)
		answers <- answer{conn, err}
	})
	a := <-answers
	return a.conn, a.err
}

// through writes the kubeconfig of the cluster's administrator for an address that leads to its API server, and returns its path.
func (f *far) through(t *testing.T, address string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(f.config)
	if err != nil {
		t.Fatal(err)
	}
	name := f.server(t).Hostname()
	for _, c := range config.Clusters {
		c.Server = "https://" + address
		if c.TLSServerName == "" {
			c.TLSServerName = name
		}
	}
	file := filepath.Join(f.base, "through.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}
