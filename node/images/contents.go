package main

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

var (
	pauseVersion   = regexp.MustCompile(`^(\d+\.\d+\.\d+)\n$`)
	corednsVersion = regexp.MustCompile(`^CoreDNS-(\d+\.\d+\.\d+)\n`)
	flannelVersion = regexp.MustCompile(`^flannel (v\d+\.\d+\.\d+)\n$`)
	agentVersion   = regexp.MustCompile(`^agent (v\d+\.\d+\.\d+)\n$`)
	metricsVersion = regexp.MustCompile(`^metrics-server (v\d+\.\d+\.\d+)\n$`)
	traefikVersion = regexp.MustCompile(`^traefik (v\d+\.\d+\.\d+)\n$`)
	busyboxVersion = regexp.MustCompile(`^BusyBox v(\d+\.\d+\.\d+) `)
)

// tagHash is how many hexadecimal digits of a program's hash are in a tag.
const tagHash = 12

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// contents is an image: its tag, its files and how it is started.
type contents struct {
	tag    string
	files  []file
	config v1.Config
}

func pauseContents(ctx context.Context, program string) (contents, error) {
	said, err := ask(ctx, program, "--version")
	if err != nil {
		return contents{}, err
	}
	tag, err := versionIn(said, pauseVersion)
	if err != nil {
		return contents{}, err
	}
	binary, err := executable("pause", program)
	return contents{
		tag: tag, files: []file{binary},
		// The user of upstream's image: nobody, but not the nobody of other images.
		config: v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535", WorkingDir: "/"},
	}, err
}

// corednsContents is like upstream's image: user nonroot, by number, so that a kubelet can
// see that it is not root. Upstream also gives the file the capability to bind port 53;
// containerd lets every pod do that.
func corednsContents(ctx context.Context, program string) (contents, error) {
	said, err := ask(ctx, program, "-version")
	if err != nil {
		return contents{}, err
	}
	version, err := versionIn(said, corednsVersion)
	if err != nil {
		return contents{}, err
	}
	binary, err := executable("coredns", program)
	return contents{
		tag: "v" + version, files: []file{binary},
		config: v1.Config{
			Entrypoint: []string{"/coredns"}, User: "65532:65532", WorkingDir: "/",
			ExposedPorts: map[string]struct{}{"53/tcp": {}, "53/udp": {}},
		},
	}, err
}

// flannelContents has CNI plugins beside the program: what it makes of a machine needs them, and a machine that
// somebody brings may have none.
func flannelContents(ctx context.Context, program, plugins string) (contents, error) {
	said, err := ask(ctx, program, "-version")
	if err != nil {
		return contents{}, err
	}
	tag, err := versionIn(said, flannelVersion)
	if err != nil {
		return contents{}, err
	}
	binary, err := executable("flanneld", program)
	if err != nil {
		return contents{}, err
	}
	files := []file{binary, folder("opt", 0o755), folder("opt/cni", 0o755), folder("opt/cni/bin", 0o755)}
	for _, name := range []string{"bridge", "host-local", "loopback", "portmap"} {
		plugin, err := executable("opt/cni/bin/"+name, filepath.Join(plugins, name))
		if err != nil {
			return contents{}, err
		}
		files = append(files, plugin)
	}
	return contents{
		tag: tag, files: files,
		config: v1.Config{Entrypoint: []string{"/flanneld"}, WorkingDir: "/"},
	}, nil
}

// metricsContents is like upstream's image, whose user is nonroot by number.
func metricsContents(ctx context.Context, program string) (contents, error) {
	said, err := ask(ctx, program, "--version")
	if err != nil {
		return contents{}, err
	}
	tag, err := versionIn(said, metricsVersion)
	if err != nil {
		return contents{}, err
	}
	binary, err := executable("metrics-server", program)
	return contents{
		tag: tag, files: []file{binary, folder("tmp", 0o1777)},
		config: v1.Config{Entrypoint: []string{"/metrics-server"}, User: "65532:65532", WorkingDir: "/"},
	}, err
}

// agentContents has a hash of the program in its tag: another program under the tag of an earlier one would not be started.
func agentContents(ctx context.Context, program string) (contents, error) {
	said, err := ask(ctx, program, "-version")
	if err != nil {
		return contents{}, err
	}
	version, err := versionIn(said, agentVersion)
	if err != nil {
		return contents{}, err
	}
	binary, err := executable("agent", program)
	return contents{
		tag: fmt.Sprintf("%s-%x", version, sha256.Sum256(binary.content))[:len(version)+1+tagHash], files: []file{binary},
		config: v1.Config{Entrypoint: []string{"/agent"}, WorkingDir: "/"},
	}, err
}

// traefikContents has a user by number, so that a kubelet can see that it is not root.
func traefikContents(ctx context.Context, program string) (contents, error) {
	said, err := ask(ctx, program, "--version")
	if err != nil {
		return contents{}, err
	}
	tag, err := versionIn(said, traefikVersion)
	if err != nil {
		return contents{}, err
	}
	binary, err := executable("traefik", program)
	return contents{
		tag: tag, files: []file{binary, folder("tmp", 0o1777)},
		config: v1.Config{Entrypoint: []string{"/traefik"}, User: "65532:65532", WorkingDir: "/"},
	}, err
}

// executable is a program as a file of an image. It must be static, because there is no loader and no library in
// the images; a container of another one ends with "no such file or directory".
func executable(name, from string) (file, error) {
	program, err := elf.Open(from)
	if err != nil {
		return file{}, fmt.Errorf("read %s: %w", from, err)
	}
	defer program.Close()
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return file{}, fmt.Errorf("%s is linked dynamically: give one that is static", from)
	}
	content, err := os.ReadFile(from)
	return file{name: name, mode: 0o755, content: content}, err
}
