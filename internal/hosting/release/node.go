package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// nodeName is the lock of all node parts, whatever their fingerprint.
	nodeName = "node"
	// fingerprintLength is how much of it stands in a folder's name: 48 bits keep apart
	// what one machine will ever build.
	fingerprintLength = 12

	binFolder    = "bin"
	cniFolder    = "cni"
	imagesFolder = "images"
	pauseArchive = imagesFolder + "/pause.tar"
	idleProgram  = binFolder + "/pause"
)

// NodePrograms are what [NodeParts.Program] knows.
var NodePrograms = []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc"}

// nodeFiles are the files without which no node runs.
var nodeFiles = []string{
	"bin/containerd", "bin/containerd-shim-runc-v2", "bin/ctr", "bin/runc",
	"cni/bridge", "cni/host-local", "cni/loopback", "cni/portmap",
}

// NodeParts are what a node is made of beside the kubelet and kube-proxy: a container
// runtime, CNI plugins, and the images that a cluster needs where no registry can be
// reached. They lie in a folder of their own, which no later build replaces or removes:
// a machine keeps the folder that it was made with.
type NodeParts struct {
	// Dir holds the parts.
	Dir string
	// Containerd is the version of containerd, as in v2.4.2.
	Containerd string
	Origin     Origin
	// Idles says whether there is a program for [NodeParts.Idle]: parts of an earlier KQueen have none.
	Idles bool

	images []Image
}

// Image is one image as an OCI archive, which "ctr images import" gives its name.
type Image struct {
	// Name is the whole reference, as in kqueen.internal/pause:1.0.0.
	Name string
	// Archive is a file.
	Archive string
}

// Program is the absolute path of one of [NodePrograms]. All lie in one folder, which
// containerd needs in its PATH to find its shim and runc.
func (p NodeParts) Program(name string) string { return filepath.Join(p.Dir, binFolder, name) }

// Idle is a program that does nothing until it is ended, and takes next to no memory; empty where there is none.
func (p NodeParts) Idle() string {
	if !p.Idles {
		return ""
	}
	return filepath.Join(p.Dir, idleProgram)
}

// CNI is the folder with the plugins bridge, host-local, loopback and portmap.
func (p NodeParts) CNI() string { return filepath.Join(p.Dir, cniFolder) }

// Images are those that a node should have, the one that holds pods' namespaces (pause)
// first, the others by name. Their names do not exist in any registry, so a node should
// keep them when it clears images away (label io.cri-containerd.pinned=pinned).
func (p NodeParts) Images() []Image { return slices.Clone(p.images) }

// At is the parts as they are where dir shows their folder, such as within a machine.
func (p NodeParts) At(dir string) NodeParts {
	moved := p
	moved.Dir, moved.images = dir, slices.Clone(p.images)
	for i, image := range moved.images {
		if behind, ok := strings.CutPrefix(image.Archive, p.Dir); ok {
			moved.images[i].Archive = dir + behind
		}
	}
	return moved
}

// NodeSource is what nodes are made from, as in KQueen's source.
type NodeSource struct {
	// Kubernetes is the folder of a Go module such as kubernetes/v1.36, which builds [NodeComponents]; empty for the
	// parts alone.
	Kubernetes string
	// Parts is the folder node, from which everything else is built.
	Parts string
}

// EnsureNode provides what nodes of a version need, and blocks until it is there: minutes for a first build, no time
// when it is there already. It makes what is missing or was made of something else: other Go files or requirements of
// the modules, another Go toolchain, other build commands, or other C libraries or another busybox of this machine. Of
// several processes one works, the others wait for it until their ctx ends; [Store.NodeBuild] tells how far it is.
//
// report is as for [Store.Ensure]. Where a build finds no Go toolchain, the error wraps exec.ErrNotFound of os/exec;
// where a Debian package is missing, it names the package.
func (s *Store) EnsureNode(ctx context.Context, v Version, src NodeSource, report func(Step)) (NodeParts, error) {
	if report == nil {
		report = func(Step) {}
	}
	parts, err := s.ensureNode(ctx, v, src, report)
	if err != nil {
		return NodeParts{}, fmt.Errorf("programs of nodes: %w", err)
	}
	return parts, nil
}

