package release_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/release"
)

// realParts are the parts of this source, made in the store of this user where they are not there yet.
func realParts(t *testing.T) (*release.Store, release.NodeParts) {
	t.Helper()
	dir, err := release.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	store, begin := release.NewStore(dir), time.Now()
	parts, err := store.EnsureNode(t.Context(), release.Version{}, release.NodeSource{Parts: "../../../node"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("parts in %s after %s", parts.Dir, time.Since(begin).Round(time.Second))
	return store, parts
}

func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("looks at the real build, which -short leaves out")
	}
}

func TestRealNodeParts(t *testing.T) {
	skipShort(t)
	store, parts := realParts(t)
	if err := parts.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if found, ok, err := store.LookupNodeParts(); err != nil || !ok || found.Dir != parts.Dir {
		t.Errorf("lookup: %s, %v, %v; want %s", found.Dir, ok, err, parts.Dir)
	}
	for name, args := range map[string][]string{
		"containerd": {"--version"}, "containerd-shim-runc-v2": {"-v"}, "ctr": {"--version"}, "runc": {"--version"},
	} {
		program := parts.Program(name)
		wantStatic(t, program)
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		} else if version := strings.TrimPrefix(parts.Containerd, "v"); name != "runc" && !strings.Contains(string(out), version) {
			t.Errorf("%s says %q, want version %s", name, out, version)
		}
	}
	features, err := exec.CommandContext(t.Context(), parts.Program("runc"), "features").Output()
	if err != nil || !strings.Contains(string(features), `"SCMP_ACT_ERRNO"`) {
		t.Errorf("runc has no seccomp, without which no pod starts: %v", err)
	}
	plugins, err := os.ReadDir(parts.CNI())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, plugin := range plugins {
		names = append(names, plugin.Name())
		wantStatic(t, filepath.Join(parts.CNI(), plugin.Name()))
	}
	if diff := cmp.Diff([]string{"bridge", "host-local", "loopback", "portmap"}, names); diff != "" {
		t.Errorf("plugins: -want, +got:\n%s", diff)
	}
}

func wantStatic(t *testing.T, program string) {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("%s needs libraries that a machine may not have", program)
	}
}

// TestRealImages imports the archives into the containerd that was built with them, and runs what is in them.
func TestRealImages(t *testing.T) {
	skipShort(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can run containers")
	}
	store, parts := realParts(t)
	ctr := startContainerd(t, parts)
	addons, ok, err := store.LookupAddonImages()
	if err != nil || !ok {
		t.Fatalf("the images of addons are not there: %v", err)
	}
	images := slices.Concat(parts.Images(), addons.Images)
	if len(images) != 7 || !strings.HasPrefix(images[0].Name, "kqueen.internal/pause:") {
		t.Fatalf("images %v: want seven, pause first", images)
	}
	for _, image := range images {
		ctr("images", "import", image.Archive)
	}
	var want []string
	for _, image := range images {
		want = append(want, image.Name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, strings.Fields(ctr("images", "ls", "-q"))); diff != "" {
		t.Errorf("imported: -want, +got:\n%s", diff)
	}
	runs := func(image string, want string, args ...string) {
		t.Helper()
		i := slices.IndexFunc(images, func(i release.Image) bool { return strings.Contains(i.Name, "/"+image+":") })
		if i < 0 {
			t.Errorf("there is no image %s", image)
			return
		}
		got := ctr(slices.Concat([]string{"run", "--rm", images[i].Name, "test-" + image}, args)...)
		if !strings.Contains(got, want) {
			t.Errorf("%s says %q, want %q", image, got, want)
		}
	}
	runs("busybox", "uid=0(root)", "sh", "-c", "id && touch /tmp/file && env true")
	runs("busybox", "wget: dial tcp", "sh", "-c", "wget -T 1 -O- http://127.0.0.1:1 2>&1; true")
	runs("busybox", "curl: (7)", "sh", "-c", "curl -m 1 http://127.0.0.1:1 2>&1; true")
	runs("busybox", "/usr/local/sbin:", "printenv", "PATH")
	runs("coredns", "CoreDNS-", "/coredns", "-version")
	runs("flannel", "flannel v", "/flanneld", "-version")
	runs("metrics-server", "metrics-server v", "/metrics-server", "--version")
	runs("node-agent", "agent v", "/agent", "-version")
	runs("traefik", "traefik v", "/traefik", "--version")
	runs("pause", ".", "/pause", "--version")
}

// startContainerd starts a containerd of the test's own, and returns its client, which fails the test when it fails.
func startContainerd(t *testing.T, parts release.NodeParts) (ctr func(args ...string) string) {
	t.Helper()
	dir := t.TempDir()
	config, socket := filepath.Join(dir, "config.toml"), filepath.Join(dir, "sock")
	err := os.WriteFile(config, []byte(strings.ReplaceAll(`version = 3
root = "DIR/root"
state = "DIR/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images"]
[grpc]
address = "DIR/sock"
[plugins."io.containerd.server.v1.ttrpc"]
address = "DIR/sock.ttrpc"
`, "DIR", dir)), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + filepath.Dir(parts.Program("containerd")) + ":" + os.Getenv("PATH")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	daemon := exec.Command(parts.Program("containerd"), "--config", config)
	daemon.Env, daemon.Stdout, daemon.Stderr = append(os.Environ(), path), log, log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		daemon.Process.Signal(os.Interrupt)
		daemon.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("containerd says:\n%s", said)
		}
	})
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), parts.Program("ctr"), append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)...)
		cmd.Env = append(os.Environ(), path, "CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Logf("ctr: %s", stderr.String())
		}
		return string(out), err
	}
	awaitSocket(t, socket)
	return func(args ...string) string {
		t.Helper()
		out, err := run(args...)
		if err != nil {
			t.Fatalf("ctr %s: %v", strings.Join(args, " "), err)
		}
		return out
	}
}

func awaitSocket(t *testing.T, socket string) {
	t.Helper()
	ticker, deadline := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer ticker.Stop()
	for {
		if _, err := os.Stat(socket); err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("containerd does not listen after a minute")
		}
	}
}
