package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// nameAnnotation is where containerd looks for the whole name of an image.
	nameAnnotation = "io.containerd.image.name"
	// tagAnnotation is OCI's own, for the tag alone.
	tagAnnotation = "org.opencontainers.image.ref.name"
)

// beginning is when everything in an archive was made, so that the same files give the same bytes.
func beginning() time.Time { return time.Unix(0, 0).UTC() }

// file is an entry of an image's root file system.
type file struct {
	name    string // without a leading slash
	mode    int64
	content []byte
	target  string // of a symbolic link
	folder  bool
}

func folder(name string, mode int64) file { return file{name: name, mode: mode, folder: true} }
func text(name, content string) file {
	return file{name: name, mode: 0o644, content: []byte(content)}
}
func link(name, target string) file { return file{name: name, mode: 0o777, target: target} }

func (f file) header() *tar.Header {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: beginning(), Format: tar.FormatPAX}
	switch {
	case f.folder:
		h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
	case f.target != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.target
	}
	return h
}

// writeTar writes files in the order of their names, in which a folder stands before what is in it.
func writeTar(w io.Writer, files []file) error {
	archive := tar.NewWriter(w)
	sorted := slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range sorted {
		if err := archive.WriteHeader(f.header()); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
		if _, err := archive.Write(f.content); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return archive.Close()
}

// pack writes the archive of an image of one layer.
func pack(to, reference string, c contents) error {
	var layer bytes.Buffer
	if err := writeTar(&layer, c.files); err != nil {
		return err
	}
	img, err := image(layer.Bytes(), c.config)
	if err != nil {
		return err
	}
	files, err := layoutFiles(img, reference)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(out, files), out.Close())
}

// image is for this machine's architecture, because that is what the programs in it are for.
func image(layer []byte, config v1.Config) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.ConfigFile(img, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Config: config, Created: v1.Time{Time: beginning()},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	// Compressed, because every node keeps the layer beside what it unpacks from it. Unpacking takes the same time.
	compressed, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("compress the layer: %w", err)
	}
	img, err = mutate.Append(img, mutate.Addendum{
		Layer:   compressed,
		History: v1.History{Created: v1.Time{Time: beginning()}, CreatedBy: "kqueen.io/kqueen/node/images"},
	})
	if err != nil {
		return nil, fmt.Errorf("add the layer: %w", err)
	}
	return img, nil
}

// layoutFiles returns the files of an OCI image layout with one image in it
// (https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md).
func layoutFiles(img v1.Image, reference string) ([]file, error) {
	index := mutate.IndexMediaType(mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
		Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH},
		Annotations: map[string]string{
			nameAnnotation: reference,
			tagAnnotation:  reference[strings.LastIndexByte(reference, ':')+1:],
		},
	}}), types.OCIImageIndex)
	indexJSON, err := index.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("make the index: %w", err)
	}
	files := []file{
		folder("blobs", 0o755), folder("blobs/sha256", 0o755),
		text("index.json", string(indexJSON)),
		text("oci-layout", `{"imageLayoutVersion":"1.0.0"}`),
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, fmt.Errorf("list the layers: %w", err)
	}
	for _, layer := range layers {
		content, err := layer.Compressed()
		if err != nil {
			return nil, fmt.Errorf("read a layer: %w", err)
		}
		f, err := blob(layer.Digest, func() ([]byte, error) { return io.ReadAll(content) })
		if err := errors.Join(err, content.Close()); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	for _, part := range []struct {
		digest  func() (v1.Hash, error)
		content func() ([]byte, error)
	}{{img.ConfigName, img.RawConfigFile}, {img.Digest, img.RawManifest}} {
		f, err := blob(part.digest, part.content)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func blob(digest func() (v1.Hash, error), content func() ([]byte, error)) (file, error) {
	name, err := digest()
	if err != nil {
		return file{}, fmt.Errorf("hash a part: %w", err)
	}
	data, err := content()
	if err != nil {
		return file{}, fmt.Errorf("read a part: %w", err)
	}
	return file{name: path.Join("blobs", name.Algorithm, name.Hex), mode: 0o644, content: data}, nil
}
