//go:build linux

// Package e2e uses the kqueen program as its users do: it starts whole
// installations, speaks to them with kqueen, kubectl and client-go, hurts them,
// and looks at what is left in /proc, in etcd and on disk.
//
// Every test has an installation of its own, with ports and networks of its own,
// and leaves no process and no file behind, so tests run side by side. Those
// that measure run alone. Nothing here looks inside the program but for the
// marks that the runner puts on processes and the prefixes of the keyspaces.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
	"kqueen.io/kqueen/internal/platform/freeport"
)

const (
	// patience is for one thing to come true on a machine that is busy with other tests.
	patience = 6 * time.Minute
	// commandTimeout is for one command. No command of these tests needs a tenth of it on an idle machine.
	commandTimeout = 10 * time.Minute
	// browserTimeout is for all that a browser does in the portal: five times what that takes on an idle machine.
	browserTimeout = 15 * time.Minute
	look           = 100 * time.Millisecond
)

// programs are what the tests start: a copy of kqueen that no other test builds over, and upstream's.
// before is the newest Kubernetes of the minor before version.
var programs struct{ kqueen, agent, kubectl, releases, version, node, before string }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if flag.Parse(); testing.Short() {
		fmt.Println("skipped: -short leaves out end-to-end tests")
		return 0
	}
	ctrl.SetLogger(logr.Discard()) // what the clients would say comes back as errors
	// Installations collect garbage as those of users do, whatever make test says: their memory is measured.
	if err := errors.Join(sideBySide(), os.Unsetenv("GOGC")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "kqueen-e2e-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = prepare(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the programs:", err)
		return 1
	}
	return databasetest.Run(m)
}

func prepare(ctx context.Context, dir string) error {
	kqueen, err := controlplanetest.Kqueen(ctx)
	if err != nil {
		return err
	}
	if _, err := controlplanetest.NodeParts(ctx); err != nil {
		return err
	}
	if programs.before, err = controlplanetest.MinorBefore(ctx); err != nil {
		return err
	}
	built, err := controlplanetest.Kubernetes(ctx)
	if err != nil {
		return err
	}
	programs.node = built.NodeDir
	programs.kubectl, programs.version = built.Path("kubectl"), built.Version.String()
	programs.releases = filepath.Dir(filepath.Dir(programs.kubectl))
	programs.kqueen, programs.agent = filepath.Join(dir, "kqueen"), filepath.Join(dir, "kqueen-agent")
	return errors.Join(os.Chmod(dir, 0o755), controlplanetest.Agent(ctx, programs.agent), copyFile(kqueen, programs.kqueen, 0o755))
}

func copyFile(from, to string, mode os.FileMode) error {
	// A process that another test starts meanwhile would have the new file open for a moment, and no program runs then that is open for
	// writing (ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// installation is one KQueen and how it is spoken to.
type installation struct {
	t        *testing.T
	base     string // what the test itself keeps beside the data directory
	dir      string // the data directory
	program  string // kqueen
	releases string
	as       *syscall.Credential // nil: who runs the tests
	env      []string            // beside the usual variables
}

// newInstallation makes one that is not started. Its end is part of the test.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	base, err := os.MkdirTemp("", "kqe2e-") //nolint:usetesting // another user has to get to it, and t.TempDir's parent is closed
	if err != nil {
		t.Fatal(err)
	}
	i := &installation{t: t, base: base, dir: filepath.Join(base, "data"), program: programs.kqueen, releases: programs.releases}
	t.Cleanup(i.end)
	return i
}

// started makes one that serves.
func started(t *testing.T) *installation {
	t.Helper()
	i := newInstallation(t)
	i.up()
	return i
}

