package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
)

// installPlugins copies the programs of one folder into another, but for those that are there: a machine's own
// plugins may be newer, and are the ones that its other networks were tested with.
func installPlugins(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		file := filepath.Join(to, entry.Name())
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return err
		}
		if err := replace(file, data, 0o755); err != nil {
			return fmt.Errorf("install %s: %w", file, err)
		}
		klog.InfoS("Installed a CNI plugin that the machine lacked", "file", file)
	}
	return nil
}
