package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// fakeDNS stands for CoreDNS, which takes a minute to build.
const fakeDNS = "package main\n\nfunc main() { print(\"CoreDNS-1.99.9\\nlinux\\n\") }\n"

// fakeFlannel stands for flannel and for CNI plugins, likewise.
const fakeFlannel = "package main\n\nfunc main() { print(\"flannel v0.99.9\\n\") }\n"

// fakeMetrics stands for metrics-server.
const fakeMetrics = "package main\n\nfunc main() { print(\"metrics-server v0.99.9\\n\") }\n"

// fakeAgent stands for the node's agent.
const fakeAgent = "package main\n\nfunc main() { print(\"agent v0.99.9\\n\") }\n"

// fakeTraefik stands for Traefik.
const fakeTraefik = "package main\n\nfunc main() { print(\"traefik v0.99.9\\n\") }\n"

// programs gives the flags that name pause, stand-ins for CoreDNS, flannel, plugins, metrics-server, the agent and Traefik, and this machine's busybox.
func programs(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	pause, coredns, flannel, plugins := filepath.Join(dir, "pause"), filepath.Join(dir, "coredns"), filepath.Join(dir, "flannel"), filepath.Join(dir, "plugins")
	metrics, agent, traefik := filepath.Join(dir, "metrics-server"), filepath.Join(dir, "agent"), filepath.Join(dir, "traefik")
	err := errors.Join(
		os.WriteFile(metrics+".go", []byte(fakeMetrics), 0o600), os.WriteFile(agent+".go", []byte(fakeAgent), 0o600),
		os.WriteFile(traefik+".go", []byte(fakeTraefik), 0o600),
		os.WriteFile(coredns+".go", []byte(fakeDNS), 0o600), os.WriteFile(flannel+".go", []byte(fakeFlannel), 0o600), os.Mkdir(plugins, 0o700),
	)
	if err != nil {
		t.Fatal(err)
	}
	goBuild(t, pause, "../pause")
	goBuild(t, coredns, coredns+".go")
	goBuild(t, flannel, flannel+".go")
	goBuild(t, metrics, metrics+".go")
	goBuild(t, agent, agent+".go")
	goBuild(t, traefik, traefik+".go")
	for _, plugin := range []string{"bridge", "host-local", "loopback", "portmap"} {
		if err := os.Link(flannel, filepath.Join(plugins, plugin)); err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"-pause", pause, "-coredns", coredns, "-flannel", flannel, "-plugins", plugins, "-metrics-server", metrics, "-agent", agent, "-traefik", traefik}
	busybox, toolbox, shell := tryingPrograms(t)
	flags = append(flags, "-busybox", busybox, "-toolbox", toolbox)
	for _, file := range shell {
		flags = append(flags, "-shell", file)
	}
	return flags
}

// tryingPrograms are what becomes the image to try things with: this machine's busybox and bash, and our toolbox.
func tryingPrograms(t *testing.T) (busybox, toolbox string, shell []string) {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatalf("%v: install Debian's busybox-static", err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	toolbox, shell = filepath.Join(t.TempDir(), "toolbox"), []string{bash}
	goBuild(t, toolbox, "../toolbox")
	// The loader says, as in "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f2)", what it would load.
	cmd := exec.CommandContext(t.Context(), bash)
	cmd.Env = append(os.Environ(), "LD_TRACE_LOADED_OBJECTS=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq(string(out)) {
		if filepath.IsAbs(word) {
			shell = append(shell, word)
		}
	}
	return busybox, toolbox, shell
}

func goBuild(t *testing.T, out, source string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", out, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v: %s", source, err, said)
	}
}