func (i *installation) end() {
	if i.t.Failed() {
		i.logTail()
	}
	if _, err := os.Stat(filepath.Join(i.dir, "settings.json")); err == nil {
		if r := i.kqueen("reset", "--yes"); r.code != 0 {
			i.t.Errorf("reset: %s", r.stderr)
		}
	}
	for _, p := range i.leftBehind() {
		i.t.Errorf("process left behind: %s", p)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	if err := os.RemoveAll(i.base); err != nil {
		i.t.Error(err)
	}
}

// leftBehind are the processes that do not end. A server that could not start has said so a moment before it ends.
func (i *installation) leftBehind() []process {
	again := time.NewTicker(look)
	defer again.Stop()
	for begin := time.Now(); ; <-again.C {
		if left := i.processes(); len(left) == 0 || time.Since(begin) > 5*time.Second {
			return left
		}
	}
}

// up starts it, the first time on a gateway port that is free and that no program gets by chance. Flags that are given come after those.
func (i *installation) up(flags ...string) {
	i.t.Helper()
	args := []string{"up", "--timeout", "5m"}
	if _, err := os.Stat(filepath.Join(i.dir, "settings.json")); err != nil {
		args = append(args, ports(i.t)...)
	}
	i.ok(append(args, flags...)...)
}

// ports are the flags of a first start: no other program of this machine has those ports, no test beside this one
// gets them, and no other installation chooses networks for machines from the same range.
func ports(t *testing.T) []string {
	t.Helper()
	return []string{
		"--gateway-port", strconv.Itoa(freePort(t)), "--ingress-port", strconv.Itoa(freePort(t)), "--api-port", strconv.Itoa(freePort(t)),
		"--machine-network", fmt.Sprintf("10.220.%d.0/22", freeNetwork(t)/4*4),
	}
}

// given are the networks that this test binary has given out.
var given sync.Map

func freePort(t *testing.T) int {
	t.Helper()
	port, err := freeport.Take()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// freeNetwork numbers a network of which no other test of this binary has the first six bits.
func freeNetwork(t *testing.T) byte {
	t.Helper()
	for range 1000 {
		n := byte(rand.IntN(250))
		if _, taken := given.LoadOrStore(n/4, true); !taken {
			return n
		}
	}
	t.Fatal("no free network")
	return 0
}

// result is what a command said.
type result struct {
	stdout, stderr string
	code           int
}

// kqueen runs a command to its end.
func (i *installation) kqueen(args ...string) result {
	i.t.Helper()
	return i.run(i.command(i.program, append(args, "--data-dir", i.dir)...))
}

// ok runs a command that has to succeed and returns what it printed.
func (i *installation) ok(args ...string) string {
	i.t.Helper()
	r := i.kqueen(args...)
	if r.code != 0 {
		i.t.Fatalf("kqueen %s: exit code %d:\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// kubectl runs upstream's kubectl with a kubeconfig and standard input, and has to succeed.
func (i *installation) kubectl(kubeconfig, stdin string, args ...string) string {
	i.t.Helper()
	r := i.tryKubectl(kubeconfig, stdin, args...)
	if r.code != 0 {
		i.t.Fatalf("kubectl %s: exit code %d:\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

func (i *installation) tryKubectl(kubeconfig, stdin string, args ...string) result {
	i.t.Helper()
	cmd := i.command(filepath.Join(i.releases, programs.version, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	return i.run(cmd)
}

// command is not bound to the test's context, which has ended when the installation is cleaned up.
func (i *installation) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	path := filepath.Dir(i.program) + ":" + os.Getenv("PATH") // kubectl runs kqueen where a kubeconfig has no secret
	cmd.Env = append([]string{"PATH=" + path, "HOME=" + i.base, "KQUEEN_RELEASES=" + i.releases}, i.env...)
	if dir := os.Getenv("GOCOVERDIR"); dir != "" { // of "make cover"
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+dir)
	}
	cmd.Dir = "/"
	if i.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: i.as}
	}
	return cmd
}

// run runs a command to its end. One that could not be run has the code -1. It does not end the test, so
// that it may be called beside it.
func (i *installation) run(cmd *exec.Cmd) result { return i.runFor(commandTimeout, cmd) }

// runFor is run for this long at most.
func (i *installation) runFor(long time.Duration, cmd *exec.Cmd) result {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return result{stderr: err.Error(), code: -1}
	}
	tooLong := time.AfterFunc(long, func() { _ = cmd.Process.Kill() })
	defer tooLong.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return result{stderr: err.Error(), code: -1}
	}
	return result{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
}

// status is what `kqueen status -o json` promises.
type status struct {
	PID         int              `json:"pid"`
	Ready       bool             `json:"ready"`
	Keeper      int              `json:"keeper"`
	LastCrash   *crash           `json:"lastCrash"`
	RestartedBy string           `json:"restartedBy"`
	Warnings    []string         `json:"warnings"`
	Workloads   []workloadStatus `json:"workloads"`
}

type crash struct {
	Time     time.Time
	How, Log string
}

type workloadStatus struct {
	ID, Name    string
	Own         bool
	Confinement string
	Components  []componentStatus
}

type componentStatus struct {
	Name, State string
	PID         int
	Restarts    int
	MemoryBytes uint64
}

// supervised are the identities of the programs of the status, as "workload component pid start", in order. What these
// start themselves, such as containerd a shim for each pod, comes and goes, and is left out.
func (i *installation) supervised(wanted func(workloadStatus, componentStatus) bool) []string {
	i.t.Helper()
	var out []string
	for _, w := range i.status().Workloads {
		for _, c := range w.Components {
			if wanted(w, c) {
				out = append(out, fmt.Sprintf("%s %s %d %s", w.Name, c.Name, c.PID, statOf(c.PID).start))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (i *installation) status() status {
	i.t.Helper()
	var s status
	if err := json.Unmarshal([]byte(i.ok("status", "-o", "json")), &s); err != nil {
		i.t.Fatalf("read the status: %v", err)
	}
	return s
}

// pid is the process of a component. name is namespace/name of the control plane or machine, or the plane's own workload.
func (i *installation) pid(name, component string) int {
	i.t.Helper()
	pid := i.pidOf(name, component)
	if pid == 0 {
		i.t.Fatalf("no %s of %s runs", component, name)
	}
	return pid
}

// pidOf is pid, and 0 when the component does not run.
func (i *installation) pidOf(name, component string) int {
	i.t.Helper()
	for _, w := range i.status().Workloads {
		for _, c := range w.Components {
			if w.Name == name && c.Name == component {
				return c.PID
			}
		}
	}
	return 0
}

// adminKubeconfig is the administrator's way into the admin plane.
func (i *installation) adminKubeconfig() string { return filepath.Join(i.dir, "admin.kubeconfig") }

// admin is a client of the admin plane.
func (i *installation) admin() client.WithWatch {
	i.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", i.adminKubeconfig())
	if err != nil {
		i.t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: controlplanetest.Scheme(i.t)})
	if err != nil {
		i.t.Fatal(err)
	}
	return c
}

// kubeconfig writes a cluster's kubeconfig to a file and returns its path.
func (i *installation) kubeconfig(organization, cluster string) string {
	i.t.Helper()
	file := filepath.Join(i.base, organization+"."+cluster+".kubeconfig")
	data := i.ok("cluster", "kubeconfig", cluster, "--org", organization)
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		i.t.Fatal(err)
	}
	if i.as != nil {
		if err := os.Chown(file, int(i.as.Uid), int(i.as.Gid)); err != nil {
			i.t.Fatal(err)
		}
	}
	return file
}

// tenant is how the administrator of a cluster reaches it, through the gateway.
func (i *installation) tenant(organization, cluster string) *rest.Config {
	i.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", i.kubeconfig(organization, cluster))
	if err != nil {
		i.t.Fatal(err)
	}
	config.Timeout = 20 * time.Second // after which a watch ends, too
	config.QPS = -1
	return config
}

func clientset(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually looks until there is no error any more.
func eventually(t *testing.T, what string, see func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(look)
	defer again.Stop()
	var last error // of the last look that the deadline did not cut
	for {
		err := see(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, patience, last)
		}
	}
}

// logTail shows the last of what the server did not like. What it began would hide why the test failed from those who
// see the end of a log alone.
func (i *installation) logTail() {
	data, err := os.ReadFile(filepath.Join(i.dir, "logs", "kqueen.log"))
	if err != nil {
		return
	}
	lines := slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool { return strings.Contains(line, `"level":"INFO"`) })
	i.t.Logf("the end of the log of %s, without what is in order:\n%s", i.dir, strings.Join(lines[max(0, len(lines)-20):], "\n"))
}
