package release

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// imagesPackage is the program of the module node that packs images.
const imagesPackage = "./images"

// compileAll runs builds of the module node and of those in folders of it.
func compileAll(ctx context.Context, module string, builds []nodeBuild, dir string, report func(Step)) error {
	for _, build := range builds {
		module := goModule{dir: filepath.Join(module, build.module), cgo: build.cgo}
		if err := module.compile(ctx, "build "+build.name, build.arguments(dir), build.packages, report); err != nil {
			return err
		}
	}
	return nil
}

// fingerprintOf covers what builds of the module node compile, and files that go in.
func fingerprintOf(ctx context.Context, module string, builds []nodeBuild, files []string) (string, error) {
	var arguments [][]string
	folders := []string{module}
	for _, build := range builds {
		arguments = append(arguments, build.arguments("."))
		if build.module != "" {
			folders = append(folders, filepath.Join(module, build.module))
		}
	}
	sum, err := goModule{dir: module}.newFingerprint(ctx, arguments...)
	if err != nil {
		return "", err
	}
	for _, folder := range folders {
		// Modules in a folder of one that is built replace what it requires; those in the folder node are builds of their own.
		if err := addSource(sum, folder, folder != module); err != nil {
			return "", err
		}
	}
	for _, file := range files {
		if err := addFile(sum, filepath.Base(file), file); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// packAll makes images of the programs that the arguments name, clears the programs that are in images away, and hashes
// what there is.
func packAll(ctx context.Context, dir string, args []string, report func(Step)) (made, error) {
	report(Step{Name: "pack images"})
	images, err := packImages(ctx, dir, args)
	if err != nil {
		return made{}, fmt.Errorf("pack images: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, scratchFolder)); err != nil {
		return made{}, fmt.Errorf("remove what is in images: %w", err)
	}
	files, err := hashTree(ctx, dir)
	if err != nil {
		return made{}, err
	}
	for archive := range images {
		if _, ok := files[archive]; !ok {
			return made{}, fmt.Errorf("pack images: %s was not written", archive)
		}
	}
	return made{files: files, images: images}, nil
}

// packImages runs the module's program images, and reads from what it prints which
// archive has which image.
func packImages(ctx context.Context, dir string, args []string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, packTimeout)
	defer cancel()
	out := filepath.Join(dir, imagesFolder)
	if err := os.Mkdir(out, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, scratchFolder, filepath.Base(imagesPackage)), append([]string{"-out", out}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	said, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %.500s", err, strings.TrimSpace(stderr.String()))
	}
	images := map[string]string{}
	for line := range strings.Lines(string(said)) {
		archive, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || name == "" || filepath.Base(archive) != archive {
			return nil, fmt.Errorf("line %q does not name a file and an image", line)
		}
		images[imagesFolder+"/"+archive] = name
	}
	return images, nil
}

// copyProgram keeps a program that also goes into an image.
func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// hashTree hashes every file below a folder and pushes it to the disk.
func hashTree(ctx context.Context, dir string) (map[string]Component, error) {
	files := map[string]Component{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return syncFile(path)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if files[name], err = hashFile(ctx, path); err != nil {
			return err
		}
		return syncFile(path)
	})
	return files, err
}
