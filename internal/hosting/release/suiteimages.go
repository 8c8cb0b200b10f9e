package release

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// registriesFile gives the images of the tests names that no registry has: they are ours, and not what upstream's
// registries hold. What is not named keeps its name.
const registriesFile = `promoterE2eRegistry: kqueen.internal/e2e-test-images
gcRegistry: kqueen.internal
gcEtcdRegistry: kqueen.internal
`

// imagePrograms are those of Debian that tests call in images of agnhost and of "glibc DNS testing", in which
// upstream has a whole distribution. The shell is one of them: that of Debian's busybox would call busybox's own nc.
var imagePrograms = []string{"bash", "curl", "dig", "getent", "nc.openbsd"}

// Names of layers.
const (
	layerBusybox = "busybox"
	layerDebian  = "debian"
	layerShells  = "shells"
	layerAgnhost = "agnhost"
)

// imagePlan is what node/images packs; the names of the fields are its own.
type imagePlan struct {
	Layers   map[string]imageLayer `json:"layers"`
	Archives []imageArchive        `json:"archives"`
}

type imageLayer struct {
	Busybox string      `json:"busybox,omitempty"`
	Toolbox string      `json:"toolbox,omitempty"`
	Files   []imageFile `json:"files"`
}

type imageFile struct {
	Path    string      `json:"path"`
	Mode    os.FileMode `json:"mode"` // the number is that of chmod(1)
	Folder  bool        `json:"folder,omitempty"`
	From    string      `json:"from,omitempty"`
	Content string      `json:"content,omitempty"`
	Link    string      `json:"link,omitempty"`
}

type imageArchive struct {
	File   string      `json:"file"`
	Images []imageSpec `json:"images"`
}

type imageSpec struct {
	Name   string      `json:"name"`
	Layers []string    `json:"layers"`
	Config imageConfig `json:"config"`
}

type imageConfig struct {
	Entrypoint   []string            `json:"Entrypoint,omitempty"`
	Cmd          []string            `json:"Cmd,omitempty"`
	Env          []string            `json:"Env,omitempty"`
	User         string              `json:"User,omitempty"`
	WorkingDir   string              `json:"WorkingDir,omitempty"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts,omitempty"`
}

// suiteImage is an image that can be made here, whatever its tag.
type suiteImage struct {
	name   string // without the tag
	layers []string
	config imageConfig
}

// suiteImages stand in for upstream's: the same programs on another base. Where upstream has nginx, its place takes
// agnhost's own web server: the tests want something that serves pages on port 80, or just runs. resource-consumer
// lacks the program stress, which uses memory.
func suiteImages() []suiteImage {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	tools := []string{layerBusybox, layerDebian}
	agnhost := append(slices.Clone(tools), layerAgnhost)
	ofAgnhost := func(cmd string) imageConfig {
		return imageConfig{Entrypoint: []string{"/agnhost"}, Cmd: []string{cmd}, Env: env, WorkingDir: "/"}
	}
	shell := imageConfig{Cmd: []string{"sh"}, Env: env, WorkingDir: "/"}
	nonroot := shell
	nonroot.User = "1234"
	const test = "kqueen.internal/e2e-test-images/"
	return []suiteImage{
		{test + "agnhost", agnhost, ofAgnhost("pause")},
		{test + "kitten", append(slices.Clone(agnhost), "kitten"), ofAgnhost("test-webserver")},
		{test + "nautilus", append(slices.Clone(agnhost), "nautilus"), ofAgnhost("test-webserver")},
		{test + "nginx", agnhost, ofAgnhost("test-webserver")},
		{test + "busybox", append(slices.Clone(tools), layerShells), shell},
		{test + "glibc-dns-testing", tools, shell},
		{test + "nonewprivs", []string{layerBusybox, "nonewprivs"}, imageConfig{Cmd: []string{"nnp"}, Env: env, WorkingDir: "/"}},
		{test + "nonroot", tools, nonroot},
		{test + "resource-consumer", []string{layerBusybox, "resource-consumer"}, imageConfig{Entrypoint: []string{"/consumer"}, Env: env, WorkingDir: "/"}},
		{test + "sample-apiserver", []string{layerBusybox, "sample-apiserver"}, imageConfig{Entrypoint: []string{"/sample-apiserver"}, Env: env, WorkingDir: "/"}},
		{"kqueen.internal/etcd", []string{layerBusybox, "etcd"}, imageConfig{Env: env, WorkingDir: "/"}},
		{"kqueen.internal/pause", []string{"pause"}, imageConfig{Entrypoint: []string{"/pause"}, User: "65535:65535", WorkingDir: "/"}},
	}
}