func (s *Store) ensureNode(ctx context.Context, v Version, src NodeSource, report func(Step)) (NodeParts, error) {
	unlock, err := s.lock(ctx, nodeName, report)
	if err != nil {
		return NodeParts{}, err
	}
	defer unlock()
	report, done := s.publish(report)
	defer done()
	if src.Kubernetes != "" {
		if err := s.fillNodePrograms(ctx, v, src.Kubernetes, report); err != nil {
			return NodeParts{}, err
		}
	}
	work, err := newNodeBuilder(ctx, src.Parts)
	if err != nil {
		return NodeParts{}, err
	}
	have, dir, err := s.fillNewest(ctx, work.slot(), work, report)
	if err != nil {
		return NodeParts{}, err
	}
	return nodePartsOf(dir, have), nil
}

func (s *Store) fillNodePrograms(ctx context.Context, v Version, module string, report func(Step)) error {
	work, err := newBuilder(ctx, v, &Build{Module: module}, programs{tag: "node", names: NodeComponents})
	if err != nil {
		return err
	}
	_, err = s.fill(ctx, nodeProgramsSlot(v), work, report)
	return err
}

// LookupNodeParts finds the parts that [Store.EnsureNode] provided last, without
// network or build. It checks that the manifest is complete and the sizes are right, but
// reads no program. A store that has none is false without error; when the newest are
// unusable, the error wraps [ErrDamaged].
func (s *Store) LookupNodeParts() (NodeParts, bool, error) {
	folder, err := s.newestNode()
	if err != nil || folder == "" {
		return NodeParts{}, false, err
	}
	return s.NodePartsAt(folder)
}

// NodePartsAt finds the parts that have the given [NodeParts.Dir], which is how a machine
// finds those that it was made with again. Otherwise it is as [Store.LookupNodeParts].
func (s *Store) NodePartsAt(dir string) (NodeParts, bool, error) {
	if !filepath.IsAbs(dir) {
		return NodeParts{}, false, fmt.Errorf("find node parts: folder %q is not absolute: give the one that they were provided in", dir)
	}
	have, ok, err := readManifest(dir, Version{}, nodeFiles)
	if err != nil || !ok {
		return NodeParts{}, false, err
	}
	return nodePartsOf(dir, have), true, nil
}

// newestNode is the folder with the parts that were provided last; empty when there is none.
func (s *Store) newestNode() (string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find node parts: %w", err)
	}
	newest, when := "", time.Time{}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), nodeName+"-") {
			continue
		}
		info, err := os.Stat(filepath.Join(s.dir, entry.Name(), manifestName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("find node parts: %w", err)
		}
		if newest == "" || info.ModTime().After(when) {
			newest, when = filepath.Join(s.dir, entry.Name()), info.ModTime()
		}
	}
	return newest, nil
}

func nodePartsOf(dir string, m manifest) NodeParts {
	_, idles := m.Components[idleProgram]
	return NodeParts{Dir: dir, Containerd: m.Version.String(), Origin: m.Origin, Idles: idles, images: imagesOf(dir, m)}
}

// imagesOf are those of a folder, that which holds pods' namespaces first, the others by name.
func imagesOf(dir string, m manifest) []Image {
	var images []Image
	for archive, name := range m.Images {
		images = append(images, Image{Name: name, Archive: filepath.Join(dir, archive)})
	}
	rank := func(i Image) string { // no name begins with a zero byte
		if i.Archive == filepath.Join(dir, pauseArchive) {
			return "\x00"
		}
		return i.Name
	}
	slices.SortFunc(images, func(a, b Image) int { return strings.Compare(rank(a), rank(b)) })
	return images
}
