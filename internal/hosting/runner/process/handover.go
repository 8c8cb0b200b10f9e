package process

import (
	"net/netip"
	"slices"

	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// HandoverFolder is where programs of a workload hand ports over, relative to its directory. The names of sockets in it have to be short.
const HandoverFolder = "handover"

// ownPort names the port at which the process of a component listens that no other process of it shares: of what makes it another
// process than one before it.
func ownPort(c runner.Component, program Program, files map[string]runner.File) string {
	identity := slices.Concat([]string{c.Name, program.Path, program.Build}, c.Args, c.Env, c.HandOver.Args)
	if program.Build != "" {
		identity[1] = "" // it is the same wherever it lies
	}
	for _, name := range slices.Sorted(slices.Values(c.RestartOn)) {
		identity = append(identity, name, string(files[name].Data))
	}
	return supervise.PortOf("own", identity...)
}

// handOver has a component be one that another process can take the place of: it has an address of its own, where its probe is answered.
func (h host) handOver(c runner.Component, program Program, out *supervise.Component) error {
	name := ownPort(c, program, h.files)
	own := inside(h.place, runner.Port{Name: name})
	for _, a := range c.HandOver.Args {
		arg, err := runner.Expand(a, func(r runner.Reference) (string, error) {
			if r.Kind == runner.KindHandover {
				return HandoverFolder, nil
			}
			return own.String(), nil // Workload.Validate lets no other one pass
		})
		if err != nil {
			return err
		}
		out.Args = append(out.Args, arg)
	}
	public := h.place.Addr
	if !h.public[c.HandOver.Port] {
		public = own.Addr()
	}
	out.Ports = append(slices.Clone(out.Ports), name)
	out.Writes = append(slices.Clone(out.Writes), HandoverFolder)
	out.Probe = h.probeAt(c.Probe, own)
	out.TakesIn = HandoverFolder
	out.HandsOver, out.Hands = c.HandOver.Within, netip.AddrPortFrom(public, uint16(h.place.Port[c.HandOver.Port])).String()
	return nil
}