func TestImages(t *testing.T) {
	flags := programs(t)
	first, second := t.TempDir(), t.TempDir()
	var out bytes.Buffer
	for _, dir := range []string{first, second} {
		out.Reset()
		if err := run(t.Context(), append([]string{"-out", dir}, flags...), &out); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 7 || lines[0] != "pause.tar\tkqueen.internal/pause:1.0.0" || lines[1] != "coredns.tar\tkqueen.internal/coredns:v1.99.9" ||
		lines[2] != "flannel.tar\tkqueen.internal/flannel:v0.99.9" ||
		lines[3] != "metrics-server.tar\tkqueen.internal/metrics-server:v0.99.9" || !strings.HasPrefix(lines[4], "node-agent.tar\tkqueen.internal/node-agent:v0.99.9-") || lines[5] != "traefik.tar\tkqueen.internal/traefik:v0.99.9" || !strings.HasPrefix(lines[6], "busybox.tar\tkqueen.internal/busybox:1.") {
		t.Fatalf("it says %q", lines)
	}
	for i, want := range []struct {
		config v1.Config
		files  []string // some of them
	}{
		{v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535", WorkingDir: "/"}, []string{"-rwxr-xr-x pause"}},
		{v1.Config{
			Entrypoint: []string{"/coredns"}, User: "65532:65532", WorkingDir: "/",
			ExposedPorts: map[string]struct{}{"53/tcp": {}, "53/udp": {}},
		}, []string{"-rwxr-xr-x coredns"}},
		{v1.Config{Entrypoint: []string{"/flanneld"}, WorkingDir: "/"}, []string{
			"-rwxr-xr-x flanneld", "-rwxr-xr-x opt/cni/bin/bridge", "-rwxr-xr-x opt/cni/bin/host-local",
			"-rwxr-xr-x opt/cni/bin/loopback", "-rwxr-xr-x opt/cni/bin/portmap",
		}},
		{v1.Config{Entrypoint: []string{"/metrics-server"}, User: "65532:65532", WorkingDir: "/"}, []string{"-rwxr-xr-x metrics-server", "dtrwxrwxrwx tmp"}},
		{v1.Config{Entrypoint: []string{"/agent"}, WorkingDir: "/"}, []string{"-rwxr-xr-x agent"}},
		{v1.Config{Entrypoint: []string{"/traefik"}, User: "65532:65532", WorkingDir: "/"}, []string{"-rwxr-xr-x traefik", "dtrwxrwxrwx tmp"}},
		{v1.Config{Cmd: []string{"sh"}, Env: []string{searchPath}, WorkingDir: "/"}, []string{
			"drwxr-xr-x bin", "-rwxr-xr-x bin/busybox", "-rwxr-xr-x bin/toolbox", "-rwxr-xr-x bin/bash", "Lrwxrwxrwx bin/sh -> bash",
			"Lrwxrwxrwx bin/[ -> busybox", "Lrwxrwxrwx bin/wget -> toolbox", "Lrwxrwxrwx bin/curl -> toolbox", "Lrwxrwxrwx bin/printenv -> toolbox",
			"-rw-r--r-- etc/passwd", "-rw-r--r-- etc/group", "dtrwxrwxrwx tmp", "drwx------ root", "Lrwxrwxrwx usr/bin/env -> /bin/busybox",
		}},
	} {
		archive, name, _ := strings.Cut(lines[i], "\t")
		one, two := read(t, filepath.Join(first, archive)), read(t, filepath.Join(second, archive))
		if !bytes.Equal(one, two) {
			t.Errorf("%s is not the same when it is made again", archive)
		}
		img := open(t, one, name)
		if err := validate.Image(img); err != nil {
			t.Errorf("%s: %v", archive, err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.config, config.Config); diff != "" {
			t.Errorf("%s: config: -want, +got:\n%s", archive, diff)
		}
		if config.OS != "linux" || config.Architecture != runtime.GOARCH {
			t.Errorf("%s is for %s/%s", archive, config.OS, config.Architecture)
		}
		files := filesOf(t, mutate.Extract(img))
		for _, file := range want.files {
			if !slices.Contains(files, file) {
				t.Errorf("%s has no %q", archive, file)
			}
		}
		if i < 2 && len(files) != 1 {
			t.Errorf("%s has %q, want the program alone", archive, files)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// unpack unpacks an archive into a folder.
func unpack(t *testing.T, archive []byte) string {
	t.Helper()
	dir := t.TempDir()
	reader := tar.NewReader(bytes.NewReader(archive))
	for header, err := reader.Next(); !errors.Is(err, io.EOF); header, err = reader.Next() {
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(beginning()) {
			t.Errorf("%s is of %s", header.Name, header.ModTime)
		}
		to := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.Mkdir(to, 0o700)
		} else {
			var content []byte
			content, err = io.ReadAll(reader)
			err = errors.Join(err, os.WriteFile(to, content, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// open returns the one image in an archive, which has to have that name.
func open(t *testing.T, archive []byte, name string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(unpack(t, archive))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%d images in one archive", len(manifest.Manifests))
	}
	_, tag, _ := strings.Cut(name, ":")
	want := map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
	if diff := cmp.Diff(want, manifest.Manifests[0].Annotations); diff != "" {
		t.Errorf("annotations: -want, +got:\n%s", diff)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func filesOf(t *testing.T, root io.ReadCloser) []string {
	t.Helper()
	defer root.Close()
	var files []string
	reader := tar.NewReader(root)
	for header, err := reader.Next(); !errors.Is(err, io.EOF); header, err = reader.Next() {
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s belongs to %d:%d", header.Name, header.Uid, header.Gid)
		}
		file := header.FileInfo().Mode().String() + " " + header.Name
		if header.Linkname != "" {
			file += " -> " + header.Linkname
		}
		files = append(files, file)
	}
	return files
}

func TestImagesRefuses(t *testing.T) {
	flags := programs(t)
	dir := t.TempDir()
	mute, dynamic := filepath.Join(dir, "mute"), filepath.Join(dir, "busybox")
	if err := os.WriteFile(mute+".go", []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	goBuild(t, mute, mute+".go")
	script := "#!/bin/sh\n[ $1 = --list ] && echo sh || echo 'BusyBox v1.2.3 (test)'\n"
	if err := os.WriteFile(dynamic, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"Nothing":       {nil, "name -out"},
		"More":          {append(slices.Clone(flags), "-out", dir, "more"), "nothing else"},
		"NoFolder":      {append(slices.Clone(flags), "-out", filepath.Join(dir, "none")), "no such file"},
		"NoProgram":     {append(slices.Clone(flags), "-out", dir, "-pause", filepath.Join(dir, "none")), "pause: ask "},
		"NoVersion":     {append(slices.Clone(flags), "-out", t.TempDir(), "-coredns", mute), "coredns: it does not say its version"},
		"NotFlannel":    {append(slices.Clone(flags), "-out", t.TempDir(), "-flannel", mute), "flannel: it does not say its version"},
		"NotMetrics":    {append(slices.Clone(flags), "-out", t.TempDir(), "-metrics-server", mute), "metrics-server: it does not say its version"},
		"NotAgent":      {append(slices.Clone(flags), "-out", t.TempDir(), "-agent", mute), "node-agent: it does not say its version"},
		"NotTraefik":    {append(slices.Clone(flags), "-out", t.TempDir(), "-traefik", mute), "traefik: it does not say its version"},
		"NoPrograms":    {[]string{"-out", t.TempDir()}, "at least one program"},
		"FlannelAlone":  {[]string{"-out", t.TempDir(), "-flannel", mute}, "-flannel and -plugins together"},
		"BusyboxAlone":  {[]string{"-out", t.TempDir(), "-busybox", dynamic, "-toolbox", mute}, "-busybox, -toolbox and -shell together"},
		"NoPlugins":     {append(slices.Clone(flags), "-out", t.TempDir(), "-plugins", dir), "flannel: read "},
		"NotBusybox":    {append(slices.Clone(flags), "-out", t.TempDir(), "-busybox", shell), "busybox: "},
		"NoProgramFile": {append(slices.Clone(flags), "-out", t.TempDir(), "-busybox", dynamic), "bad magic number"},
		"NotToolbox":    {append(slices.Clone(flags), "-out", t.TempDir(), "-toolbox", mute), "toolbox lists no names"},
		"NoShell":       {append(slices.Clone(flags), "-out", t.TempDir(), "-shell", filepath.Join(dir, "none")), "read the shell"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), tc.args, &out)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v does not say %q", err, tc.want)
			}
		})
	}
	if _, err := executable("sh", shell); err == nil || !strings.Contains(err.Error(), "linked dynamically") {
		t.Errorf("a program that no image can start was taken: %v", err)
	}
}
