package supervise

import (
	"path/filepath"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// Dir is a workload's directory. It is there from the first Reserve to Remove, which alone look at whether id is a good
// one.
func (s *Supervisor) Dir(id string) string { return filepath.Join(s.conf.Dir, "workloads", id) }

// MendPorts sets the reservation of a workload aside when it cannot be read, and returns its new name, so that Reserve makes
// another one with other ports: for workloads whose clients learn new ports. Empty when the reservation is good.
func (s *Supervisor) MendPorts(id string) (aside string, err error) {
	s.ports.mu.Lock()
	defer s.ports.mu.Unlock()
	if s.ports.bad[id] == nil {
		return "", nil
	}
	aside, err = atomicfile.SetAside(filepath.Join(s.Dir(id), PortsFile))
	if err == nil {
		delete(s.ports.bad, id)
	}
	return aside, err
}
