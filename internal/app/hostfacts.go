//go:build linux

package app

import (
	"cmp"
	"context"

	"kqueen.io/kqueen/internal/platform/hostcheck"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/server/status"
	"kqueen.io/kqueen/internal/workers/node"
)

// HostFacts looks at the host for an installation in c.Dir, which may be one that is not set up yet or one that runs. It changes
// nothing. Of c are used the folder, the address and the ports.
func HostFacts(ctx context.Context, c Config) hostcheck.Facts {
	f := hostcheck.Read(c.Dir)
	f.PacketFilter = node.ProxyMode()
	given := supervise.DefaultPorts()
	f.KQueensPorts = hostcheck.PortRange{First: int(given.First), Last: int(given.Last)}
	_, err := status.Read(ctx, c.Dir)
	f.Running = err == nil
	remembered, err := readSettings(settingsFile(c.Dir))
	if err != nil || remembered == nil {
		remembered = &settings{} // whose damage KQueen tells when it starts
	}
	listen := (&settings{Listen: remembered.Listen}).merge(Config{Listen: c.Listen}).Listen.String()
	for _, p := range []struct {
		of             port
		said, lastTime int
	}{
		{port{of: "gateway", flag: "--gateway-port", first: firstGatewayPort}, c.GatewayPort, remembered.GatewayPort},
		{port{of: "ingress gateway", flag: "--ingress-port", first: firstIngressPort}, c.IngressPort, remembered.IngressPort},
		{port{of: "API", flag: "--api-port", first: firstAPIPort}, c.APIPort, remembered.APIPort},
	} {
		fixed := cmp.Or(p.said, p.lastTime)
		look := hostcheck.Port{
			Of: p.of.of, Flag: p.of.flag, Number: cmp.Or(fixed, p.of.first), Fixed: fixed != 0,
			Ours: f.Running && fixed == p.lastTime && fixed != 0, Left: p.of.of != "API" && fixed == p.lastTime,
		}
		f.Ports = append(f.Ports, look.LookAt(listen))
	}
	return f
}
