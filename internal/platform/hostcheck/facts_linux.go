package hostcheck

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	kernelSettings = "/proc/sys"
	cgroupRoot     = "/sys/fs/cgroup"
)

// ReadLimits reads the host's settings.
func ReadLimits() Readings {
	names := []string{"net.ipv4.ip_forward", bridgeCalls}
	for _, l := range limits() {
		names = append(names, l.sysctl)
	}
	r := Readings{}
	for _, name := range names {
		data, err := os.ReadFile(sysctlPath(kernelSettings, name))
		if err != nil {
			continue // this kernel has none
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			r[name] = n
		}
	}
	return r
}

// sysctlPath is the file of a setting below a folder such as /proc/sys.
func sysctlPath(root, name string) string {
	return filepath.Join(root, strings.ReplaceAll(name, ".", "/"))
}

// Read looks at the host. dir is the data directory, which need not be there. What cannot be read is left out: its checks say
// that it is not known.
func Read(dir string) Facts {
	f := Facts{Sysctls: ReadLimits(), Root: os.Geteuid() == 0, Now: time.Now(), Disk: readDisk(dir), Forwarding: readForwarding()}
	var st unix.Statfs_t
	f.Unified = unix.Statfs(cgroupRoot, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
	f.Controllers = controllers(f.Unified)
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		f.OpenFiles = int64(min(files.Max, 1<<62))
	}
	f.MemoryTotal, f.MemoryAvailable = memory()
	// An unprivileged call that changes nothing: no mode is set.
	if state, err := unix.Adjtimex(&unix.Timex{}); err == nil {
		kept := state != unix.TIME_ERROR
		f.Synchronized = &kept
	}
	if data, err := os.ReadFile(sysctlPath(kernelSettings, "net.ipv4.ip_local_port_range")); err == nil {
		if _, err := fmt.Sscan(string(data), &f.GivenPorts.First, &f.GivenPorts.Last); err != nil {
			f.GivenPorts = PortRange{}
		}
	}
	return f
}

// controllers are those of cgroups that can be used.
func controllers(unified bool) []string {
	if unified {
		data, err := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.controllers"))
		if err != nil {
			return nil
		}
		return strings.Fields(string(data))
	}
	var all []string
	for _, name := range neededControllers() {
		if info, err := os.Stat(filepath.Join(cgroupRoot, name)); err == nil && info.IsDir() {
			all = append(all, name)
		}
	}
	return all
}

// memory is all of the host's, and what of it programs can still get, in bytes.
func memory() (total, available int64) {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "MemTotal:":
			total = n << 10
		case "MemAvailable:":
			available = n << 10
		}
	}
	return total, available
}

// readDisk looks at the disk of a folder, or of what there is of the path to it, and tries whether a small file gets onto it.
func readDisk(dir string) Disk {
	for {
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Disk{}
		}
		dir = parent
	}
	d := Disk{Dir: dir}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return Disk{}
	}
	d.Free = int64(st.Bavail) * st.Bsize
	begin := time.Now()
	err := trySync(dir)
	switch {
	case err == nil:
		d.Sync = time.Since(begin)
	case !errors.Is(err, fs.ErrPermission): // another user's folder is not tried
		d.SyncError = err.Error()
	}
	return d
}

// trySync has a small file on the disk, as a write of etcd is, and removes it.
func trySync(dir string) (err error) {
	file, err := os.CreateTemp(dir, ".kqueen-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	if _, err := file.Write(make([]byte, 4096)); err != nil {
		return err
	}
	return file.Sync()
}

// LookAt says whether a port can be had on an address.
func (p Port) LookAt(host string) Port {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p.Number)))
	if err != nil {
		p.Taken = err.Error()
		return p
	}
	_ = l.Close()
	return p
}

// Applier sets what a plan says. Tests give it other folders.
type Applier struct{ Settings, File string }

// Host is the applier of this host.
func Host() Applier { return Applier{Settings: kernelSettings, File: SettingsFile} }

// Existing is what the file has now; empty when there is none.
func (a Applier) Existing() (string, error) {
	data, err := os.ReadFile(a.File)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// Apply writes the file by write, which makes it last, and then sets each value of the running kernel. Those that cannot be
// set are an error, after all others are set: they hold from the next start of the host on.
func (a Applier) Apply(p Plan, write func(path string, data []byte, mode fs.FileMode) error) error {
	if err := os.MkdirAll(filepath.Dir(a.File), 0o755); err != nil {
		return err
	}
	if err := write(a.File, []byte(p.Content), 0o644); err != nil {
		return err
	}
	var problems []error
	for _, c := range p.Changes {
		if err := set(sysctlPath(a.Settings, c.Sysctl), c.To); err != nil {
			problems = append(problems, fmt.Errorf("set %s: %w", c.Sysctl, err))
		}
	}
	return errors.Join(problems...)
}

func set(path string, value int64) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strconv.FormatInt(value, 10))
	return errors.Join(err, file.Close())
}
