//go:build linux

package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/workers/machine"
)

// leastDisk is what etcd, with its write-ahead log preallocated in steps of 64 MiB, the logs and a
// handful of control planes need to live.
const leastDisk = 1 << 30

// checkDir refuses a data directory that others can read or that belongs to another user, and, with a
// *lowDiskError, a full disk.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the data directory: %w", err)
	}
	owner, me := info.Sys().(*syscall.Stat_t).Uid, os.Geteuid()
	if int(owner) != me {
		return fmt.Errorf("data directory %s belongs to user %d and you are user %d; choose another with --data-dir, or run kqueen as that user", dir, owner, me)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("data directory %s can be entered by others (mode %04o) and is to hold keys; run: chmod 700 %s", dir, info.Mode().Perm(), dir)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < leastDisk {
		return &lowDiskError{dir: dir, free: free}
	}
	return nil
}

// lowDiskError says that a disk has less than leastDisk left. What is new does not begin with that; what is there goes on.
type lowDiskError struct {
	dir  string
	free uint64
}

func (e *lowDiskError) Error() string {
	return fmt.Sprintf("not enough disk: %s has %d MiB free and KQueen needs %d MiB; %s", e.dir, e.free>>20, leastDisk>>20, diskAdvice(Used(e.dir)))
}

// diskAdvice is what helps when the disk of the data directory is full. Another directory is another installation, which knows
// nothing of the clusters in this one. It is pure.
func diskAdvice(used bool) string {
	if used {
		return "free some, or move the whole directory to a larger disk; what runs goes on meanwhile"
	}
	return "free some, or choose another place with --data-dir"
}

// settings are what was chosen once and has to stay the same.
type settings struct {
	Listen         netip.Addr   `json:"listen"`
	Domain         string       `json:"domain"`
	GatewayPort    int          `json:"gatewayPort,omitempty"`
	IngressPort    int          `json:"ingressPort,omitempty"`
	APIPort        int          `json:"apiPort,omitempty"`
	Database       string       `json:"database,omitempty"`
	AdminVersion   string       `json:"adminVersion,omitempty"`
	MachineNetwork netip.Prefix `json:"machineNetwork,omitzero"`
	Images         string       `json:"images,omitempty"`
	AgentImage     string       `json:"agentImage,omitempty"`
	// EgressAllowed is what the API servers of all organizations may call beside their own clusters.
	EgressAllowed []egress.Destination `json:"egressAllowed,omitempty"`
	// ImportAllowed is what the kubeconfigs of adopted clusters may lead to of what is closed to them.
	ImportAllowed []egress.Destination `json:"importAllowed,omitempty"`
	// BackupAllowed is where S3 servers of backups may be of what is closed to them.
	BackupAllowed []egress.Destination `json:"backupAllowed,omitempty"`
	// OwnBackupEvery is in nanoseconds, less than 0 for none.
	OwnBackupEvery time.Duration `json:"ownBackupEvery,omitempty"`
	OwnBackupsKept int           `json:"ownBackupsKept,omitempty"`
	// MovedFrom are the data directories in which the installation ran before it was restored into this one.
	MovedFrom []string `json:"movedFrom,omitempty"`
	// Demo says that the installation is for demonstrations, and has simulated clusters.
	Demo bool `json:"demo,omitempty"`
	// Trust has the fingerprints of what was made once and is never to be made again, by file and name.
	Trust map[string]map[string]string `json:"trust,omitempty"`
	// mended says what was wrong with the file, when its copy took its place.
	mended error
}

// What an installation gets when the operator does not say otherwise.
const defaultDomain = "kqueen.internal"

var (
	defaultListen = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	// defaultMachineNetwork holds 256 clusters with 222 machines each, and addresses for their Services.
	defaultMachineNetwork = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 223, 0, 0}), 16)
)

