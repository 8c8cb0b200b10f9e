//go:build linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/links"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
	"kqueen.io/kqueen/internal/workers/node"
)

// record is what a machine keeps for its whole life. It is a file in the machine's directory.
type record struct {
	Cluster types.UID `json:"cluster"`
	// Address of the machine, with its cluster's subnet.
	Address netip.Prefix `json:"address"`
	// Parts is the folder with containerd and its company: a newer one is for newer machines.
	Parts string `json:"parts"`
	// Masquerades says that process 1 of the machine lets its pods out. That of an older machine does not, and each
	// pod has a rule of its own, which also hides it from pods of other machines.
	Masquerades bool `json:"masquerades,omitempty"`
	// Program is kqueen as it was called when the machine was made.
	Program string `json:"program"`
	// Isolation is how far the machine is kept apart from the host, and Reason why not further. A machine of an earlier
	// KQueen has none until it is made anew.
	Isolation machine.Isolation `json:"isolation,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	// IDs are the host's users and groups that stand for the machine's.
	IDs *guest.IDs `json:"ids,omitempty"`
	// damage says that the file cannot be read; what the machine keeps is not known then.
	damage error
}

const recordFile = "machine.json"

// Machines are those that have a directory.
type Machines map[types.UID]record

// Find finds the machines that a runner has. One whose file is damaged is a machine all the same, and keeps no other from
// being found, stopped or removed.
func Find(ctx context.Context, r *supervise.Supervisor) (Machines, error) {
	ids, err := r.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("find machines: %w", err)
	}
	all := Machines{}
	for _, id := range ids {
		found, err := readRecord(filepath.Join(r.Dir(id), recordFile))
		if errors.Is(err, fs.ErrNotExist) { // a control plane, or a machine that was never described
			continue
		}
		found.damage = err
		all[types.UID(id)] = found
	}
	return all, nil
}

// readRecord reads what a machine keeps.
func readRecord(file string) (record, error) {
	var found record
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, err
	}
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	if err == nil && (found.Cluster == "" || !found.Address.IsValid()) {
		err = errors.New("it has no cluster, or no address")
	}
	if err != nil {
		return record{}, &atomicfile.DamagedError{
			Path: file, Problem: "cannot be read: " + err.Error(), Remedy: "restore it from a backup, or replace the machine with: kqueen node replace",
		}
	}
	return found, nil
}

// damaged says that the addresses and users of machines are not all known; nil when they are.
func (m Machines) damaged() error {
	for _, id := range slices.Sorted(maps.Keys(m)) {
		if err := m[id].damage; err != nil {
			return fmt.Errorf("no machine gets an address or users before those of another one are known: %w", err)
		}
	}
	return nil
}

// Has says whether a workload is a machine.
func (m Machines) Has(id string) bool {
	_, ok := m[types.UID(id)]
	return ok
}

// LeaveHost takes from the host what machines, all of which are stopped, have in it beside their directories:
// links, bridges, packet filters and cgroups. A machine that is started makes them again.
func (m Machines) LeaveHost(ctx context.Context) error {
	for id, r := range m {
		err := leaveHost(ctx, id)
		if r.damage == nil { // otherwise it is not known which bridge it has
			err = errors.Join(err, guest.RemoveBridge(bridgeOf(r.Cluster)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaveHost ends what is left of a machine that is stopped, and removes its cgroup and its link.
func leaveHost(ctx context.Context, id types.UID) error {
	if err := node.KillCgroup(ctx, cgroupOf(id)); err != nil {
		return fmt.Errorf("end what is left of machine %s: %w", id, err)
	}
	if err := node.RemoveCgroups(cgroupOf(id)); err != nil {
		return err
	}
	return links.Remove(links.Here(), linkOf(id))
}
