package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// busyboxContents is an image to try things with: busybox with all that it can be, and the tools of the program
// toolbox in the place of its own.
//
// Busybox's shell calls busybox's own commands before it looks into PATH, so the tools need another shell: bash, with the
// libraries and the loader that it needs, each at the path that it has on this machine. Without files of a shell, sh is busybox's.
func busyboxContents(ctx context.Context, busybox, toolbox string, shell []string) (contents, error) {
	said, err := ask(ctx, busybox, "--help")
	if err != nil {
		return contents{}, err
	}
	tag, err := versionIn(said, busyboxVersion)
	if err != nil {
		return contents{}, err
	}
	files := map[string]file{}
	add := func(all ...file) {
		for _, f := range all {
			files[f.name] = f
		}
	}
	add(
		folder("bin", 0o755),
		folder("etc", 0o755),
		text("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
		text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
		folder("root", 0o700),
		folder("tmp", 0o1777),
		folder("usr", 0o755), folder("usr/bin", 0o755), link("usr/bin/env", "/bin/busybox"),
	)
	for _, program := range []struct{ name, from string }{{"busybox", busybox}, {"toolbox", toolbox}} {
		binary, links, err := withNames(ctx, program.name, program.from)
		if err != nil {
			return contents{}, err
		}
		add(links...)
		add(binary)
	}
	all, err := shellFiles(shell)
	if err != nil {
		return contents{}, err
	}
	add(all...)
	return contents{
		tag: tag, files: slices.Collect(maps.Values(files)),
		config: v1.Config{Cmd: []string{"sh"}, Env: []string{searchPath}, WorkingDir: "/"},
	}, nil
}

// withNames is a program that does what the name says by which it is called, and a link for each name that it lists.
func withNames(ctx context.Context, name, from string) (program file, links []file, err error) {
	names, err := ask(ctx, from, "--list")
	if err != nil {
		return file{}, nil, err
	}
	if program, err = executable("bin/"+name, from); err != nil {
		return file{}, nil, err
	}
	for other := range strings.FieldsSeq(names) {
		links = append(links, link("bin/"+other, name))
	}
	if len(links) == 0 {
		return file{}, nil, errors.New(name + " lists no names")
	}
	return program, links, nil
}

// shellFiles are bash, as bin/bash and bin/sh, and whatever it needs.
func shellFiles(shell []string) ([]file, error) {
	var files []file
	for _, from := range shell {
		content, err := os.ReadFile(from)
		if err != nil {
			return nil, fmt.Errorf("read the shell: %w", err)
		}
		name := strings.TrimPrefix(filepath.Clean(from), "/")
		if filepath.Base(from) == "bash" {
			name = "bin/bash"
			files = append(files, link("bin/sh", "bash"))
		}
		files = append(files, file{name: name, mode: 0o755, content: content})
	}
	return files, nil
}