// merge takes what c says into the settings, and what c leaves open from them.
func (s *settings) merge(c Config) Config {
	if !c.Listen.IsValid() {
		c.Listen = s.Listen
	}
	if !c.Listen.IsValid() {
		c.Listen = defaultListen
	}
	c.Domain = cmp.Or(c.Domain, s.Domain, defaultDomain)
	if !c.MachineNetwork.IsValid() {
		c.MachineNetwork = s.MachineNetwork
	}
	if !c.MachineNetwork.IsValid() {
		c.MachineNetwork = defaultMachineNetwork
	}
	if c.EgressAllowed == nil {
		c.EgressAllowed = s.EgressAllowed
	}
	if c.ImportAllowed == nil {
		c.ImportAllowed = s.ImportAllowed
	}
	if c.BackupAllowed == nil {
		c.BackupAllowed = s.BackupAllowed
	}
	s.EgressAllowed, s.ImportAllowed, s.BackupAllowed = c.EgressAllowed, c.ImportAllowed, c.BackupAllowed
	c.OwnBackupEvery, c.OwnBackupsKept = cmp.Or(c.OwnBackupEvery, s.OwnBackupEvery, usualOwnBackupEvery), cmp.Or(c.OwnBackupsKept, s.OwnBackupsKept, usualOwnBackupsKept)
	s.OwnBackupEvery, s.OwnBackupsKept = c.OwnBackupEvery, c.OwnBackupsKept
	c.Images, c.AgentImage = cmp.Or(c.Images, s.Images), cmp.Or(c.AgentImage, s.AgentImage)
	c.Database = cmp.Or(c.Database, s.Database)
	s.Database = c.Database
	s.Listen, s.Domain, s.MachineNetwork, s.Images, s.AgentImage = c.Listen, c.Domain, c.MachineNetwork, c.Images, c.AgentImage
	return c
}

// databaseFile is what is kept in SQL when the owner names no other database, in the data directory.
const databaseFile = "kqueen.db"

func settingsFile(dir string) string { return filepath.Join(dir, "settings.json") }

// settingsCopy is a second file with the settings, which takes the place of the first one when that is damaged: without them
// an installation would be on other ports, and trust keys that it did not make.
func settingsCopy(dir string) string { return settingsFile(dir) + ".copy" }

// loadSettings reads the settings or, where they are damaged or gone, their copy. What is damaged is set aside.
func loadSettings(dir string) (*settings, error) {
	found, damage := readSettings(settingsFile(dir))
	if found != nil {
		return found, nil
	}
	spare, err := readSettings(settingsCopy(dir))
	switch {
	case err != nil || spare == nil && damage != nil:
		return nil, cmp.Or(damage, err)
	case spare == nil:
		return &settings{}, nil
	case damage == nil:
		spare.mended = fmt.Errorf("%s was gone; %s is used in its place", settingsFile(dir), settingsCopy(dir))
	default:
		aside, err := atomicfile.SetAside(settingsFile(dir))
		if err != nil {
			return nil, errors.Join(damage, err)
		}
		spare.mended = fmt.Errorf("%s was damaged, and is %s now; its copy is used", settingsFile(dir), aside)
	}
	if err := spare.save(dir); err != nil { // on a full disk they hold all the same
		spare.mended = errors.Join(spare.mended, err)
	}
	return spare, nil
}

// readSettings returns nil for a file that is not there.
func readSettings(file string) (*settings, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := &settings{}
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; correct it: it has the ports and the names at which clusters are reached, which kubeconfigs hold. "+
			"When that cannot be, delete it and "+filepath.Base(settingsCopy(""))+" and start once with --listen, --gateway-port, --api-port, --domain and --machine-network as they were", file, err)
	}
	return s, nil
}

// save writes both files. The copy comes second: one of the two is whole whatever happens.
func (s *settings) save(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode settings: %w", err)
	}
	for _, file := range []string{settingsFile(dir), settingsCopy(dir)} {
		if err := atomicfile.Keep(file, append(data, '\n'), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// advertiseAddress is how nodes reach the API servers of this host: by the address that it listens on or, when
// that is all of them, by its first one that is not loopback.
func advertiseAddress(listen netip.Addr) netip.Addr {
	if listen.IsLoopback() {
		return machine.NoAddress()
	}
	if listen.IsValid() && !listen.IsUnspecified() {
		return listen
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return machine.NoAddress()
	}
	for _, a := range addrs {
		ipnet, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(ipnet.IP)
		if addr = addr.Unmap(); ok && addr.Is4() && addr.IsGlobalUnicast() {
			return addr
		}
	}
	return machine.NoAddress()
}
