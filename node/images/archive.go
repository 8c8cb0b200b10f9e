package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
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

// named is an image and its whole name.
type named struct {
	reference string
	img       v1.Image
}

// pack writes the archive of an image of one layer.
func pack(to, reference string, c contents) error {
	layer, err := newLayer(c.files)
	if err != nil {
		return err
	}
	img, err := image([]v1.Layer{layer}, c.config)
	if err != nil {
		return err
	}
	return writeArchive(to, []named{{reference, img}})
}

// writeArchive writes images into one archive, in which layers that several of them have are there once.
func writeArchive(to string, images []named) error {
	files, err := layoutFiles(images)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(out, files), out.Close())
}

// newLayer is compressed, because every node keeps the layer beside what it unpacks from it. Unpacking takes the
// same time.
func newLayer(files []file) (v1.Layer, error) {
	var content bytes.Buffer
	if err := writeTar(&content, files); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	return layer, nil
}

// image is for this machine's architecture, because that is what the programs in it are for.
func image(layers []v1.Layer, config v1.Config) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.ConfigFile(img, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Config: config, Created: v1.Time{Time: beginning()},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	for _, layer := range layers {
		img, err = mutate.Append(img, mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: v1.Time{Time: beginning()}, CreatedBy: "kqueen.io/kqueen/node/images"},
		})
		if err != nil {
			return nil, fmt.Errorf("add a layer: %w", err)
		}
	}
	return img, nil
}

// layoutFiles returns the files of an OCI image layout with these images in it
// (https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md).
func layoutFiles(images []named) ([]file, error) {
	var index v1.ImageIndex = empty.Index
	blobs := map[string]file{}
	for _, i := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: i.img, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH},
			Annotations: map[string]string{
				nameAnnotation: i.reference,
				tagAnnotation:  i.reference[strings.LastIndexByte(i.reference, ':')+1:],
			},
		}})
		if err := addBlobs(blobs, i.img); err != nil {
			return nil, fmt.Errorf("%s: %w", i.reference, err)
		}
	}
	indexJSON, err := mutate.IndexMediaType(index, types.OCIImageIndex).RawManifest()
	if err != nil {
		return nil, fmt.Errorf("make the index: %w", err)
	}
	files := []file{
		folder("blobs", 0o755), folder("blobs/sha256", 0o755),
		text("index.json", string(indexJSON)),
		text("oci-layout", `{"imageLayoutVersion":"1.0.0"}`),
	}
	return slices.AppendSeq(files, maps.Values(blobs)), nil
}

// addBlobs adds the parts of an image, by the names of their files.
func addBlobs(blobs map[string]file, img v1.Image) error {
	layers, err := img.Layers()
	if err != nil {
		return fmt.Errorf("list the layers: %w", err)
	}
	for _, layer := range layers {
		err := addBlob(blobs, layer.Digest, func() ([]byte, error) {
			content, err := layer.Compressed()
			if err != nil {
				return nil, err
			}
			data, err := io.ReadAll(content)
			return data, errors.Join(err, content.Close())
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(addBlob(blobs, img.ConfigName, img.RawConfigFile), addBlob(blobs, img.Digest, img.RawManifest))
}

func addBlob(blobs map[string]file, digest func() (v1.Hash, error), content func() ([]byte, error)) error {
	hash, err := digest()
	if err != nil {
		return fmt.Errorf("hash a part: %w", err)
	}
	name := path.Join("blobs", hash.Algorithm, hash.Hex)
	if _, ok := blobs[name]; ok {
		return nil
	}
	data, err := content()
	if err != nil {
		return fmt.Errorf("read a part: %w", err)
	}
	blobs[name] = file{name: name, mode: 0o644, content: data}
	return nil
}
