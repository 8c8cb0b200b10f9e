package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// plan says what to pack. Layers have names, so that images can share them.
type plan struct {
	Layers   map[string]planLayer `json:"layers"`
	Archives []planArchive        `json:"archives"`
}

type planLayer struct {
	// Busybox is a static busybox: the layer begins with what is in the image of it, in which Files replace others.
	Busybox string `json:"busybox,omitempty"`
	// Toolbox is the program toolbox of this module, which goes with Busybox.
	Toolbox string     `json:"toolbox,omitempty"`
	Files   []planFile `json:"files"`
}

type planArchive struct {
	// File is the archive's name, without a folder.
	File   string      `json:"file"`
	Images []planImage `json:"images"`
}

type planImage struct {
	// Name is the whole reference, as in kqueen.internal/agnhost:2.63.0.
	Name   string    `json:"name"`
	Layers []string  `json:"layers"`
	Config v1.Config `json:"config"`
}

// planFile is an entry of a layer: a folder, or a file with content, from another file, or a symbolic link.
type planFile struct {
	Path string `json:"path"` // without a leading slash
	// Mode are the permissions, with the bits of chmod(1): 0755 is 493.
	Mode    int64  `json:"mode"`
	Folder  bool   `json:"folder,omitempty"`
	From    string `json:"from,omitempty"`
	Content string `json:"content,omitempty"`
	Link    string `json:"link,omitempty"`
}

func (f planFile) read() (file, error) {
	read := file{name: f.Path, mode: f.Mode, folder: f.Folder, target: f.Link, content: []byte(f.Content)}
	if f.From == "" {
		return read, nil
	}
	var err error
	read.content, err = os.ReadFile(f.From)
	return read, err
}

// packPlan writes the archives of a plan, and prints the names of the images in each.
func packPlan(ctx context.Context, out, from string, stdout io.Writer) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var p plan
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("read %s: %w", from, err)
	}
	layers := map[string]v1.Layer{}
	for name, l := range p.Layers {
		if layers[name], err = l.pack(ctx); err != nil {
			return fmt.Errorf("layer %s: %w", name, err)
		}
	}
	for _, archive := range p.Archives {
		if err := packArchive(out, archive, layers, stdout); err != nil {
			return fmt.Errorf("%s: %w", archive.File, err)
		}
	}
	return nil
}

func (l planLayer) pack(ctx context.Context) (v1.Layer, error) {
	all := map[string]file{}
	if l.Busybox != "" {
		base, err := busyboxContents(ctx, l.Busybox, l.Toolbox, nil)
		if err != nil {
			return nil, err
		}
		for _, f := range base.files {
			all[f.name] = f
		}
	}
	for _, f := range l.Files {
		read, err := f.read()
		if err != nil {
			return nil, err
		}
		all[f.Path] = read
	}
	return newLayer(slices.Collect(maps.Values(all)))
}

func packArchive(out string, archive planArchive, layers map[string]v1.Layer, stdout io.Writer) error {
	if filepath.Base(archive.File) != archive.File {
		return fmt.Errorf("%q is not the name of a file without a folder", archive.File)
	}
	var images []named
	for _, i := range archive.Images {
		var own []v1.Layer
		for _, name := range i.Layers {
			layer, ok := layers[name]
			if !ok {
				return fmt.Errorf("%s: the plan has no layer %q", i.Name, name)
			}
			own = append(own, layer)
		}
		img, err := image(own, i.Config)
		if err != nil {
			return fmt.Errorf("%s: %w", i.Name, err)
		}
		images = append(images, named{i.Name, img})
	}
	if err := writeArchive(filepath.Join(out, archive.File), images); err != nil {
		return err
	}
	for _, i := range images {
		fmt.Fprintf(stdout, "%s\t%s\n", archive.File, i.reference)
	}
	return nil
}
