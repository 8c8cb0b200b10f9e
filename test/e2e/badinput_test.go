//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the program says into testdata")

// unreachable is a release whose programs cannot be had: nothing listens on port 1.
const unreachable = `
apiVersion: kqueen.io/v1alpha1
kind: Release
metadata: {name: v1.38.0}
spec: {source: {download: {baseURL: "http://127.0.0.1:1/release"}}}
`

// TestBadInput is about errors: each names the field, or the flag, and says what would be right.
func TestBadInput(t *testing.T) {
	parallel(t, 2*time.Minute)
	i := started(t)
	i.kubectl(i.adminKubeconfig(), unreachable, "apply", "-f", "-")
	i.kubectl(i.adminKubeconfig(), "", "wait", "--for=condition=Ready=false", "release/v1.38.0", "--timeout=6m")
	i.ok("cluster", "create", "demo")
	create := func(name string, args ...string) func() result {
		return func() result { return i.kqueen(append([]string{"cluster", "create", name}, args...)...) }
	}
	file := func(content string) func() result {
		return func() result {
			cmd := i.command(i.program, "cluster", "create", "-f", "-", "--data-dir", i.dir)
			cmd.Stdin = strings.NewReader(content)
			return i.run(cmd)
		}
	}
	patch := func(text string) func() result {
		return func() result {
			return i.tryKubectl(i.adminKubeconfig(), "", "patch", "cluster", "demo", "--type=merge", "-p", text)
		}
	}
	document := "apiVersion: kqueen.io/v1alpha1\nkind: Cluster\nmetadata: {name: x}\nspec: {version: " + programs.version + "}\n"
	for name, try := range map[string]func() result{
		"version-unknown":       create("x", "--version", "v1.20.0"),
		"version-malformed":     create("x", "--version", "1.36"),
		"version-not-there":     func() result { return withoutCause(create("x", "--version", "v1.38.0")()) },
		"version-skipped":       patch(`{"spec":{"version":"v1.38.0"}}`),
		"version-lowered":       patch(`{"spec":{"version":"v1.35.0"}}`),
		"name-capital":          create("Demo_1"),
		"name-too-long":         create(strings.Repeat("x", 41)),
		"name-taken":            create("demo"),
		"network-overlap":       create("x", "--pod-cidr", "10.96.0.0/12", "--service-cidr", "10.96.0.0/16"),
		"network-loopback":      create("x", "--service-cidr", "127.0.0.0/16"),
		"network-no-cidr":       create("x", "--pod-cidr", "10.244.0.0"),
		"network-host-bits":     create("x", "--service-cidr", "10.96.0.1/16"),
		"network-changed":       patch(`{"spec":{"network":{"podCIDR":"10.200.0.0/16"}}}`),
		"file-unknown-field":    file(strings.Replace(document, "spec: {", "spec: {replicas: 3, ", 1)),
		"file-wrong-kind":       file(strings.Replace(document, "kind: Cluster", "kind: Pod", 1)),
		"file-empty":            file("# nothing\n"),
		"provisioner-missing":   create("x", "--provisioner", "nowhere"),
		"pod-security-refused":  create("x", "--pod-security", "privileged"),
		"organization-missing":  create("x", "--org", "nobodys"),
		"delete-missing":        func() result { return i.kqueen("cluster", "delete", "x", "--yes") },
		"gateway-port-taken":    gatewayPortTaken(t),
		"gateway-port-wrong":    alone(t, "up", "--gateway-port", "70000"),
		"machine-network-wrong": alone(t, "up", "--machine-network", "10.1.2.3/16"),
		"images-wrong":          alone(t, "up", "--images", "ours"),
		"data-dir-of-another":   otherUsersDir(t),
		"data-dir-open":         openDir(t),
		"not-set-up":            alone(t, "down"),
		"no-kubernetes":         withoutKubernetes(t),
	} {
		t.Run(name, func(t *testing.T) { golden(t, i, name, try()) })
	}
	t.Run("Disk", testSmallDisk)
	if got := i.ok("cluster", "list", "-o", "name"); strings.TrimSpace(got) != "cluster.kqueen.io/demo" {
		t.Errorf("after all refusals there are the clusters %q, want only demo", got)
	}
}

// golden compares what a refused command said with what it is to say. Paths and ports are replaced.
func golden(t *testing.T, i *installation, name string, r result) {
	t.Helper()
	if r.code == 0 {
		t.Errorf("it succeeded: %s%s", r.stdout, r.stderr)
	}
	replaced := []string{i.dir, "DIR", programs.version, "VERSION"}
	built, err := filepath.Glob(filepath.Join(programs.releases, "v*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range built { // older ones, which this machine may have
		if version := filepath.Base(other); version != programs.version {
			replaced = append(replaced, version+", ", "")
		}
	}
	text := strings.NewReplacer(replaced...).Replace(r.stderr)
	got := fmt.Sprintf("exit code %d\n%s", r.code, sortCauses(text))
	path := filepath.Join("testdata", "badinput", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("wanted (-) and said (+):\n%s", diff)
	}
}

// sortCauses puts the indented lines in order: an API server gives several causes in any.
func sortCauses(text string) string {
	var head, causes []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			causes = append(causes, line)
			continue
		}
		head = append(head, line)
	}
	slices.Sort(causes)
	return strings.Join(append(head, causes...), "")
}

// replaced is the result of a command of an installation of its own, with its variable parts replaced.
func (i *installation) replaced(r result, more ...string) result {
	r.stderr = strings.NewReplacer(append(more, i.dir, "DIR", i.base, "BASE")...).Replace(r.stderr)
	return r
}

// withoutCause cuts off why a release is not there: its first download goes on, or has failed.
func withoutCause(r result) result {
	if before, cause, found := strings.Cut(r.stderr, "cannot be used yet: "); found && strings.Contains(cause, "http://127.0.0.1:1/release") {
		r.stderr = before + "cannot be used yet: CAUSE\n"
	}
	return r
}

// alone runs a command where nothing was started.
func alone(t *testing.T, args ...string) func() result {
	return func() result {
		other := newInstallation(t)
		return other.replaced(other.kqueen(args...))
	}
}

func gatewayPortTaken(t *testing.T) func() result {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	return func() result {
		other := newInstallation(t)
		return other.replaced(other.kqueen("up", "--gateway-port", port), port, "PORT")
	}
}

func otherUsersDir(t *testing.T) func() result {
	return func() result {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a folder away")
		}
		other := newInstallation(t)
		if err := os.Mkdir(other.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(other.dir, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		return other.replaced(other.kqueen("up"))
	}
}

func openDir(t *testing.T) func() result {
	return func() result {
		other := newInstallation(t)
		if err := os.Mkdir(other.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(other.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return other.replaced(other.kqueen("up"))
	}
}

func withoutKubernetes(t *testing.T) func() result {
	return func() result {
		other := newInstallation(t)
		other.releases = filepath.Join(other.base, "releases")
		return other.replaced(other.kqueen("up", "--gateway-port", strconv.Itoa(freePort(t))))
	}
}
