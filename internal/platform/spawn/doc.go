//go:build linux

// Package spawn has another process start programs: one that is in namespaces which a Go program cannot join.
//
// It hides the messages and how open files travel: a request is a program with the file for what it prints, the answer a
// pidfd, which means the same process in every namespace. Supervise asks; machines serve, and hand requests on to their
// process 1. It trusts neither side: a message is checked before it is used, and whether a pidfd is of a process that it
// may be of is for the receiver to see.
package spawn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Program is what is to be started.
type Program struct {
	// Path is absolute, as the process sees it that starts the program.
	Path string `json:"path"`
	// Args are all arguments, the program's own name first.
	Args []string `json:"args"`
	// Env is the whole environment, and Dir the working directory.
	Env []string `json:"env"`
	Dir string   `json:"dir"`
}

// Reply ends every request. An empty Error is success.
type Reply struct {
	Error string `json:"error,omitempty"`
}

// RefusedError is why the other end did not start a program. The connection is as good as before.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

// err is what the reply says.
func (r Reply) err() error {
	if r.Error == "" {
		return nil
	}
	return &RefusedError{Text: fmt.Sprintf("%.1000s", r.Error)}
}

// check refuses what no program can be started with.
func (p Program) check() error {
	if !filepath.IsAbs(p.Path) || !filepath.IsAbs(p.Dir) {
		return fmt.Errorf("path %q and dir %q have to be absolute", p.Path, p.Dir)
	}
	if len(p.Args) == 0 {
		return errors.New("args are empty; want the program's name at least")
	}
	for _, list := range [][]string{{p.Path, p.Dir}, p.Args, p.Env} {
		for _, s := range list {
			if strings.ContainsRune(s, 0) {
				return fmt.Errorf("%q has a zero byte in it", s)
			}
		}
	}
	return nil
}

// maxMessage bounds one message: arguments and environment of a program are some kilobytes.
const maxMessage = 128 << 10

// decode reads one message: one JSON value and nothing behind it.
func decode(data []byte, message any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(message); err != nil {
		return fmt.Errorf("read a message: %w", err)
	}
	if decoder.More() {
		return errors.New("read a message: something stands behind it")
	}
	return nil
}
