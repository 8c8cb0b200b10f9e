package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// packed packs a plan, and returns what is said and the folder with the archives.
func packed(t *testing.T, content any) (string, string, error) {
	t.Helper()
	data, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	out, file := t.TempDir(), filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	err = run(t.Context(), []string{"-out", out, "-plan", file}, &said)
	return said.String(), out, err
}

func TestPlan(t *testing.T) {
	busybox, toolbox, _ := tryingPrograms(t)
	from := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(from, []byte("a tool"), 0o600); err != nil {
		t.Fatal(err)
	}
	content := plan{
		Layers: map[string]planLayer{
			"base": {Busybox: busybox, Toolbox: toolbox, Files: []planFile{{Path: "bin/sh", Mode: 0o777, Link: "/usr/bin/other"}}},
			"tool": {Files: []planFile{
				{Path: "opt", Mode: 0o755, Folder: true}, {Path: "opt/tool", Mode: 0o6755, From: from},
				{Path: "opt/words", Mode: 0o644, Content: "words\n"},
			}},
		},
		Archives: []planArchive{
			{File: "both.tar", Images: []planImage{
				{Name: "kqueen.internal/one:1.0", Layers: []string{"base", "tool"}, Config: v1.Config{Cmd: []string{"sh"}}},
				{Name: "kqueen.internal/two:2.0", Layers: []string{"base"}, Config: v1.Config{User: "7"}},
			}},
			{File: "tool.tar", Images: []planImage{{Name: "kqueen.internal/three:3.0", Layers: []string{"tool"}}}},
		},
	}
	said, out, err := packed(t, content)
	if err != nil {
		t.Fatal(err)
	}
	want := "both.tar\tkqueen.internal/one:1.0\nboth.tar\tkqueen.internal/two:2.0\ntool.tar\tkqueen.internal/three:3.0\n"
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	files := filesOf(t, mutate.Extract(open(t, read(t, filepath.Join(out, "tool.tar")), "kqueen.internal/three:3.0")))
	if diff := cmp.Diff([]string{"drwxr-xr-x opt", "ugrwxr-xr-x opt/tool", "-rw-r--r-- opt/words"}, files); diff != "" {
		t.Errorf("files: -want, +got:\n%s", diff)
	}
	images := imagesIn(t, filepath.Join(out, "both.tar"))
	if len(images) != 2 {
		t.Fatalf("%d images in both.tar", len(images))
	}
	var layers [][]v1.Layer
	for _, img := range images {
		if err := validate.Image(img); err != nil {
			t.Error(err)
		}
		own, err := img.Layers()
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, own)
	}
	one, errOne := layers[0][0].Digest()
	two, errTwo := layers[1][0].Digest()
	if len(layers[0]) != 2 || len(layers[1]) != 1 || one != two || errOne != nil || errTwo != nil {
		t.Errorf("layers %v and %v; the first is one of both", layers[0], layers[1])
	}
	shell := filesOf(t, mutate.Extract(images[1]))
	if !slices.Contains(shell, "Lrwxrwxrwx bin/printenv -> toolbox") {
		t.Errorf("no printenv in %q", shell)
	}
	if !slices.Contains(shell, "Lrwxrwxrwx bin/sh -> /usr/bin/other") || slices.Contains(shell, "Lrwxrwxrwx bin/sh -> busybox") {
		t.Errorf("a file does not replace that of busybox: %q", shell)
	}
}

// imagesIn are the images of an archive, in their order.
func imagesIn(t *testing.T, archive string) []v1.Image {
	t.Helper()
	dir := unpack(t, read(t, archive))
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var images []v1.Image
	for _, m := range manifest.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, img)
	}
	return images
}

func TestPlanRefuses(t *testing.T) {
	archive := func(file, layer string) plan {
		return plan{
			Layers:   map[string]planLayer{"mine": {Files: []planFile{{Path: "a", Mode: 0o644}}}},
			Archives: []planArchive{{File: file, Images: []planImage{{Name: "a:1", Layers: []string{layer}}}}},
		}
	}
	for name, tc := range map[string]struct {
		content any
		want    string
	}{
		"NoPlan":   {"words", "cannot unmarshal"},
		"NoLayer":  {archive("a.tar", "yours"), `a.tar: a:1: the plan has no layer "yours"`},
		"Outside":  {archive("../a.tar", "mine"), `"../a.tar" is not the name of a file`},
		"NoFile":   {plan{Layers: map[string]planLayer{"mine": {Files: []planFile{{Path: "a", From: "/nowhere/a"}}}}}, "layer mine: open /nowhere/a"},
		"NoApplet": {plan{Layers: map[string]planLayer{"mine": {Busybox: "/nowhere/busybox"}}}, "layer mine: ask /nowhere/busybox"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := packed(t, tc.content); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v does not say %q", err, tc.want)
			}
		})
	}
}