// plan says what becomes of built programs, of upstream's files and of Debian's programs. Names are the images that
// the tests use.
func (b *suiteBuilder) plan(names []string, built, upstream string) imagePlan {
	program := func(to, name string) imageFile {
		return imageFile{Path: to, Mode: 0o755, From: filepath.Join(built, name)}
	}
	file := func(to, name string) imageFile {
		return imageFile{Path: to, Mode: 0o644, From: filepath.Join(upstream, "test/images", name)}
	}
	setuid := program("usr/local/bin/nnp", "nonewprivs")
	setuid.Mode |= 0o6000
	const users, groups = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n", "root:x:0:\nnogroup:x:65534:\n"
	p := imagePlan{Layers: map[string]imageLayer{
		layerBusybox: {Busybox: b.busybox, Toolbox: filepath.Join(built, "toolbox"), Files: []imageFile{
			{Path: "etc/passwd", Mode: 0o644, Content: users},
			{Path: "etc/group", Mode: 0o644, Content: groups},
		}},
		layerDebian: {Files: b.debianFiles()},
		// Tests that call /bin/sh read what busybox's shell says. Those that call sh want one that keeps variables with
		// names such as data-1, which Debian's busybox does not.
		layerShells: {Files: []imageFile{
			{Path: "bin/sh", Mode: 0o777, Link: "busybox"}, {Path: "usr/bin/sh", Mode: 0o777, Link: "bash"},
		}},
		layerAgnhost: {Files: []imageFile{
			program("agnhost", "agnhost"), program("coredns", "coredns"),
			{Path: "agnhost-2", Mode: 0o777, Link: "agnhost"}, {Path: "uploads", Mode: 0o755, Folder: true},
			// Only here: in the other images, tests want to see the groups of files as numbers.
			{Path: "etc/passwd", Mode: 0o644, Content: users + "user-defined-in-image:x:1000:1000::/:/bin/sh\n"},
			{Path: "etc/group", Mode: 0o644, Content: groups + "user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n"},
			file("localhost.crt", "agnhost/porter/localhost.crt"), file("localhost.key", "agnhost/porter/localhost.key"),
		}},
		"kitten":     {Files: []imageFile{file("kitten.jpg", "kitten/html/kitten.jpg"), file("data.json", "kitten/html/data.json")}},
		"nautilus":   {Files: []imageFile{file("nautilus.jpg", "nautilus/html/nautilus.jpg"), file("data.json", "nautilus/html/data.json")}},
		"nonewprivs": {Files: []imageFile{setuid}},
		"resource-consumer": {Files: []imageFile{
			program("consumer", "resource-consumer"),
			{Path: "consume-cpu", Mode: 0o755, Folder: true},
			program("consume-cpu/consume-cpu", "consume-cpu"),
		}},
		"sample-apiserver": {Files: []imageFile{program("sample-apiserver", "sample-apiserver")}},
		"etcd":             {Files: []imageFile{program("usr/local/bin/etcd", "server")}},
		"pause":            {Files: []imageFile{program("pause", "pause")}},
	}}
	p.Archives = archivesOf(names)
	return p
}

// archivesOf puts images with Debian's programs into one archive, so that these are there once.
func archivesOf(names []string) []imageArchive {
	byFile := map[string]imageArchive{}
	for _, known := range suiteImages() {
		for _, name := range names {
			if !strings.HasPrefix(name, known.name+":") {
				continue
			}
			file := path.Base(known.name) + ".tar"
			if slices.Contains(known.layers, layerDebian) {
				file = layerDebian + ".tar"
			}
			archive := byFile[file]
			archive.File = file
			archive.Images = append(archive.Images, imageSpec{Name: name, Layers: known.layers, Config: known.config})
			byFile[file] = archive
		}
	}
	var archives []imageArchive
	for _, file := range sortedKeys(byFile) {
		archives = append(archives, byFile[file])
	}
	return archives
}

// debianFiles are programs in /usr/bin, before busybox in PATH, and libraries where the loader looks for them.
func (b *suiteBuilder) debianFiles() []imageFile {
	files := []imageFile{{Path: "bin/sh", Mode: 0o777, Link: "/usr/bin/bash"}}
	for _, from := range b.programs {
		to := strings.TrimPrefix(from, "/")
		if name := filepath.Base(from); slices.Contains(imagePrograms, name) {
			to = "usr/bin/" + strings.TrimSuffix(name, ".openbsd")
		}
		files = append(files, imageFile{Path: to, Mode: 0o755, From: from})
	}
	return files
}

// write writes the plan into a folder and returns the file.
func (p imagePlan) write(dir string) (string, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "plan.json")
	return file, os.WriteFile(file, data, 0o644)
}
