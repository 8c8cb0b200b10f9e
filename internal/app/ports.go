//go:build linux

package app

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// port is one that clients have to find again after a restart.
type port struct {
	// of names what listens there, and flag chooses it on the command line.
	of, flag string
	// wish is what the operator says now, 0 for nothing; first is what users expect.
	wish, first int
}

// listen opens a port: the one that is wished for, or the one of last time, or at first the one that users expect, or
// the next free one where that is taken.
func (p port) listen(host netip.Addr, lastTime int) (net.Listener, error) {
	on := func(n int) (net.Listener, error) {
		return net.Listen("tcp", net.JoinHostPort(host.String(), strconv.Itoa(n)))
	}
	said, n, advice := " ("+p.flag+")", p.wish, "stop the program that listens there, or choose another with "+p.flag
	if n == 0 {
		said, n, advice = "", lastTime, "stop the program that listens there: clients have this port, and look for another one in vain"
	}
	if n != 0 {
		l, err := on(n)
		if err != nil {
			return nil, fmt.Errorf("open the %s's port %d%s: %w; %s", p.of, n, said, err, advice)
		}
		return l, nil
	}
	var err error
	for n := p.first; n < p.first+nearby; n++ {
		var l net.Listener
		if l, err = on(n); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("open a port for the %s: %d to %d cannot be had: %w; choose another with %s", p.of, p.first, p.first+nearby-1, err, p.flag)
}

// nearby is how many ports are tried from the first one. One that the kernel gives away by itself (from 32768) is none of
// them: after a restart another program could have it.
const nearby = 100

// open opens a port of the installation and remembers it.
func (a *App) open(p port, remembered *int) (net.Listener, error) {
	l, err := p.listen(a.Listen, *remembered)
	if err != nil {
		return nil, err
	}
	return l, ledger{a}.remember(func(*settings) { *remembered = l.Addr().(*net.TCPAddr).Port })
}

// dialed is the address of a port for clients on this host.
func (a *App) dialed(n int) string {
	host := a.Listen
	if host.IsUnspecified() {
		host = advertiseAddress(host)
	}
	return net.JoinHostPort(host.String(), strconv.Itoa(n))
}

// gatewayAddress is what clients on this host dial.
func (a *App) gatewayAddress() string { return a.dialed(a.settings.GatewayPort) }

// apiAddress is what clients on this host call; empty before there is a port.
func (a *App) apiAddress() string {
	a.remembering.Lock()
	port := a.settings.APIPort
	a.remembering.Unlock()
	if port == 0 {
		return ""
	}
	return "https://" + a.dialed(port)
}
